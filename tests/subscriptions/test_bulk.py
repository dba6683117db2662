"""Imports by compiled code: whatever the file, they store what the long way stores, and refuse what it refuses."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.errors import PointsmanError
from pointsman.store.queue import Queue
from pointsman.subscriptions import files
from pointsman.subscriptions.bulk import line_pieces, row_pieces
from pointsman.subscriptions.bulk.preparing import Preparing
from pointsman.subscriptions.files import import_file
from pointsman.subscriptions.importing import Imported
from pointsman.subscriptions.json_lines import MAXIMUM_LINE, read_line
from pointsman.subscriptions.limits import LIMITS, Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.parquet import SCHEMA
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.writing import write_subscription
from tests.subscriptions.found import check_consistent, found_by_gates, stored
from tests.subscriptions.strategies import metadata, subjects, subscriptions
from tests.subscriptions.test_files import GOOD
from tests.subscriptions.test_registry import EVERYTHING, NOW
from tests.subscriptions.written import write_parquet

SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
MANY = [
    WildcardSubscription(
        f"{number:03}", f"owner {number % 3}", ("inbox",), each.pattern, each.condition, each.enabled, each.expires
    )
    for number, each in enumerate(EVERYTHING * 3)
]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every file is read by compiled code."""
    monkeypatch.setattr(files, "LARGE", 0)
    return


def both_ways(path: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits = LIMITS) -> list[Any]:
    """What comes of an import by the long way and by compiled code: what is stored, or what is said."""
    outcomes: list[Any] = []
    for size in (1 << 40, 0):
        monkeypatch.setattr(files, "LARGE", size)
        with Queue(":memory:") as queue:
            registry = Registry(queue.store, limits)
            try:
                import_file(registry, path)
            except PointsmanError as error:
                assert registry.count() == 0
                outcomes.append(error.as_dict())
            else:
                check_consistent(registry)
                outcomes.append({each.id: each for each in stored(registry)})
    return outcomes


@SETTINGS
@given(data=st.data())
def test_what_is_imported_is_what_the_long_way_imports(
    data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both formats, however the JSON is written; and everybody is found by the gates."""
    many = [data.draw(subscriptions(f"{place}")) for place in range(data.draw(st.integers(1, 5)))]
    lines = []
    for each in many:
        plain = write_subscription(each)
        fields = data.draw(st.permutations(list(plain)))
        spaced = data.draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r ")]))
        ascii_only = data.draw(st.booleans())
        lines.append(json.dumps({name: plain[name] for name in fields}, separators=spaced, ensure_ascii=ascii_only))
    (tmp_path / "x.jsonl").write_text(data.draw(st.sampled_from(["\n", "\n\n", "\r\n"])).join(lines), encoding="utf-8")
    write_parquet(tmp_path / "x.parquet", many)
    for name in ("x.jsonl", "x.parquet"):
        slow, quick = both_ways(tmp_path / name, monkeypatch)
        assert slow == quick == {each.id: each for each in many}
    monkeypatch.setattr(files, "LARGE", 0)
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        registry.create(EVERYTHING[0])
        import_file(registry, tmp_path / "x.jsonl")
        check_consistent(registry)
        subject, pairs = data.draw(subjects), data.draw(metadata)
        known = [EVERYTHING[0], *many]
        expected = {each.id for each in known if each.is_live(NOW) and each.matches(subject, pairs)}
        assert set(found_by_gates(registry, subject, pairs, NOW)) == expected


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_wildcard_of_another_dialect_is_refused_unless_the_line_names_its_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """By compiled code as by the long way, with its place."""
    for dialect, says in (("nats", None), (None, "'#' is a wildcard in amqp")):
        entries = [GOOD, {**GOOD, "id": "b", "pattern": "orders.#", "dialect": dialect}]
        path = tmp_path / f"x.{form}"
        if form == "jsonl":
            path.write_text("".join(f"{json.dumps(each)}\n" for each in entries))
        else:
            pq.write_table(pa.Table.from_pylist(entries, SCHEMA), path)
        slow, quick = both_ways(path, monkeypatch)
        assert slow == quick
        assert (slow["line"], says in slow["problem"]) == (2, True) if says else len(slow) == 2


def test_a_pattern_counts_once_whether_or_not_its_usual_dialect_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has it is found until the last of them is deleted."""
    entries = [{**GOOD, "id": id, **named} for id, named in (("a", {}), ("b", {"dialect": "nats"}), ("c", {}))]
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in entries))
    monkeypatch.setattr(files, "LARGE", 0)
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        import_file(registry, tmp_path / "x.jsonl")
        check_consistent(registry)
        assert registry.delete("a")
        assert registry.delete("b")
        assert found_by_gates(registry, "orders.new", {}, NOW) == ["c"]


@st.composite
def mistaken(draw: st.DrawFn, id: str) -> str:
    """A line in which characters were removed or put in, anywhere."""
    text = json.dumps(write_subscription(draw(subscriptions(id))), ensure_ascii=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 2))):
        place, count = draw(st.integers(0, len(text) - 1)), draw(st.integers(0, 3))
        more = draw(st.sampled_from(["", '"', ",", ":", "{", "}", "[", "]", "\\", "null", "1", "-0.0", "true", " "]))
        text = text[:place] + more + text[place + count :] or "x"
    return text


@settings(SETTINGS, max_examples=40)
@given(data=st.data())
def test_a_line_with_a_mistake_is_never_plain_unless_it_is_a_subscription(
    data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is the one that the long way reads."""
    lines = [data.draw(mistaken(f"é{number}")) for number in range(10)]
    known: dict[str, WildcardSubscription] = {}
    good = []
    preparing = Preparing(LIMITS)
    for line in lines:
        (piece,) = line_pieces.line_pieces(io.BytesIO(line.encode()), "x", LIMITS)
        plain = preparing.prepare(piece).plain
        try:
            subscription = read_line(line.encode(), "x", 1, LIMITS)
        except PointsmanError:
            assert not plain.any(), line
        else:
            if subscription.id not in known:
                known[subscription.id] = subscription
                good.append(line)
    (tmp_path / "x.jsonl").write_text("\n".join(good), encoding="utf-8")
    monkeypatch.setattr(files, "LARGE", 0)
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        import_file(registry, tmp_path / "x.jsonl")
        assert {each.id: each for each in stored(registry)} == known
        check_consistent(registry)


LEAF = {"key": "a", "pattern": "b"}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "x" * 256},
        {"id": "ä" * 255},
        {"id": "😀" * 255},
        {"id": "😀" * 256},
        {"id": None},
        {"owner": ""},
        {"owner": "\u0000"},
        {"destinations": []},
        {"destinations": ["a", "a"]},
        {"destinations": ["a", ""]},
        {"destinations": ["a\\b", 'c"', "ü"]},
        {"pattern": "a..b"},
        {"dialect": "pigeon"},
        {"dialect": "mqtt", "pattern": "a/#"},
        {"pattern": None},
        {"pattern": None, "condition": {"not": LEAF}},
        {"pattern": None, "condition": {"not": {"not": LEAF}}},
        {"condition": {"not": LEAF}},
        {"condition": {"and": []}},
        {"condition": {"xor": [LEAF]}},
        {"condition": {"xor": [LEAF, LEAF]}},
        {"condition": {"includes": {"matchers": []}}},
        {"condition": {"includes": {"matchers": [LEAF]}, "excludes": {"all": True, "matchers": []}}},
        {"condition": {"excludes": {"matchers": [LEAF]}, "includes": {"matchers": [LEAF, LEAF]}}},
        {"condition": {"includes": {"matchers": [{"key": "a", "number": {">": 1}}]}}},
        {"condition": {"includes": {"all": True}}},
        {"condition": {"key": "a", "number": {">": 1}, "partial": True}},
        {"condition": {"key": "a", "number": {"!=": 1e300}}},
        {"condition": {"or": [{"number": {"=": -0.0}}, {"number": {"=": 0}}, {"number": {"=": 0.1}}]}},
        {"condition": {"key": None, "pattern": "*", "partial": False}},
        {"condition": {"pattern": "x" * 1_025}},
        {"condition": {"pattern": "x" * 1_025 + "*"}},
        {"condition": {"pattern": "x" * 10_001}},
        {"condition": {"or": [{"pattern": str(number)} for number in range(70)]}},
        {"condition": {"or": [{"pattern": str(number)} for number in range(1_001)]}},
        {"condition": {}},
        {"condition": {"key": "a"}},
        {"condition": []},
        {"expires": 5},
        {"expires": 5.25},
        {"expires": 1e13},
        {"expires": -1},
        {"expires": 1e3},
        {"description": "x" * 10_001},
        {"description": "some \u2028 text"},
        {"enabled": False},
        {"enabled": 0},
    ],
    ids=lambda changes: json.dumps(changes)[:40],
)
def test_edges_are_the_same_both_ways(changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored and what is said, in lines and in rows."""
    entry = {**GOOD, "id": "edge", **changes}
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(entry, ensure_ascii=False)}\n", encoding="utf-8")
    slow, quick = both_ways(path, monkeypatch)
    assert slow == quick
    if isinstance(entry.get("condition"), dict):
        entry["condition"] = json.dumps(entry["condition"])
    try:
        table = pa.Table.from_pylist([{**dict.fromkeys(entry), **GOOD}, entry])
    except pa.ArrowException:
        return
    pq.write_table(table, tmp_path / "x.parquet")
    slow, quick = both_ways(tmp_path / "x.parquet", monkeypatch)
    assert slow == quick


def test_a_tree_as_deep_as_allowed_is_read_and_one_deeper_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By limits that are given, too."""
    for depth in (3, 4, 32, 33):
        condition: Any = LEAF
        for _ in range(depth - 1):
            condition = {"and": [condition]}
        path = tmp_path / "x.jsonl"
        path.write_text(json.dumps({**GOOD, "condition": condition}), encoding="utf-8")
        for limits in (Limits(), Limits(depth=3)):
            slow, quick = both_ways(path, monkeypatch, limits)
            assert slow == quick
            assert ("a" in slow) == (depth <= limits.depth)


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the long way does."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "\xff"}\n')
    slow, quick = both_ways(path, monkeypatch)
    assert slow == quick
    assert (slow["code"], slow["line"]) == ("bad-json", 2)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
@pytest.mark.parametrize("batch", [None, 4, 100])
def test_pieces_of_any_size_give_the_same(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, name: str, batch: int | None
) -> None:
    """Matchers that come again in later pieces are known, and lines are cut anywhere."""
    monkeypatch.setattr(line_pieces, "BYTES", 300)
    monkeypatch.setattr(row_pieces, "ROWS", 5)
    if name.endswith("parquet"):
        write_parquet(tmp_path / name, MANY)
    else:
        text = "\n".join(json.dumps(write_subscription(each)) for each in MANY)
        (tmp_path / name).write_text(text, encoding="utf-8")
    told: list[int] = []
    assert import_file(registry, tmp_path / name, batch=batch, progress=told.append) == Imported(len(MANY), 0)
    assert sum(told) == len(MANY)
    check_consistent(registry)
    assert {each.id: each for each in stored(registry)} == {each.id: each for each in MANY}
    for id in ("000", "007"):
        registry.delete(id)
    check_consistent(registry)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_an_import_in_batches_goes_on_where_it_stopped(tmp_path: Path, registry: Registry, name: str) -> None:
    """With what the error says."""
    entries = [{**GOOD, "id": str(number)} for number in range(5)]

    def write() -> Path:
        path = tmp_path / name
        if name.endswith("parquet"):
            pq.write_table(pa.Table.from_pylist(entries), path)
        else:
            path.write_text("".join(f"{json.dumps(each)}\n" for each in entries), encoding="utf-8")
        return path

    entries[3]["owner"] = ""
    with pytest.raises(PointsmanError, match=r"up to line or row 2 .*skip 2") as caught:
        import_file(registry, write(), batch=2)
    assert caught.value.line == 4
    assert registry.count() == 2
    entries[3]["owner"] = "eve"
    assert import_file(registry, write(), batch=2, skip=2) == Imported(3, 0)
    assert import_file(registry, write(), skip=5) == Imported(0, 0)
    check_consistent(registry)


@pytest.mark.usefixtures("large")
def test_an_id_that_is_there_already_is_refused(tmp_path: Path, registry: Registry) -> None:
    """Whether it was there before or stands in the file twice, plainly or not."""
    path = tmp_path / "x.jsonl"
    twice = [GOOD, {**GOOD, "id": "b"}, {**GOOD, "id": "b", "description": "\\"}]
    for entries in (twice, [*twice[:2], twice[1]], [{**GOOD, "id": "first"}]):
        if len(entries) == 1:
            registry.create(EVERYTHING[0])
            entries = [{**GOOD, "id": EVERYTHING[0].id}]
        path.write_text("".join(f"{json.dumps(each)}\n" for each in entries), encoding="utf-8")
        with pytest.raises(PointsmanError) as caught:
            import_file(registry, path)
        assert caught.value.code == "subscription-exists"
        assert repr(entries[-1]["id"]) in caught.value.problem
    assert registry.count() == 1


@pytest.mark.usefixtures("large")
def test_a_line_that_is_too_long_is_refused(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before all of it is in memory."""
    monkeypatch.setattr(line_pieces, "MAXIMUM_LINE", 500)
    monkeypatch.setattr(line_pieces, "BYTES", 200)
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{'x' * 2_000}\n", encoding="utf-8")
    with pytest.raises(PointsmanError, match="longer than 500") as caught:
        import_file(registry, path)
    assert caught.value.line == 2
    assert MAXIMUM_LINE > line_pieces.BYTES
