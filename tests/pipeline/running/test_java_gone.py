"""What is said when Spark's Java is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.spark.errors import while_java_lives

pytestmark = pytest.mark.spark

NOISY = """
import atexit, importlib, logging, sys, threading, time
from pointsman.cli.spark_log import spark_log
from pointsman.errors import PointsmanError

def talk():
    pages = "There was an exception while executing the Python Proxy " * 2_000
    for _ in range(100):
        print(pages, file=sys.stderr)
        logging.error(pages)

def failing(*_, **__):
    with spark_log():
        threading.Thread(target=talk, daemon=True).start()
        time.sleep(0.2)
        logging.getLogger("pointsman.pipeline").warning("a warning of our own")
        raise PointsmanError("CODE", "the Java process of Spark does not answer: Killed.")

# As Spark's own ends do, which give the threads time to talk.
atexit.register(time.sleep, 0.3)
command = importlib.import_module("pointsman.cli.main")
command.app = failing
command.main(["run", "x.yaml", *sys.argv[1:]])
"""


def said(code: str, *options: str, unbuffered: str = "") -> list[str]:
    """The lines that the command prints to the standard error stream."""
    done = subprocess.run(
        [sys.executable, "-c", NOISY.replace("CODE", code), *options],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    assert done.returncode == 2
    return done.stderr.splitlines()


def test_java_that_does_not_answer_is_an_error_of_its_own() -> None:
    """Whatever the gateway raises then."""
    with pytest.raises(InputError, match="ConnectionRefusedError") as caught, while_java_lives("Help"):
        raise ConnectionRefusedError
    assert caught.value.code == "java-ended"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_only_the_error_and_our_own_warnings_are_seen_when_java_ends(unbuffered: str) -> None:
    """Threads of the gateway find out one by one that nobody answers, and each says so in pages."""
    warning, error, help_ = said("java-ended", unbuffered=unbuffered)
    assert warning == "a warning of our own"
    assert error.startswith("error[java-ended]: the Java process of Spark does not answer: Killed. What Spark printed")
    assert help_.startswith("  help: ")
    log = Path(error.rpartition(" ")[2])
    assert "Proxy" in log.read_text()
    log.unlink()


def test_with_json_the_error_is_one_object() -> None:
    """For machines."""
    _, error = said("java-ended", "--json")
    assert json.loads(error)["error"]["code"] == "java-ended"
    Path(json.loads(error)["error"]["problem"].rpartition(" ")[2]).unlink()


def test_what_spark_printed_is_shown_if_it_does_not_start() -> None:
    """It has the reason."""
    assert any("Proxy" in line for line in said("spark-failed"))
