"""Keeps what Spark, its Java and its threads print away from the user's standard error stream.

When Java ends, each thread that talks to it prints pages of its own. The user should see one sentence.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pointsman.errors import InputError, PointsmanError

SHOWN = 1 << 14
"""Bytes of the log that are shown if Spark does not start."""
_own: TextIO | None = None


def error_stream() -> TextIO:
    """The standard error stream for what this program itself has to say, also while Spark's goes to a log."""
    return sys.stderr if _own is None else _own


@contextmanager
def spark_log(path: Path | None = None) -> Iterator[None]:
    """Sends the standard error stream of this process, and of those that it starts, to a file.

    Warnings of this project and ``error_stream`` still reach the user. Without a path the file is a temporary one. If
    Java ends (``java-ended``), the error names the file, and the stream stays there: threads go on to print. If Spark
    does not start (``spark-failed``), the user sees the file, which has the reason. Blocks within a block do nothing.
    """
    global _own
    if _own is not None:
        yield
        return
    handle, name = (os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), str(path)) if path else _temporary()
    sys.stderr.flush()
    before = os.dup(2)
    # A test may have put another stream in its place.
    is_real = sys.stderr is sys.__stderr__
    _own = (
        os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace") if is_real else sys.stderr
    )
    warnings = logging.StreamHandler(_own)
    logging.getLogger("pointsman").addHandler(warnings)
    os.dup2(handle, 2)
    os.close(handle)
    has_java_ended = False
    try:
        yield
    except PointsmanError as error:
        has_java_ended = error.code == "java-ended"
        if has_java_ended:
            error.problem += f" What Spark printed is in {name}"
        elif error.code == "spark-failed" and not isinstance(error, InputError):
            with Path(name).open("rb") as said:
                _own.write(said.read(SHOWN).decode(errors="replace"))
        raise
    finally:
        logging.getLogger("pointsman").removeHandler(warnings)
        if not has_java_ended:
            sys.stderr.flush()
            os.dup2(before, 2)
            _own = None
            if path is None:
                Path(name).unlink(missing_ok=True)
        os.close(before)


def _temporary() -> tuple[int, str]:
    return tempfile.mkstemp(prefix="pointsman-spark-", suffix=".log")
