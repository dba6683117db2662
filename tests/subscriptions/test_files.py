"""Files of subscriptions: what comes in, what goes out, and what is said about a bad line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.conditions import AllOf, Matcher, NumberComparison
from pointsman.errors import InputError, StoreError
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from pointsman.subscriptions import condition_texts, exporting, parquet
from pointsman.subscriptions.files import export_file, import_file
from pointsman.subscriptions.importing import Imported
from pointsman.subscriptions.json_lines import MAXIMUM_LINE
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import read_subscription
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.writing import write_subscription
from tests.subscriptions.found import check_consistent, stored
from tests.subscriptions.strategies import subscriptions
from tests.subscriptions.test_registry import DARK, EVERYTHING, made
from tests.subscriptions.written import write_json_lines, write_parquet

GOOD: dict[str, Any] = {"id": "a", "owner": "ada", "destinations": ["inbox"], "pattern": "orders.>"}


@given(subscriptions())
def test_a_subscription_comes_back_from_its_data(subscription: WildcardSubscription) -> None:
    """Also by way of JSON."""
    assert read_subscription(json.loads(json.dumps(write_subscription(subscription)))) == subscription


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"id": None}, "id", "missing"),
        ({"colour": "red"}, "colour", "no such field"),
        ({"pattern": "a..b"}, "pattern", "empty"),
        ({"pattern": 5}, "pattern", "int"),
        ({"pattern": "orders.#"}, "pattern", "'#' is a wildcard in amqp"),
        ({"dialect": "pigeon"}, "dialect", "pigeon"),
        ({"dialect": 5}, "dialect", "int"),
        ({"condition": {"and": [{"key": 5, "pattern": "a"}]}}, "condition", "and[0].key"),
        ({"condition": {"or": [{"pattern": "a"}] * 1_001}}, "condition", "1,000"),
        ({"enabled": "yes"}, "enabled", "str"),
        ({"destinations": "inbox"}, "destinations", "str"),
    ],
)
def test_what_is_wrong_in_the_data_is_said_with_its_field(changes: dict[str, Any], field: str, problem: str) -> None:
    """In the words of the part that reads it."""
    with pytest.raises(InputError) as caught:
        read_subscription({**GOOD, **changes})
    assert (caught.value.code, caught.value.text) == ("bad-subscription", field)
    assert problem in caught.value.problem
    with pytest.raises(InputError, match="an object"):
        read_subscription([GOOD])


@pytest.mark.parametrize("name", ["all.jsonl", "all.parquet"])
def test_what_is_exported_can_be_imported(registry: Registry, tmp_path: Path, name: str) -> None:
    """And is the same then, in both formats."""
    told: list[int] = []
    registry.import_many(EVERYTHING)
    assert export_file(registry, tmp_path / name, progress=told.append) == sum(told) == len(EVERYTHING)
    with Queue(":memory:") as other:
        copy = Registry(other.store)
        read: list[int] = []
        assert import_file(copy, tmp_path / name, progress=read.append) == Imported(len(EVERYTHING), 0)
        assert sum(read) == len(EVERYTHING)
        assert {each.id: each for each in stored(copy)} == {each.id: each for each in EVERYTHING}
        check_consistent(copy)
    assert [path.name for path in tmp_path.iterdir() if "queue" not in path.name] == [name]


@pytest.mark.parametrize("page", [1, 3, 10_000])
@pytest.mark.parametrize("name", ["all.jsonl", "all.parquet"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_exported_is_what_the_long_way_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject, name: str, page: int
) -> None:
    """To the byte of each line and the value of each row, whatever the pages are and however little is kept."""
    monkeypatch.setattr(exporting, "PAGE", page)
    for module, limit in (
        (exporting, "MOST_CHARACTERS"),
        (condition_texts, "MOST_CHARACTERS"),
        (condition_texts, "MOST_SHAPES"),
        (parquet, "MOST_BYTES"),
    ):
        monkeypatch.setattr(module, limit, data.draw(st.sampled_from([0, 1, 40, 1 << 20])))
    many = [*EVERYTHING, *(data.draw(subscriptions(f"{place}")) for place in range(data.draw(st.integers(0, 6))))]
    plainly = tmp_path / f"plainly-{name}"
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        registry.import_many(many)
        assert export_file(registry, tmp_path / name) == len(many)
    if name.endswith("parquet"):
        write_parquet(plainly, many)
        assert pq.read_table(tmp_path / name).equals(pq.read_table(plainly))
    else:
        write_json_lines(plainly, many)
        assert (tmp_path / name).read_bytes() == plainly.read_bytes()


@pytest.mark.parametrize("text", ['%s %d "', "a\nb\x00\x1f", "1,2,[3", "\u2028 ä 🚂", '"pattern":""'])
def test_any_text_can_be_exported(registry: Registry, tmp_path: Path, text: str) -> None:
    """Also one that means something to who writes it."""
    names = text.replace("\0", "")
    many = [
        WildcardSubscription(names, names, (names,), None, Matcher(text, text, True), description=text),
        WildcardSubscription("b", "o", ("d",), None, AllOf((Matcher(text, "*"), NumberComparison(text, "<", 1e300)))),
    ]
    registry.import_many(many)
    for name in ("all.jsonl", "all.parquet"):
        assert export_file(registry, tmp_path / name) == 2
        with Queue(":memory:") as other:
            copy = Registry(other.store)
            import_file(copy, tmp_path / name)
            assert stored(copy) == many


def test_a_pattern_with_a_sign_of_another_dialect_is_exported_with_its_own(registry: Registry, tmp_path: Path) -> None:
    """As it was chosen, so that it can be imported again."""
    many = [
        WildcardSubscription(f"{number}", "o", ("d",), Pattern(text, "nats"))
        for number, text in enumerate(["a.#", "plant/+", "a.**", "a.>"])
    ]
    registry.import_many(many)
    for name in ("all.jsonl", "all.parquet"):
        export_file(registry, tmp_path / name)
        with Queue(":memory:") as other:
            copy = Registry(other.store)
            import_file(copy, tmp_path / name)
            assert stored(copy) == many
    assert [read_subscription(write_subscription(each)) for each in many] == many
    assert '"dialect"' not in (tmp_path / "all.jsonl").read_text().splitlines()[-1]


def test_an_empty_registry_makes_an_empty_file(registry: Registry, tmp_path: Path) -> None:
    """That can be imported."""
    for name in ("all.jsonl", "all.parquet"):
        assert export_file(registry, tmp_path / name) == 0
        assert import_file(registry, tmp_path / name) == Imported(0, 0)


def test_those_of_an_owner_can_be_exported(registry: Registry, tmp_path: Path) -> None:
    """The format can be said where the name does not."""
    registry.import_many(EVERYTHING)
    assert export_file(registry, tmp_path / "bob", form="parquet", owner="bob") == 1
    assert pq.read_table(tmp_path / "bob").column("id").to_pylist() == ["mqtt"]


def lines(path: Path, *entries: dict[str, Any] | str) -> Path:
    """A file of these lines."""
    path.write_text("".join(f"{e if isinstance(e, str) else json.dumps(e)}\n" for e in entries), encoding="utf-8")
    return path


def rows(path: Path, *entries: dict[str, Any]) -> Path:
    """A Parquet file of these rows."""
    pq.write_table(pa.Table.from_pylist(list(entries)), path)
    return path


@pytest.mark.parametrize("batch", [None, 1, 2])
def test_a_bad_line_is_named_and_nothing_is_stored_unless_in_batches(
    registry: Registry, tmp_path: Path, batch: int | None
) -> None:
    """In batches the error says how to go on, and that works."""
    bad = {**GOOD, "id": "d", "owner": ""}
    path = lines(tmp_path / "x.jsonl", GOOD, {**GOOD, "id": "b"}, "", {**GOOD, "id": "c"}, bad, {**GOOD, "id": "e"})
    with pytest.raises(InputError, match="owner: it is empty") as caught:
        import_file(registry, path, batch=batch)
    assert (caught.value.file, caught.value.line) == (str(path), 5)
    done = {None: 0, 1: 3, 2: 2}[batch]
    assert [each.id for each in stored(registry)] == ["a", "b", "c"][:done]
    check_consistent(registry)
    if batch is None:
        return
    skip = {1: 4, 2: 2}[batch]
    assert f"skip {skip})" in caught.value.problem
    lines(path, GOOD, {**GOOD, "id": "b"}, "", {**GOOD, "id": "c"}, {**bad, "owner": "bob"}, {**GOOD, "id": "e"})
    assert import_file(registry, path, batch=batch, skip=skip) == Imported(5 - done, 0)
    assert [each.id for each in stored(registry)] == list("abcde")
    check_consistent(registry)


@pytest.mark.parametrize(
    ("line", "code", "problem"),
    [
        ('{"id": ', "bad-json", "not JSON"),
        ("[]", "bad-subscription", "an object"),
        ('{"id": "x", "id": "y"}', "bad-json", "twice"),
        ("x" * (MAXIMUM_LINE + 1), "bad-subscription", "longer"),
    ],
)
def test_a_line_that_is_no_subscription_is_named(
    registry: Registry, tmp_path: Path, line: str, code: str, problem: str
) -> None:
    """With what is wrong with it."""
    path = lines(tmp_path / "x.jsonl", GOOD, line)
    with pytest.raises(InputError, match=problem) as caught:
        import_file(registry, path)
    assert (caught.value.code, caught.value.file, caught.value.line) == (code, str(path), 2)
    assert registry.count() == 0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"condition": "{"}, "condition: "),
        ({"condition": '{"key": "a"}'}, "condition: "),
        ({"destinations": []}, "destinations: "),
        ({"pattern": None}, "must include something"),
    ],
)
def test_a_bad_row_is_named(registry: Registry, tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    """By its number in the file."""
    path = rows(tmp_path / "x.parquet", {**GOOD, "condition": None}, {**GOOD, "id": "b", **changes})
    with pytest.raises(InputError, match="bad-subscription") as caught:
        import_file(registry, path)
    assert problem in caught.value.problem
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert registry.count() == 0


def test_a_file_that_cannot_be_used_is_named(registry: Registry, tmp_path: Path) -> None:
    """One that is not there, one that is no Parquet, and one with other columns."""
    for name in ("no.jsonl", "no.parquet"):
        with pytest.raises(InputError, match="no-file"):
            import_file(registry, tmp_path / name)
    (tmp_path / "bad.parquet").write_text("no")
    for path, problem in (
        (tmp_path / "bad.parquet", "no Parquet"),
        (rows(tmp_path / "few.parquet", {"id": "a"}), "'owner'"),
        (rows(tmp_path / "more.parquet", {**GOOD, "colour": "red"}), "'colour'"),
        (rows(tmp_path / "kinds.parquet", {**GOOD, "enabled": "perhaps"}), "cannot be used"),
    ):
        with pytest.raises(InputError, match="bad-subscription") as caught:
            import_file(registry, path)
        assert problem in caught.value.problem
        assert caught.value.file == str(path)
    with pytest.raises(InputError, match="no format"):
        import_file(registry, tmp_path / "a", form="xml")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no-file"):
        export_file(registry, tmp_path / "nowhere" / "x.jsonl")


def test_what_is_there_already_is_refused_or_replaced(registry: Registry, tmp_path: Path) -> None:
    """Also if it stands in the same file twice: the last one counts."""
    registry.import_many(EVERYTHING)
    path = lines(
        tmp_path / "x.jsonl", {**GOOD, "id": "new"}, {**GOOD, "id": "plain"}, {**GOOD, "id": "new", "owner": "z"}
    )
    with pytest.raises(StoreError, match=r"'plain'|'new'") as caught:
        import_file(registry, path)
    assert caught.value.code == "subscription-exists"
    assert stored(registry) == EVERYTHING
    assert import_file(registry, path, replace=True) == Imported(1, 2)
    changed = {each.id: each for each in stored(registry)}
    assert (changed["plain"].pattern, changed["new"].owner) == (read_subscription(GOOD).pattern, "z")
    check_consistent(registry)


def test_the_standard_streams_can_be_used(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """For JSON Lines."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode())))
    assert import_file(registry, Path("-")) == Imported(1, 0)
    assert export_file(registry, Path("-")) == 1
    assert json.loads(capfdbinary.readouterr().out) == GOOD
    for call in (import_file, export_file):
        with pytest.raises(InputError, match="bad-usage"):
            call(registry, Path("-"), form="parquet")


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_many_at_once_are_what_they_would_be_one_by_one(data: st.DataObject) -> None:
    """Whatever the batch; with those that are there already replaced."""
    many = [data.draw(subscriptions(f"{place}")) for place in range(data.draw(st.integers(1, 6)))]
    again = [data.draw(subscriptions(each.id)) for each in many[: data.draw(st.integers(0, 3))]]
    batch = data.draw(st.none() | st.integers(1, 4))
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        assert registry.import_many(many, batch=batch) == Imported(len(many), 0)
        assert stored(registry) == many
        assert registry.import_many([*again, made("last", condition=DARK)], batch=batch, replace=True) == Imported(
            1, len(again)
        )
        check_consistent(registry)
        assert stored(registry)[: len(many)] == again + many[len(again) :]


def test_an_import_that_fails_leaves_nothing(registry: Registry) -> None:
    """Also if it is the caller who fails."""

    def failing() -> Any:
        yield from EVERYTHING
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        registry.import_many(failing())
    assert registry.list() == registry.matchers() == registry.changes() == []
    assert registry.create(made("one")) == 1
