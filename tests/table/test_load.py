"""Loading a table: what it may say, and every mistake with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.errors import InputError, PointsmanError, TableError
from pointsman.message import Message
from pointsman.table.routing_table import RoutingTable

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"


def failures(text: str) -> list[tuple[str, int | None, int | None]]:
    """The codes and places of all mistakes."""
    with pytest.raises(TableError) as caught:
        RoutingTable.parse(text)
    return [(error.code, error.line, error.column) for error in caught.value.failures]


def refused(text: str) -> PointsmanError:
    """The error that a text is refused with."""
    with pytest.raises(PointsmanError) as caught:
        RoutingTable.parse(text)
    return caught.value


def test_every_mistake_is_reported_with_its_place() -> None:
    """Those of the shape and those of the texts together, in the order of the file."""
    found = failures(
        """
routes:
  - {name: a, patern: x, destinations: [b]}
  - {name: b, pattern: "x..y", destinations: [b]}
  - {name: c, pattern: x, destinations: [b], strategy: contnt}
  - {name: d, pattern: x, destinations: [b], when: "body.amount >"}
  - {name: d, pattern: x, destinations: [b]}
access:
  alice: {publish: ["a..b"], subscribes: []}
foo: 1
"""
    )
    assert [(code, line) for code, line, _ in found] == [
        ("missing-key", 3),
        ("unknown-key", 3),
        ("empty-token", 4),
        ("bad-table", 5),
        ("bad-predicate", 6),
        ("duplicate-name", 7),
        ("bad-access-rules", 9),
        ("empty-token", 9),
        ("unknown-key", 10),
    ]


def test_a_mistake_is_pointed_at_by_its_column() -> None:
    """The value where that is wrong, the key where nothing reads it."""
    assert failures("routes:\n  - {name: a, pattern: x..y, destinations: [b]}") == [("empty-token", 2, 24)]
    assert failures("routs: []") == [("unknown-key", 1, 1)]


def test_a_misspelt_key_is_told_what_was_meant() -> None:
    """At every depth."""
    for text, meant in (
        ("routs: []", "routes"),
        ("routes: [{name: a, patern: x, destinations: [b]}]", "pattern"),
        ("destinations: {a: {breaker: {failurs: 3}}}", "failures"),
    ):
        with pytest.raises(TableError) as caught:
            RoutingTable.parse(text)
        assert any(f"did you mean '{meant}'" in error.problem for error in caught.value.failures)


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ("strategy: content", "needs a predicate"),
        ("strategy: direct, destinations: [a, b]", "one destination"),
        ("strategy: balanced", "balance is for balanced routes"),
        ("balance: random", "balance is for balanced routes"),
        ("strategy: balanced, balance: sticky", "key is for sticky"),
        ("gather: {}", "gather is for scatter-gather"),
        ("strategy: scatter-gather, gather: {timeout: soon}", "a duration is"),
        ("strategy: scatter-gather, gather: {quorum: 2}", "a quorum of 2"),
        ("strategy: direct, pattern: a.*", "a direct route has none"),
    ],
)
def test_a_route_must_fit_its_strategy(route: str, problem: str) -> None:
    """What it lacks, or has too much, is said."""
    fields = {"name": "r", "pattern": "a", "destinations": "[a]"}
    written = ", ".join(f"{key}: {value}" for key, value in fields.items() if f"{key}:" not in route)
    assert problem in refused(f"routes: [{{{written}, {route}}}]").problem


def test_the_hash_is_that_of_the_content() -> None:
    """Comments, order of keys and expectations make no difference; a route does."""
    one = RoutingTable.parse("routes: [{name: a, pattern: x, destinations: [b]}]")
    same = RoutingTable.parse("# hello\nexpectations: []\nroutes:\n- destinations: [b]\n  pattern: x\n  name: a\n")
    other = RoutingTable.parse("routes: [{name: a, pattern: y, destinations: [b]}]")
    assert one.hash == same.hash != other.hash


def test_an_environment_changes_adds_and_removes() -> None:
    """By key and by name; without one, nothing is changed."""
    text = """
destinations: {a: {type: queue, options: {path: x}}, b: }
routes:
  - {name: one, pattern: x, destinations: [a]}
  - {name: two, pattern: x, destinations: [b]}
environments:
  staging:
    remove: {routes: [two], destinations: [b]}
    destinations: {a: {type: folder}, c: }
    routes: [{name: one, destinations: [c]}, {name: three, pattern: x, destinations: [a]}]
"""
    plain, staging = RoutingTable.parse(text), RoutingTable.parse(text, "staging")
    assert [delivery.destination for delivery in plain.decide(Message("x")).deliveries] == ["a", "b"]
    assert [delivery.destination for delivery in staging.decide(Message("x")).deliveries] == ["c", "a"]
    assert list(staging.destinations) == ["a", "c"]
    assert (staging.destinations["a"].type, staging.destinations["a"].options) == ("folder", {"path": "x"})
    assert plain.hash != staging.hash
    with pytest.raises(InputError, match="did you mean 'staging'"):
        RoutingTable.parse(text, "stagging")


def test_an_environment_that_removes_what_is_not_there_is_refused() -> None:
    """With the place."""
    with pytest.raises(InputError) as caught:
        RoutingTable.parse("environments: {dev: {remove: {routes: [nobody]}}}", "dev")
    assert (caught.value.code, caught.value.line, caught.value.column) == ("bad-overlay", 1, 40)


def test_files_are_included_before_what_the_table_says_itself(tmp_path: Path) -> None:
    """And mistakes in them are told with their own name."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "table.yaml").write_text(
        "include: [parts/more.yaml]\nroutes: [{name: b, pattern: x, destinations: [d]}]"
    )
    (tmp_path / "parts" / "more.yaml").write_text(
        "routes: [{name: a, pattern: x, destinations: [c]}]\ndestinations: {c: , d: }"
    )
    table = RoutingTable.load(tmp_path / "table.yaml")
    assert [route.name for route in table.routes] == ["a", "b"]
    (tmp_path / "parts" / "more.yaml").write_text("\nroutes: [{name: a, pattern: x..x, destinations: [c]}]")
    with pytest.raises(TableError) as caught:
        RoutingTable.load(tmp_path / "table.yaml")
    assert caught.value.place == f"{tmp_path / 'parts' / 'more.yaml'}:2:29"


@pytest.mark.parametrize(
    "name", ["../outside.yaml", "/etc/passwd", "link.yaml", "table.yaml", "nowhere.yaml", "a/../../x", '"a\\0b.yaml"']
)
def test_what_lies_outside_the_folder_is_not_included(tmp_path: Path, name: str) -> None:
    """Nor through a link, nor the file itself."""
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text("routes: []")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (folder / "table.yaml").write_text(f"include: [{name}]")
    with pytest.raises(InputError) as caught:
        RoutingTable.load(folder / "table.yaml")
    assert (caught.value.code, caught.value.line) == ("bad-include", 1)


def test_a_key_of_two_files_is_refused(tmp_path: Path) -> None:
    """It is not clear which one is meant."""
    (tmp_path / "table.yaml").write_text("include: [more.yaml]\ndestinations: {a: }")
    (tmp_path / "more.yaml").write_text("destinations: {a: }")
    with pytest.raises(InputError, match="'a' is there already"):
        RoutingTable.load(tmp_path / "table.yaml")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: &x [1]\nb: *x", "bad-yaml"),
        ("<<: {a: 1}", "bad-yaml"),
        ("a: !!python/object:os.system x", "bad-yaml"),
        ("routes: []\nroutes: []", "bad-yaml"),
        ("--- {}\n--- {}", "bad-yaml"),
        ("[1, 2]: x", "bad-yaml"),
        ("a: [1", "bad-yaml"),
        ("[" * 100 + "]" * 100, "yaml-limit"),
        ("- routes", "bad-table"),
        ("42", "bad-table"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text: str, code: str) -> None:
    """Aliases of more than a value, merge keys, tags, keys twice, several documents."""
    assert refused(text).code == code


def test_an_alias_of_a_single_value_is_read() -> None:
    """It cannot grow."""
    table = RoutingTable.parse(
        "routes:\n- {name: a, pattern: &p x.y, destinations: [d]}\n- {name: b, pattern: *p, destinations: [d]}"
    )
    assert [route.pattern.text for route in table.routes] == ["x.y", "x.y"]


def test_a_hostile_table_is_refused_and_not_worked_through() -> None:
    """Nested megabytes, a bomb of aliases, a monstrous predicate, an endless pattern."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    parentheses = "(" * 10_000 + "body.a = 1" + ")" * 10_000
    for text in (
        "[" * 5_000_000,
        "a: " + "{a: " * 1_000_000,
        bomb,
        f"routes: [{{name: a, pattern: x, destinations: [b], when: '{parentheses}'}}]",
        "routes: [{name: a, pattern: " + "x." * 500_000 + ", destinations: [b]}]",
    ):
        assert refused(text).code in (
            "yaml-limit",
            "bad-yaml",
            "predicate-too-deep",
            "predicate-too-long",
            "empty-token",
        )


def test_the_example_loads_in_each_of_its_environments() -> None:
    """As it is shipped."""
    for environment in (None, "development", "staging", "production"):
        assert RoutingTable.load(SHOP, environment).routes


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("destinations: {one: }\nroutes: [{name: r, pattern: a, destinations: [one, won]}]", "table.yaml:2:52"),
        ("destinations: {one: {breaker: {fallback: won}}}", "table.yaml:1:42"),
        ("destinations: {one: }\nunrouted: won", "table.yaml:2:11"),
        (
            "destinations: {one: }\nroutes: [{name: r, pattern: a, enabled: false, destinations: [won]}]",
            "table.yaml:2:63",
        ),
    ],
)
def test_a_destination_that_is_not_declared_is_an_error(text: str, place: str) -> None:
    """In routes, as fallback and for what no route takes; messages would pile up where nobody looks."""
    with pytest.raises(TableError, match="did you mean 'one'") as caught:
        RoutingTable.parse(text)
    assert (caught.value.code, caught.value.place) == ("unknown-destination", place)


def test_a_table_that_declares_no_destinations_names_them_freely() -> None:
    """As the simplest tables do."""
    table = RoutingTable.parse("routes: [{name: r, pattern: a, destinations: [any, thing]}]\nunrouted: rest")
    assert table.has_destination("any")
    assert not table.has_destination("other")


@pytest.mark.parametrize(
    "text",
    [
        "routes: [{name: r, pattern: 'orders.#', destinations: [d]}]",
        "translations: [{from: 'a.#', to: b}]",
        "access: {shop: {publish: ['orders.#']}}",
        "sagas: {s: {starts: [{on: 'a.#', to: done}], states: {done: {final: true}}}}",
    ],
)
def test_a_wildcard_of_another_dialect_is_an_error_in_a_table_that_does_not_say_its_dialect(text: str) -> None:
    """It would match nothing, in silence; with a dialect it is a finding of ``check``."""
    with pytest.raises(TableError, match="'#' is a wildcard in amqp") as caught:
        RoutingTable.parse(text)
    assert caught.value.code == "foreign-wildcard"
    RoutingTable.parse(f"dialect: nats\n{text}")


def test_a_function_that_was_not_given_is_an_error_with_its_place() -> None:
    """If functions are given at all."""
    text = "routes: [{name: r, pattern: a, when: {function: cheap}, destinations: [d]}]"
    with pytest.raises(TableError, match="no Python function 'cheap'; given are other") as caught:
        RoutingTable.parse(text, functions={"other": print})
    assert (caught.value.code, caught.value.line) == ("function-not-given", 1)


def test_a_translation_goes_either_to_a_template_or_to_a_function() -> None:
    """Neither and both are mistakes."""
    for rest in ("", "to: b, function: f"):
        with pytest.raises(TableError, match="either to or function"):
            RoutingTable.parse(f"translations: [{{from: a, {rest}}}]")


def test_an_environment_changes_the_rules_of_translations_that_are_applied_in_turn() -> None:
    """How they are applied stays as it is."""
    text = """
translations: {apply: all, rules: [{name: a, from: x, to: y}, {name: b, from: y, to: z}]}
environments: {test: {remove: {translations: [b]}, translations: [{name: c, from: y, to: w}]}}
"""
    assert RoutingTable.parse(text).translate("x") == "z"
    assert RoutingTable.parse(text, "test").translate("x") == "w"


@pytest.mark.parametrize("name", ["a\\0b.yaml", "x" * 5000])
def test_an_include_that_no_file_can_have_as_its_name_is_an_error(tmp_path: Path, name: str) -> None:
    """And no traceback."""
    (tmp_path / "table.yaml").write_text(f'include: ["{name}"]')
    with pytest.raises(InputError) as caught:
        RoutingTable.load(tmp_path / "table.yaml")
    assert (caught.value.code, caught.value.line) == ("bad-include", 1)


def test_numbers_beyond_64_bits_are_errors_with_their_place() -> None:
    """Wherever the table takes a number."""
    large = "9" * 25
    for text in (
        f"destinations: {{d: {{breaker: {{failures: {large}}}}}}}",
        f"routes: [{{name: r, pattern: a, priority: {large}, destinations: [d]}}]",
        f"routes: [{{name: r, pattern: a, destinations: [{{name: d, weight: {large}}}]}}]",
        f"version: {large}",
    ):
        with pytest.raises(TableError):
            RoutingTable.parse(text)
