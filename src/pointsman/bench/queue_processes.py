"""The processes of the benchmark of the queue, as the one that directs them sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any


class Failed(Exception):  # noqa: N818 - no error of the benchmark: a contender could not do what it was asked to
    """What a contender raised."""


class Process:
    """A process that runs contenders."""

    def __init__(self, number: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pointsman.bench.queue_worker", str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._input: Any = self._process.stdin
        self._output: Any = self._process.stdout

    def send(self, *call: Any) -> None:
        """Tells it to do something; ``answer`` must follow."""
        self._input.write(json.dumps(call) + "\n")
        self._input.flush()

    def answer(self) -> Any:
        """What came of it. Raises ``Failed``."""
        line = self._output.readline()
        if not line:
            raise Failed("the process ended")
        answer = json.loads(line)
        if "problem" in answer:
            raise Failed(answer["problem"])
        return answer["result"]

    def ask(self, *call: Any) -> Any:
        """Tells it to do something, and waits for it."""
        self.send(*call)
        return self.answer()

    def close(self) -> None:
        """Ends it, when it has done what it was told."""
        # Closes both pipes and waits.
        self._process.communicate()


def together(processes: Sequence[Process], *call: Any) -> list[Any]:
    """Tells all of them to do the same at the same time; every answer is read, also when one failed."""
    for process in processes:
        process.send(*call)
    answers, problems = [], []
    for process in processes:
        try:
            answers.append(process.answer())
        except Failed as failed:
            problems.append(failed)
    if problems:
        raise problems[0]
    return answers


@contextmanager
def running(count: int) -> Iterator[list[Process]]:
    """So many processes, which end with the block."""
    with ExitStack() as stack:
        processes = []
        for number in range(count):
            process = Process(number)
            stack.callback(process.close)
            processes.append(process)
        yield processes
