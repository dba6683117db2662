"""A pipeline that runs as a process of its own, and who belongs to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

DAEMON = b"pointsman.pipeline.spark.workers"


class Member(NamedTuple):
    """A process of a session."""

    pid: int
    group: int
    command: bytes


def members(session: int) -> list[Member]:
    """The processes of a session that are alive, whoever their parents are now."""
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            status = (path / "stat").read_text().rpartition(")")[2].split()
            if int(status[3]) == session and status[0] != "Z":
                found.append(Member(int(path.name), int(status[2]), (path / "cmdline").read_bytes()))
        except (OSError, IndexError):
            continue
    return found


class Run:
    """One ``pointsman run``, in a session of its own; what it prints is in a file."""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = f"run-{number}"
        self._output = folder / f"{self.name}.output"
        self._errors = folder / f"{self.name}.errors"
        command = [sys.executable, "-m", "pointsman", "run", "pipeline.yaml", "--json"]
        environment = os.environ | {"TMPDIR": str(folder / "temporary")}
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        self.started = time.monotonic()
        self.is_harmed = False
        """Whether one of its processes was killed, so that it may fail."""
        self._is_over = False

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def events(self) -> list[str]:
        """The names of what it has told so far, in their order."""
        lines = self._output.read_bytes().split(b"\n")[:-1]
        return [json.loads(line)["event"] for line in lines if line.startswith(b"{")]

    def last_words(self) -> str:
        """The end of what it has said."""
        return f"{self.name} ended with {self.code}: {self._errors.read_text()[-700:]}"

    def says_why(self) -> bool:
        """Whether the last that it said is an error of the project's, in JSON, and it ended with 2."""
        last = self._errors.read_text().strip().rpartition("\n")[2]
        return self.code == 2 and last.startswith('{"error": ')

    def kill(self, whom: str, chance: float) -> bool:
        """Kills ``all``, only the ``driver``, only ``java`` or only a ``worker``; False if there is no such process.

        ``chance``, from 0 to 1, chooses the worker.
        """
        if self._is_over:
            return False
        pids = self._pids(whom, chance)
        self.is_harmed = self.is_harmed or bool(pids)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if whom in ("all", "driver"):
            self._process.wait()
        return bool(pids)

    def wait(self, seconds: float) -> bool:
        """Waits until the driver and all others are gone; whether they are."""
        end = time.monotonic() + seconds
        while self.code is None or members(self._process.pid):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        self._is_over = True
        return True

    def _pids(self, whom: str, chance: float) -> list[int]:
        driver = self._process.pid
        found = members(driver)
        if whom == "all":
            return [each.pid for each in found]
        if whom == "driver":
            return [driver]
        if whom == "java":
            return [each.pid for each in found if b"java" in each.command.split(b"\0")[0]]
        # The first one is not forked again when it dies with all its workers; they are what dies in practice.
        workers = [each.pid for each in found if DAEMON in each.command.split(b"\0") and each.pid != each.group]
        return [workers[int(chance * len(workers))]] if workers else []
