"""From the shape of a table to what decides: every text in it is read, and every mistake is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

from pointsman.access import Access, Principal, Rule, read_data, read_lines
from pointsman.access.rules import Path, write_path
from pointsman.conditions import FunctionPredicate, Predicate, read_condition
from pointsman.errors import AccessError, NamingError, PatternError, PointsmanError, RoutingError, TemplateError
from pointsman.patterns import NamingStandard, Pattern, Template, find_dialect
from pointsman.patterns.dialect import find_foreign_wildcard
from pointsman.patterns.naming import CIM, Field
from pointsman.routing.balance import Kind, Weighted
from pointsman.routing.breaker import BreakerSettings
from pointsman.routing.gather import Aggregation, GatherSettings
from pointsman.routing.saga.definition import SagaDefinition
from pointsman.routing.saga.reader import read_definition
from pointsman.routing.strategies import check_direct
from pointsman.routing.translate import FunctionTemplate
from pointsman.routing.translate import Rule as TranslationRule
from pointsman.table.loading import schema
from pointsman.table.loading.schema import field_of_answer, field_of_message
from pointsman.table.loading.validation import mistake, place_of
from pointsman.table.loading.yaml import Node
from pointsman.table.route import Place, Route

UNROUTED = "unrouted"
"""The route of deliveries to the destination that takes what no route takes."""
Functions = Mapping[str, Callable[..., Any]]
"""Python functions by the names under which a table calls them."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where deliveries go, with the breaker before it."""

    name: str
    type: str
    options: dict[str, Any]
    place: Place
    breaker: BreakerSettings | None = None
    fallback: str | None = None


@dataclass(slots=True)
class Compiled:
    """All parts of a table."""

    routes: list[Route] = field(default_factory=list)
    destinations: dict[str, Destination] = field(default_factory=dict)
    translations: list[TranslationRule] = field(default_factory=list)
    access: Access | None = None
    sagas: dict[str, SagaDefinition] = field(default_factory=dict)
    standards: dict[str, NamingStandard] = field(default_factory=dict)
    enforced: NamingStandard | None = None
    functions: dict[str, Callable[..., Any] | None] = field(default_factory=dict)
    failures: list[PointsmanError] = field(default_factory=list)


def compile_table(table: schema.Table, root: Node, functions: Functions | None = None) -> Compiled:
    """The parts of a table, and in ``failures`` what is wrong with it.

    Without ``functions`` those that the table names raise when they are called.
    """
    compiler = _Compiler(table, root, functions)
    compiler.run()
    return compiler.made


class _Compiler:
    def __init__(self, table: schema.Table, root: Node, functions: Functions | None) -> None:
        self.table = table
        self.root = root
        self.given = functions
        self.made = Compiled()
        self.dialect_is_chosen = self.root.step("dialect") is not None

    def run(self) -> None:
        self.destinations()
        self.routes()
        self.translations()
        self.access()
        self.sagas()
        self.standards()
        self.foreign_wildcards()

    def read(self, node: Node, make: Callable[[], Any]) -> Any:
        """What a text means, or None and a failure at its place."""
        try:
            return make()
        except PointsmanError as error:
            self.made.failures.append(mistake(node, error.code, error.problem))
            return None

    def section(self, name: str) -> Node:
        children = self.root.children
        return children[name] if isinstance(children, dict) and name in children else self.root

    def unique(self, nodes: Node, names: list[str | None]) -> None:
        known: dict[str, int] = {}
        for number, name in enumerate(names):
            if name is not None and known.setdefault(name, number) != number:
                first = nodes.find((known[name],))
                problem = f"the name {name!r} is there already, in line {first.line}"
                self.made.failures.append(mistake(nodes.find((number, "name")), "duplicate-name", problem))

    def destinations(self) -> None:
        nodes = self.section("destinations")
        for name, each in self.table.destinations.items():
            written = each or schema.Destination()
            made = Destination(name, written.type, written.options, place_of(nodes.find((name,))))
            if written.breaker is not None:
                given = written.breaker
                settings = BreakerSettings(given.failures, given.reset, given.probe)
                made = Destination(name, made.type, made.options, made.place, settings, given.fallback)
                if given.fallback is not None:
                    self.check_destination(nodes.find((name, "breaker", "fallback")), given.fallback)
            self.made.destinations[name] = made
        if self.table.unrouted is not None:
            self.check_destination(self.section("unrouted"), self.table.unrouted)

    def check_destination(self, node: Node, name: str) -> None:
        """A table that declares destinations declares all of them."""
        declared = self.table.destinations
        if declared and name not in declared:
            close = get_close_matches(name, declared, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            problem = f"the destination {name!r} is not declared under destinations{meant}"
            self.made.failures.append(mistake(node, "unknown-destination", problem))

    def function(self, node: Node, name: str) -> Callable[..., Any]:
        """The Python function of this name, which the program that loads the table gives."""
        if self.given is None:
            self.made.functions[name] = None

            def missing(*_: object) -> Any:
                problem = f"the table needs the Python function {name!r}; load it with functions={{{name!r}: …}}"
                raise RoutingError("function-not-given", problem)

            return missing
        found = self.given.get(name)
        self.made.functions[name] = found
        if not callable(found):
            known = ", ".join(self.given) or "none"
            problem = f"there is no Python function {name!r}; given are {known}"
            self.made.failures.append(mistake(node, "function-not-given", problem))
        return found or (lambda *_: None)

    def foreign_wildcards(self) -> None:
        """Wildcards of another dialect are mistakes in a table that does not say which dialect it is in."""
        made = self.made
        if self.dialect_is_chosen:
            return
        for found in foreign_wildcards(made.routes, made.translations, made.access, made.sagas):
            self.made.failures.append(mistake(self.root.find(found.path), "foreign-wildcard", found.problem))

    def routes(self) -> None:
        nodes = self.section("routes")
        self.unique(nodes, [route.name for route in self.table.routes])
        if self.table.unrouted is not None:
            for position, route in enumerate(self.table.routes):
                if route.name == UNROUTED:
                    problem = f"the name {UNROUTED!r} is taken by the destination for messages that no route takes"
                    self.made.failures.append(mistake(nodes.find((position, "name")), "duplicate-name", problem))
        for position, route in enumerate(self.table.routes):
            node = nodes.find((position,))
            dialect = route.dialect or self.table.dialect
            try:
                pattern = Pattern(route.pattern, dialect)
            except PatternError as error:
                self.made.failures.append(mistake(node.find(("pattern",)), error.code, error.problem))
                continue
            for number, share in enumerate(route.destinations):
                name = share if isinstance(share, str) else share.name
                self.check_destination(node.find(("destinations", number)), name)
            self.made.routes.append(self.route(route, pattern, position, node))

    def route(self, route: schema.Route, pattern: Pattern, position: int, node: Node) -> Route:
        shares = tuple(
            Weighted(each) if isinstance(each, str) else Weighted(each.name, each.weight) for each in route.destinations
        )
        if (
            route.strategy in ("pattern", "priority")
            and route.when is None
            and route.conditions is None
            and route.enabled
        ):
            # Nothing else to read; most of a large table is of this kind.
            place = Place(node.file, node.line, node.column)
            return Route(
                route.name, position, pattern, route.strategy, shares, place, priority=route.priority, group=route.group
            )
        if route.strategy == "direct":
            self.read(node.find(("pattern",)), lambda: check_direct(pattern))
        when, key, gather = route.when, route.key, route.gather
        return Route(
            name=route.name,
            position=position,
            pattern=pattern,
            strategy=route.strategy,
            destinations=shares,
            place=place_of(node),
            predicate=None if when is None else self.predicate(when, node.find(("when",))),
            condition=None
            if route.conditions is None
            else self.read(node.find(("conditions",)), lambda: read_condition(route.conditions)),
            priority=route.priority,
            group=route.group,
            balance=None if route.balance is None else Kind(route.balance),
            key=None if key is None else self.read(node.find(("key",)), lambda: field_of_message(key)),
            gather=self.gather(route, node) if route.strategy == "scatter-gather" else None,
            answers=None if gather is None else self.answers(route, gather, node),
            target=None
            if gather is None
            else self.read(node.find(("gather", "target")), lambda: field_of_message(gather.target)),
            enabled=route.enabled,
        )

    def predicate(self, when: str | schema.Function, node: Node) -> Predicate | FunctionPredicate | None:
        if isinstance(when, schema.Function):
            return FunctionPredicate(when.function, self.function(node, when.function))
        predicate: Predicate | None = self.read(node, lambda: Predicate(when))
        return predicate

    def gather(self, route: schema.Route, node: Node) -> GatherSettings | None:
        gather = route.gather or schema.Gather()
        path = gather.field
        extract = {} if path is None else {"extract": field_of_answer(path)}
        if gather.quorum is not None and gather.quorum > len(route.destinations):
            problem = f"a quorum of {gather.quorum} is more than the {len(route.destinations)} destinations"
            self.made.failures.append(mistake(node.find(("gather", "quorum")), "bad-table", problem))
        aggregation: Aggregation
        if isinstance(gather.aggregation, schema.Function):
            aggregation = self.function(node.find(("gather", "aggregation")), gather.aggregation.function)
        else:
            aggregation = gather.aggregation
        made: GatherSettings | None = self.read(
            node.find(("gather",)),
            lambda: GatherSettings(gather.timeout, gather.quorum, aggregation, **extract),
        )
        return made

    def answers(self, route: schema.Route, gather: schema.Gather, node: Node) -> Pattern | None:
        text = gather.answers
        if text is None:
            return None
        found: Pattern | None = self.read(
            node.find(("gather", "answers")), lambda: Pattern(text, route.dialect or self.table.dialect)
        )
        return found

    def translations(self) -> None:
        nodes = self.section("translations")
        nodes = nodes.step("rules") or nodes
        rules = self.table.translations.rules
        self.unique(nodes, [each.name for each in rules])
        for position, each in enumerate(rules):
            node = nodes.find((position,))
            dialect = each.dialect or self.table.dialect
            template: Template | FunctionTemplate
            try:
                source = Pattern(each.source, dialect)
                if each.function is not None:
                    function = self.function(node.find(("function",)), each.function)
                    template = FunctionTemplate(each.function, source, function)
                else:
                    template = Template(each.target or "", source)
            except (PatternError, TemplateError) as error:
                key = "from" if isinstance(error, PatternError) else "to"
                self.made.failures.append(mistake(node.find((key,)), error.code, error.problem))
                continue
            self.made.translations.append(TranslationRule(each.name or f"translation {position + 1}", template))

    def access(self) -> None:
        if "access" not in (self.root.children or {}):
            return
        principals = []
        for name, written in self.table.access.items():
            node = self.section("access").find((name,))
            rules: list[Rule] = []
            for each in self.rules(written):
                if isinstance(each, AccessError):
                    self.made.failures.append(mistake(node.find(each.path), each.code, each.problem))
                else:
                    rules.append(each)
            principals.append(Principal(name, tuple(rules)))
        self.made.access = Access(principals)

    def rules(self, written: dict[str, Any] | str | None) -> Iterator[Rule | AccessError]:
        if isinstance(written, str):
            # As Zato writes them, which is in Zato's dialect.
            return read_lines(written, "zato")
        data = dict(written or {})
        dialect = data.pop("dialect", self.table.dialect)
        return read_data(data, dialect)

    def sagas(self) -> None:
        for name, written in self.table.sagas.items():
            node = self.section("sagas").find((name,))
            definition, problems = read_definition({"dialect": self.table.dialect, **written, "name": name})
            for each in problems:
                problem = f"{write_path(('sagas', name, *each.path))}: {each.problem}"
                self.made.failures.append(mistake(node.find(each.path), "bad-saga", problem))
            if definition is not None:
                self.made.sagas[name] = definition

    def standards(self) -> None:
        self.made.standards["cim"] = CIM
        for name, written in self.table.standards.items():
            fields = tuple(Field(part.name, dict.fromkeys(part.words, "")) for part in written.parts)
            try:
                self.made.standards[name] = NamingStandard(name, fields)
            except NamingError as error:
                node = self.section("standards").find((name,))
                self.made.failures.append(mistake(node, error.code, error.problem))
        naming = self.table.naming
        if naming is None:
            return
        standard = self.made.standards.get(naming.standard)
        if standard is None:
            known = ", ".join(self.made.standards)
            problem = f"there is no naming standard {naming.standard!r}; there are {known}"
            self.made.failures.append(mistake(self.section("naming").find(("standard",)), "bad-table", problem))
        elif naming.enforce:
            self.made.enforced = replace(standard, dialect=find_dialect(self.table.dialect))


class Foreign(NamedTuple):
    """A wildcard of another dialect in a table."""

    path: Path
    """Where in the table."""
    about: str
    """The name of the route, translation, principal or saga."""
    problem: str


def foreign_wildcards(
    routes: Iterable[Route],
    translations: Iterable[TranslationRule],
    access: Access | None,
    sagas: Mapping[str, SagaDefinition],
) -> Iterator[Foreign]:
    """The wildcards of other dialects that stand alone in the patterns of a table."""
    for path, about, pattern in _patterns(routes, translations, access, sagas):
        found = find_foreign_wildcard(pattern.text, pattern.dialect)
        if found is not None:
            yield Foreign(path, about, f"{about!r}: {found.problem}")


def _patterns(
    routes: Iterable[Route],
    translations: Iterable[TranslationRule],
    access: Access | None,
    sagas: Mapping[str, SagaDefinition],
) -> Iterator[tuple[Path, str, Pattern]]:
    for route in routes:
        yield ("routes", route.position, "pattern"), route.name, route.pattern
        if route.answers is not None:
            yield ("routes", route.position, "gather", "answers"), route.name, route.answers
    for number, rule in enumerate(translations):
        yield ("translations", "rules", number, "from"), rule.name, rule.template.source
    for name, principal in ({} if access is None else access.principals).items():
        for each in principal.rules:
            yield ("access", name, *each.origin.path), name, each.pattern
    for name, saga in sagas.items():
        for edge in saga.edges:
            if isinstance(edge.trigger, Pattern):
                yield ("sagas", name), name, edge.trigger
