"""Generated rules, and subjects near to them, in all four dialects; the invalid and the odd among them."""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pointsman.errors import PatternError, TemplateError
from pointsman.patterns import DIALECTS, Pattern, Template
from pointsman.patterns.template import numbered

NAMES = ["a", "b", "A", "é", "a-b", "$s", "\U0001d4b3"]
PARTS = {"nats": ["*", "a*"], "amqp": ["*", "#", "", "a b"], "zato": ["*", "**", "a*", "*b"], "mqtt": ["+", "", "a b"]}
ODD = ["", "*", ">", "+", "#", " ", "\x00", "\t", "\x85", "zato", "ZPSK", "--", "x" * 300, "é" * 126, "\n", "\u2028"]
CALLS = ["left({},1)", "right({},1)", "split({},-)", "splitfromleft({},1)", "slicefromright({},2)", "partition(9,{})"]
PLAIN = ["nats", "amqp", "mqtt"]
EVERY = [*PLAIN, "zato"]


Drawn = TypeVar("Drawn")


def several(strategy: st.SearchStrategy[Drawn], count: int) -> list[Drawn]:
    """So many examples at once, for a job of Spark that takes seconds however few it asks about."""
    found: list[Drawn] = []

    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(example: Drawn) -> None:
        found.append(example)

    collect()
    return found


@st.composite
def patterns(draw: st.DrawFn, dialect: str) -> Pattern:
    """A pattern, often with the wildcard for many tokens at its end."""
    chosen = DIALECTS[dialect]
    usual = [name for name in NAMES if name.isascii() or not chosen.ascii_only]
    token = st.one_of(st.sampled_from(usual), st.just(chosen.one), st.sampled_from(PARTS[dialect]))
    tokens = draw(st.lists(token, min_size=1, max_size=3)) + draw(st.sampled_from([[], [chosen.many]]))
    try:
        return Pattern(chosen.separator.join(tokens), dialect)
    except PatternError:
        return Pattern(chosen.many, dialect)


@st.composite
def subjects(draw: st.DrawFn, near: Pattern) -> str:
    """A text that the pattern matches, or nearly."""
    dialect = near.dialect
    names = st.sampled_from([*NAMES, "--"] * 3 + ODD)
    tokens: list[str] = []
    for token in dialect.split(near.text):
        if token == dialect.many:
            tokens += draw(st.lists(names, max_size=3))
        elif token == dialect.one or draw(st.integers(0, 9)) == 0:
            tokens.append(draw(names))
        else:
            tokens.append(token.replace("*", draw(st.sampled_from(["", "*", "x"]))))
    return dialect.separator.join(tokens)


@st.composite
def translations(draw: st.DrawFn, dialect: str, calls: bool) -> dict[str, str] | None:
    """A translation as a table writes it; None where what was drawn cannot be one."""
    source = draw(patterns(dialect))
    numbers = range(1, len(numbered(source)) + 1)
    uses = [form.format(number) for number in numbers for form in ("${}", "{{{{wildcard({})}}}}")]
    called = ["{{" + call.format(number) + "}}" for number in numbers for call in CALLS] if calls else []
    token = st.sampled_from(["a", "new", "é", "x" * 120, *uses, *uses, *called])
    tokens = draw(st.lists(token, max_size=4))
    if source.text.endswith(source.dialect.many) and (dialect == "nats" or draw(st.booleans())):
        tokens.append(source.dialect.many)
    text = source.dialect.separator.join(tokens)
    try:
        Template(text, source)
    except TemplateError:
        return None
    return {"from": source.text, "to": text, "dialect": dialect}


@st.composite
def translated(draw: st.DrawFn, allowed: list[str] = EVERY) -> tuple[dict[str, Any], list[str]]:
    """The plain data of a table with translations, and subjects to ask it about.

    With the dialects ``PLAIN`` alone, no template calls a function.
    """
    plain = allowed == PLAIN
    dialects = st.sampled_from(allowed)
    main = draw(dialects)
    drawn = [draw(translations(draw(st.one_of(st.just(main), dialects)), not plain)) for _ in range(4)]
    rules = [rule for rule in drawn if rule is not None]
    near = [Pattern(rule["from"], rule["dialect"]) for rule in rules] or [Pattern("a", main)]
    asked = [draw(subjects(draw(st.sampled_from(near)))) for _ in range(12)]
    return {"dialect": main, "translations": rules}, asked


@st.composite
def guarded(draw: st.DrawFn) -> tuple[dict[str, Any], list[tuple[str | None, str]]]:
    """The plain data of a table with access rules, and pairs of a principal and a subject to ask it about."""
    main = draw(st.sampled_from(EVERY))
    access: dict[str, Any] = {}
    near = [Pattern("a", main)]
    for name in ("shop", "Ünsal", "desk")[: draw(st.integers(0, 3))]:
        dialect = draw(st.sampled_from([main, "zato"]))
        allowed, denied = ([draw(patterns(dialect)) for _ in range(draw(st.integers(0, 3)))] for _ in range(2))
        access[name] = {"dialect": dialect, "publish": [*map(str, allowed)], "deny": {"publish": [*map(str, denied)]}}
        if dialect == "zato" and allowed and draw(st.booleans()):
            access[name] = "\n".join(f"pub={pattern}" for pattern in allowed)
        near += allowed + denied
    names = st.sampled_from(["shop", "Ünsal", "desk", "shop", "nobody", "", None])
    asked = [(draw(names), draw(subjects(draw(st.sampled_from(near))))) for _ in range(12)]
    return ({"dialect": main, "access": access} if access or draw(st.booleans()) else {"dialect": main}), asked
