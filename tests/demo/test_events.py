"""The hour of the shop: its sums, its order, and that it is always the same."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman._util.time import parse_timestamp
from pointsman.demo.catalogue import HOUR_START
from pointsman.demo.events import FILES, ORDERS, make_events
from pointsman.errors import InputError, SubjectError
from pointsman.patterns import Subject
from tests.demo.conftest import Hour


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The messages of all files in their order; nothing for a line that is cut off."""
    lines = (line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines())
    return [json.loads(line) if is_json(line) else {} for line in lines]


def whole_lines(folder: Path) -> list[dict[str, Any]]:
    """Those that are not cut off."""
    return [line for line in lines_of(folder) if line]


def test_the_summary_says_how_many_messages_there_are(hour: Hour) -> None:
    """As many as lines, in as many files as there are."""
    assert len(lines_of(hour.folder)) == hour.summary.messages
    assert sorted(hour.folder.iterdir()) == list(hour.summary.files)


def test_the_usual_hour_has_three_hundred_thousand_messages(hour: Hour) -> None:
    """The number of orders says how many, and what it is if it is left out."""
    orders = sum(hour.summary.endings.values())
    assert 300_000 < hour.summary.messages / orders * ORDERS < 330_000


def test_every_message_has_the_fields_that_the_pipeline_reads(hour: Hour) -> None:
    """Ids are different, times have a zone, and texts are texts."""
    lines = lines_of(hour.folder)
    whole = whole_lines(hour.folder)
    assert len({line["id"] for line in whole}) == len(whole) < len(lines)
    assert [line["position"] for line in whole] == [number for number, line in enumerate(lines, start=1) if line]
    for line in whole:
        assert line.keys() | {"subject", "correlation_id", "principal"} == {
            "id", "subject", "metadata", "body", "time", "source", "correlation_id", "principal", "position"
        }  # fmt: skip
        assert ("principal" in line) == (line["source"] != "/importer")
        assert isinstance(line["body"], str)
        assert all(isinstance(value, str) for value in line["metadata"].values())


def test_messages_are_in_the_order_of_their_times_each_in_the_file_of_its_part(hour: Hour) -> None:
    """And a stream of files, which goes by modification times, takes the files in the same order."""
    last = HOUR_START
    changed = []
    for number, file in enumerate(hour.summary.files):
        changed.append(file.stat().st_mtime)
        for line in filter(is_json, file.read_text().splitlines()):
            time = parse_timestamp(json.loads(line)["time"])
            assert time is not None
            assert last <= time
            part = (time - HOUR_START) // timedelta(hours=1 / FILES)
            assert part == number or json.loads(line)["subject"] == "shop.hours.closed"
            last = time
    assert changed == sorted(set(changed))


def test_what_is_malformed_is_counted(hour: Hour) -> None:
    """Missing subjects, invalid subjects and bodies that are no JSON: as many as the summary says."""
    found: Counter[str] = Counter()
    for line in lines_of(hour.folder):
        if not line:
            found["cut line"] += 1
        elif "subject" not in line:
            found["missing subject"] += 1
        elif not is_subject(line["subject"]):
            found["invalid subject"] += 1
        elif not is_json(line["body"]):
            found["unreadable body"] += 1
    assert found == hour.summary.malformed
    assert min(found.values()) > 0


def test_the_steps_of_an_order_share_its_correlation_id(hour: Hour) -> None:
    """Every order has exactly one beginning, and nothing of it comes before that."""
    begun: Counter[str] = Counter()
    for line in whole_lines(hour.folder):
        correlation = line.get("correlation_id", "")
        if not correlation.startswith("order-"):
            continue
        if line.get("subject") == "orders.events.order.created":
            begun[correlation] += 1
        assert begun[correlation] or line.get("principal") == "courier"
    assert begun.total() == len(begun) == sum(hour.summary.endings.values())


def test_few_customers_buy_most(hour: Hour) -> None:
    """Customers come by Zipf: the first is there far more often than the hundredth."""
    seen = Counter(line["metadata"].get("customer") for line in whole_lines(hour.folder))
    assert seen["c0001"] > 10 * seen["c0100"]
    assert len(seen) > 500


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**40), orders=st.integers(1, 30))
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, seed: int, orders: int) -> None:
    """And another seed another hour, in the same folder too."""
    first = [file.read_bytes() for file in make_events(tmp_path / "a", seed=seed, orders=orders).files]
    second = [file.read_bytes() for file in make_events(tmp_path / "b", seed=seed, orders=orders).files]
    other = [file.read_bytes() for file in make_events(tmp_path / "b", seed=seed + 1, orders=orders).files]
    assert first == second
    assert first != other
    assert len(first) == FILES


def test_an_hour_has_at_least_one_order(tmp_path: Path) -> None:
    """Nothing is written otherwise."""
    with pytest.raises(InputError, match="orders must be at least 1, got 0") as caught:
        make_events(tmp_path / "events", orders=0)
    assert caught.value.code == "bad-setting"
    assert not (tmp_path / "events").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Here there is a file in its place."""
    (tmp_path / "events").write_text("")
    with pytest.raises(InputError, match="cannot be written") as caught:
        make_events(tmp_path / "events", orders=1)
    assert (caught.value.code, caught.value.file) == ("no-file", str(tmp_path / "events"))


def is_subject(text: str) -> bool:
    """Whether a text is a subject of the demo's dialect."""
    try:
        Subject(text, "nats")
    except SubjectError:
        return False
    return True


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
