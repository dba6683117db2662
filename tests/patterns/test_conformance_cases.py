"""The cases taken from real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.conformance import Outcome, judge, load_cases
from pointsman.errors import InputError

CASES = Path(__file__).parent.parent / "conformance"


@pytest.mark.parametrize("name", ["match", "validation", "relations", "transforms"])
def test_every_case_of_the_real_servers_passes(name: str) -> None:
    """Each file is judged whole, and the failures are shown."""
    outcomes = [judge(case) for case in load_cases(CASES / f"{name}.json")]
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) > 20


@pytest.mark.parametrize(
    "case",
    [
        {"dialect": "nats", "pattern": "a", "subject": "a", "matches": False},
        {"dialect": "nats", "pattern": "a", "subject": "a", "matches": None},
        {"dialect": "nats", "pattern": "a..b", "subject": "a", "matches": False},
        {"dialect": "nats", "pattern": "a", "subject": "*", "matches": True},
        {"dialect": "nats", "kind": "subject", "value": "*", "valid": True},
        {"dialect": "nats", "kind": "pattern", "value": "*", "valid": False},
        {"dialect": "nats", "relation": "contains", "a": "a", "b": "a", "expected": False},
        {"dialect": "nats", "relation": "intersects", "a": "a..", "b": "a", "expected": True},
        {"dialect": "nats", "relation": "more_specific", "a": "*", "b": "a", "expected": True},
        {"dialect": "amqp", "relation": "equal", "a": "#.#", "b": "#", "expected": False},
        {"dialect": "nats", "src": "*", "dest": "b.$1", "input": "a", "output": "b"},
        {"dialect": "nats", "src": "*", "dest": "b.$2", "input": "a", "output": "b"},
        {"dialect": "mqtt", "kind": "filter_intersection", "a": "a", "b": "+", "output": None},
        {"dialect": "mqtt", "kind": "filter_intersection", "a": "a+", "b": "+", "output": "a"},
    ],
)
def test_a_wrong_expectation_fails(case: dict[str, object]) -> None:
    """The judge can say no."""
    assert not judge(case).passed


@pytest.mark.parametrize(
    "case",
    [
        {"dialect": "nats", "pattern": "a", "subject": "a.", "matches": False},
        {"dialect": "nats", "pattern": "a", "subject": "a.", "matches": None},
        {"dialect": "nats", "pattern": "a.", "subject": "a", "matches": None},
        {"dialect": "nats", "src": "", "dest": "b.>", "input": "a", "output": "b.a"},
        {"dialect": "nats", "src": "*", "dest": "b.$2", "input": "a", "output": None},
        {"dialect": "nats", "src": "a", "dest": "b", "input": "c", "output": None},
        {"dialect": "mqtt", "kind": "filter_intersection", "a": "a+", "b": "+", "output": None},
    ],
)
def test_rejection_meets_the_expectations_that_allow_it(case: dict[str, object]) -> None:
    """False is also met by rejecting the subject, null by rejecting anything."""
    assert judge(case).passed
    assert isinstance(judge(case), Outcome)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"matches": True},
        {"dialect": "kafka", "pattern": "a", "subject": "a", "matches": True},
        {"dialect": "nats", "pattern": 1, "subject": "a", "matches": None},
        {"dialect": "nats", "kind": "topic", "value": "a", "valid": True},
        {"dialect": "nats", "relation": "likes", "a": "a", "b": "a", "expected": True},
    ],
)
def test_what_is_no_case_is_refused(case: dict[str, object]) -> None:
    """A mistake in the file must not count as a passed case."""
    with pytest.raises(InputError) as caught:
        judge(case)
    assert caught.value.code == "bad-case"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"[", "bad-json"), (b"{}", "bad-case"), (b"[1]", "bad-case"), (b"\xff", "no-file"), (b"[" * 100_000, "bad-json")],
)
def test_a_file_that_is_no_use_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    """With its name, and the place where there is one."""
    file = tmp_path / "cases.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_cases(file)
    assert caught.value.code == code
    assert caught.value.file == str(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(InputError) as caught:
        load_cases(tmp_path / "none.json")
    assert caught.value.code == "no-file"
