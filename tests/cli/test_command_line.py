"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman import __version__
from pointsman.bench import patterns
from pointsman.cli import main
from pointsman.cli.commands import Commands
from pointsman.cli.parts import Part

POINTSMAN = str(Path(sys.executable).parent / "pointsman")
CASES = Path(__file__).parent.parent / "conformance"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The finished process."""
    return subprocess.run([POINTSMAN, *arguments], capture_output=True, text=True, check=False)


def test_version_prints_the_version() -> None:
    """And nothing else."""
    assert run("--version").stdout == f"pointsman {__version__}\n"


def test_match_shows_which_subjects_match_and_what_the_wildcards_stand_for() -> None:
    """It ends with 0 when all match and with 1 when one does not."""
    result = run("match", "orders.*.#", "orders.eu.new.big", "orders", "--dialect", "amqp")
    assert result.stdout.splitlines() == [
        "match     orders.eu.new.big  $1=eu $2=new.big",
        "no match  orders",
    ]
    assert result.returncode == 1
    assert run("match", "orders.>", "orders.eu").returncode == 0


def test_match_as_json_is_for_machines() -> None:
    """Captures of many tokens are lists."""
    result = run("match", "a.>", "a.b.c", "b", "--json")
    assert json.loads(result.stdout) == {
        "pattern": "a.>",
        "dialect": "nats",
        "results": [
            {"subject": "a.b.c", "matches": True, "captures": [["b", "c"]]},
            {"subject": "b", "matches": False, "captures": None},
        ],
    }


def test_pattern_compare_tells_how_two_patterns_relate() -> None:
    """Containment both ways, intersection, specificity."""
    result = run("pattern", "compare", "a.>", "a.*.c")
    assert [re.split(r" {2,}", line) for line in result.stdout.splitlines()] == [
        ["a.> contains a.*.c", "yes"],
        ["a.*.c contains a.>", "no"],
        ["they intersect", "yes"],
        ["intersection", "a.*.c"],
        ["more specific", "a.*.c"],
    ]
    same = run("pattern", "compare", "a", "b", "--json")
    assert json.loads(same.stdout) == {
        "a": "a",
        "b": "b",
        "dialect": "nats",
        "a_contains_b": False,
        "b_contains_a": False,
        "intersects": False,
        "intersection": [],
        "more_specific": None,
    }
    assert "neither" in run("pattern", "compare", "a", "b").stdout


def test_pattern_convert_reports_what_changes() -> None:
    """A refusal ends with 1."""
    result = run("pattern", "convert", "a.#.b", "--dialect", "amqp", "--to", "nats")
    assert result.stdout.startswith("wider: a.>\n  wider: nats has a wildcard for many tokens in the last place only")
    assert "cannot carry: the subject of zero tokens; empty tokens" in result.stdout
    refused = run("pattern", "convert", "a..b", "--dialect", "amqp", "--to", "nats", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["fit"] == "refused"
    assert run("pattern", "convert", "a..b", "-d", "amqp", "--to", "nats").stdout.startswith("refused\n")


def test_conformance_counts_what_passed_and_shows_what_failed(tmp_path: Path) -> None:
    """It ends with 1 when a case failed."""
    good = run("conformance", *(str(CASES / f"{name}.json") for name in ("match", "relations")))
    assert (good.stdout, good.returncode) == ("618 passed, 0 failed\n", 0)
    wrong = tmp_path / "wrong.json"
    wrong.write_text('[{"dialect": "nats", "pattern": "a", "subject": "a", "matches": false}]')
    bad = run("conformance", str(wrong))
    assert bad.stdout.endswith("    expected False, got True\n0 passed, 1 failed\n")
    assert bad.returncode == 1
    as_json = run("conformance", str(wrong), "--json")
    assert json.loads(as_json.stdout)["failures"][0]["got"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["match", "a..b", "a"], "empty-token"),
        (["match", "a", "a b"], "forbidden-character"),
        (["match", "a", "a", "--dialect", "kafka"], "unknown-dialect"),
        (["match", "a"], "bad-usage"),
        (["match", "a", "a", "--colour"], "bad-usage"),
        (["guess"], "bad-usage"),
        (["conformance", "no-such-file.json"], "no-file"),
        (["pattern", "compare", "a.>.b", "a"], "wildcard-not-last"),
        (["match", "a\udcff", "a"], "not-utf8"),
    ],
)
def test_bad_input_ends_with_2_and_one_clear_message(arguments: list[str], code: str) -> None:
    """With its code and what to do; no traceback, nothing on the standard output."""
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"error[{code}]: " in result.stderr
    assert "help: " in result.stderr
    assert "Traceback" not in result.stderr
    as_json = run(*arguments, "--json")
    assert json.loads(as_json.stderr)["error"]["code"] in (code, "bad-usage")


def test_the_error_shows_the_text_with_a_mark_under_the_place() -> None:
    """Also when the text is long, or holds what a terminal cannot show."""
    assert run("match", "ab..c", "a").stderr.splitlines()[1:3] == ["    ab..c", "       ^"]
    assert run("match", "a\tb", "a").stderr.splitlines()[1:3] == ["    a\\tb", "     ^"]
    long = run("match", "x" * 500 + "..c", "a").stderr.splitlines()
    assert long[1].strip() == "x" * 48 + "..c"
    assert long[2].index("^") == long[1].index("..") + 1


def test_a_closed_pipe_is_no_error() -> None:
    """The reader has what it wanted."""
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{POINTSMAN} conformance {CASES / 'match.json'} --json | true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


def test_help_is_quick_and_imports_no_heavy_package() -> None:
    """Less than 0.3 s of CPU, the best of three; and nothing that only some commands need."""

    def cpu() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cpu() for _ in range(3)) < 0.3
    script = "import sys, pointsman.cli\ntry: pointsman.cli.main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"rich", "numpy", "numba", "pyarrow", "pyspark", "apsw", "sqlglot", "pydantic", "cloudevents", "matplotlib"}
    assert heavy.isdisjoint(modules)


@pytest.mark.parametrize("part", Commands.parts, ids=lambda part: part.name)
def test_the_list_of_commands_says_of_each_what_its_own_help_begins_with(part: Part) -> None:
    """The list has the sentence for itself, so that it need not import the command."""
    command = part.load()
    assert part.sentence.endswith(".")
    assert " ".join(command.help.split()).startswith(part.sentence)


def test_a_command_that_is_not_there_is_told_with_the_one_that_was_meant() -> None:
    """Commands that were not imported yet are known all the same."""
    assert "No such command 'mach'. Did you mean 'match'?" in run("mach").stderr


@pytest.mark.parametrize(
    ("missing", "code"),
    [("sys.modules['pyspark'] = None", "missing-extra"), ("find_java.side_effect = none", "no-java")],
)
def test_the_demo_without_spark_or_java_says_what_to_install(missing: str, code: str) -> None:
    """It ends with 2; the demo itself is run with the other tests of Spark."""
    script = f"""
import sys
from unittest.mock import patch
from pointsman.cli import main
from pointsman.errors import PointsmanError
none = PointsmanError("no-java", "no usable Java")
with patch("pointsman.pipeline.spark.java.find_java") as find_java:
    {missing}
    main(["demo"])
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"error[{code}]: " in result.stderr
    assert "Traceback" not in result.stderr


def test_the_bench_of_patterns_compares_with_regular_expressions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON, and as a table of the same measurements."""
    measured = json.loads(run("bench", "patterns", "--json").stdout)
    rows = {row["name"]: row for row in measured}
    assert rows["hostile, 4 #"]["regex"] > 10 * rows["hostile, 4 #"]["pattern"]
    monkeypatch.setattr(patterns, "run", lambda: [patterns.Row(**row) for row in measured])
    with pytest.raises(SystemExit):
        main(["bench", "patterns"])
    assert "Microseconds a match" in capsys.readouterr().out
