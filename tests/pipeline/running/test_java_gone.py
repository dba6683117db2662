"""What is said when Spark's Java is gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.run import _while_java_lives

pytestmark = pytest.mark.spark

NOISY = """
import atexit, importlib, sys, threading, time
from pointsman.errors import InputError

def talk():
    # So much that it is still being written when the error comes.
    pages = "There was an exception while executing the Python Proxy " * 20_000
    while True:
        print(pages, file=sys.stderr)

def failing(*_, **__):
    threading.Thread(target=talk, daemon=True).start()
    time.sleep(0.2)
    raise InputError("java-ended", "the Java process of Spark does not answer: Killed")

# As Spark's own ends do, which give the threads time to talk.
atexit.register(time.sleep, 0.3)
command = importlib.import_module("pointsman.cli.main")
command.app = failing
command.main(["run", "x.yaml", *sys.argv[1:]])
"""


def test_java_that_does_not_answer_is_an_error_of_its_own() -> None:
    """Whatever the gateway raises then."""
    with pytest.raises(InputError, match="ConnectionRefusedError") as caught, _while_java_lives():
        raise ConnectionRefusedError
    assert caught.value.code == "java-ended"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("option", "first"), [((), "error[java-ended]"), (("--json",), '{"error": ')])
def test_the_error_is_the_last_that_is_said(option: tuple[str, ...], first: str, unbuffered: str) -> None:
    """Threads of the gateway go on to find out that nobody answers, and each would say so in pages."""
    done = subprocess.run(
        [sys.executable, "-c", NOISY, *option],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    assert done.returncode == 2
    said = done.stderr.splitlines()
    own = 2 - len(option)
    assert said[-own].startswith(first)
    assert "Proxy" in said[0]
    assert not any("Proxy" in line for line in said[-own:])
