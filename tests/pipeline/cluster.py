"""A real Spark cluster on this machine: a standalone master and its workers, each a process of its own."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pointsman.pipeline.spark.java import find_java

Found = TypeVar("Found")
MARK = "POINTSMAN_TEST_CLUSTER"
"""The environment variable by which every process of a cluster is known, those that Spark starts as well."""
PATIENCE = 120.0
"""Seconds until something that should happen counts as failed."""
WORKERS = ("worker-1", "worker-2")
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """A master and two workers of one core each, which ask for a secret and encrypt what they say.

    Programs are run with ``run``; whatever is started has ended when the block of ``started`` has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self._mark = secrets.token_hex(8)
        self._settings = folder / "conf"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator[Cluster]:
        """A cluster whose workers have registered; ended with the block, however that ends."""
        cluster = cls(folder)
        try:
            cluster._start()
            yield cluster
        finally:
            cluster._end()

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of this environment as its user would, with settings of Spark in ``spark-defaults.conf``."""
        program = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=self._environment() | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = program.communicate(timeout=3 * PATIENCE)
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.communicate()
        return subprocess.CompletedProcess(command, program.returncode, out, err)

    def executors(self) -> dict[str, Path]:
        """The folders of the executors of the last program, by their ids: what it shipped lies in them."""
        programs = sorted({path.parent.name for path in self.folder.glob("worker-*/app-*/*")})
        return {path.name: path for path in self.folder.glob(f"worker-*/{programs[-1]}/*")}

    def left(self) -> dict[int, str]:
        """The processes that were started here, by whomever, and have not ended."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{MARK}={self._mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def _start(self) -> None:
        self._settings.mkdir(parents=True)
        settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secrets.token_hex(16),
            "spark.network.crypto.enabled": "true",
            "spark.master.rest.enabled": "false",
            # A program waits until it has both workers, so that none of them does all of it.
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": SMALL,
            "spark.sql.shuffle.partitions": "2",
            # For a few rows, to compile a plan takes longer than to run it.
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (self.folder / "events").as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        file = self._settings / "spark-defaults.conf"
        file.touch(mode=0o600)
        file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        (self.folder / "events").mkdir()
        self._launch("master", "master.Master")
        self.url = self._wait_for("master", r"(?<=Starting Spark master at )spark://\S+")
        for name in WORKERS:
            options = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name), self.url]
            self._launch(name, "worker.Worker", *options)
        for name in WORKERS:
            self._wait_for(name, "Successfully registered with master")

    def _launch(self, name: str, kind: str, *options: str) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        with (self.folder / f"{name}.log").open("wb") as output:
            self._processes[name] = subprocess.Popen(
                [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *address, *options],
                env=self._environment() | {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_for(self, name: str, expression: str) -> str:
        """Waits until the log of a process has a text like this, and gives it."""
        log = self.folder / f"{name}.log"

        def find() -> re.Match[str] | None:
            assert self._processes[name].poll() is None, f"the {name} has ended:\n{log.read_text()}"
            return re.search(expression, log.read_text())

        found = wait_until(find)
        assert found, f"the {name} is not ready:\n{log.read_text()}"
        return found[0]

    def _environment(self) -> dict[str, str]:
        unwanted = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT")
        inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
        return inherited | {
            MARK: self._mark,
            "JAVA_HOME": str(find_java().home),
            "SPARK_CONF_DIR": str(self._settings),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": SMALL,
            "SPARK_SUBMIT_OPTS": SMALL,
        }

    def _end(self) -> None:
        """Ends the processes, gently and then not; at last, what they have started and left behind."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in reversed(self._processes.values()):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            for process in self._processes.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(10)
        if not wait_until(lambda: not self.left(), 10.0):
            for process_id in self.left():
                with suppress(ProcessLookupError):
                    os.kill(process_id, signal.SIGKILL)


def wait_until(find: Callable[[], Found], patience: float = PATIENCE) -> Found:
    """What is found, as soon as it counts as true, or what is there instead when the time is over."""
    end = time.monotonic() + patience
    while not (found := find()) and time.monotonic() < end:
        time.sleep(0.1)
    return found
