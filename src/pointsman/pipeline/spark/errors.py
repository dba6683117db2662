"""What Spark raises, as errors of this project: a code, one sentence, and no pages of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pointsman.errors import InputError

NO_FILE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")


@contextmanager
def spark_errors(place: str) -> Iterator[None]:
    """Turns what Spark raises within into ``InputError``: ``no-file`` or ``spark-failed``, with this place as the file.

    Errors of this project pass as they are.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if (error.getCondition() or "").startswith(NO_FILE):
            raise InputError("no-file", "it cannot be read: there is no such file or folder", file=place) from error
        raise InputError("spark-failed", _first_line(str(error)), file=place) from error
    except Py4JJavaError as error:
        raise InputError("spark-failed", _first_line(str(error.java_exception.toString())), file=place) from error


@contextmanager
def while_java_lives(hint: str) -> Iterator[None]:
    """Turns what is raised when Spark's Java process has ended into ``InputError`` (``java-ended``), with this hint."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError):
            raise
        raise InputError("java-ended", f"Spark's Java process ended ({type(error).__name__}). {hint}.") from error


def origin_of(error: BaseException) -> str:
    """What the first of all causes says, where Java names them, without the name of its package; in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    said = [*lines[:1], *causes]
    return re.sub(r"^(?:[a-z]\w*\.)+", "", said[-1])[:300] if said else type(error).__name__


def _first_line(text: str) -> str:
    """The first line with text, without the name of a class of Java, which Spark Connect puts in brackets."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "it said nothing")
    return re.sub(r"^(?:(?:[a-z]\w*\.)+\w+: |\((?:[a-z]\w*\.)+\w+\) )", "", line)
