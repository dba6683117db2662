"""Generated predicates, as tuples and as texts, and messages that they are likely to be about."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from pointsman.message import Message

NUMBER_LIKE = [
    "0",
    "10",
    "-2.5",
    "1e2",
    "010",
    " 1",
    "1 ",
    "+1",
    ".5",
    "5.",
    "1e999",
    "-0",
    "Infinity",
    "NaN",
    "0x1",
    "1_0",
]
WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "A",
    "aB",
    "EU",
    "ä",
    "Ä",
    "\U0001f600",
    "%",
    "_",
    "a%",
    "\\",
    "true",
    "false",
    "null",
    "'",
]

texts = st.sampled_from(WORDS + NUMBER_LIKE) | st.text("ab%_\\A", max_size=5)
numbers = st.sampled_from([0, 1, 10, -2.5, 100, 0.5, 2**53, 2**53 + 1]) | st.integers(-12, 12)
literals = st.one_of(texts, numbers, st.booleans(), st.none())

FIELDS: dict[str, tuple[Any, ...]] = {
    "subject": ("subject",),
    '"source"': ("source",),
    "content_type": ("content_type",),
    "causation_id": ("causation_id",),
    "metadata['a']": ("metadata", "a"),
    "metadata.b": ("metadata", "b"),
    "metadata['it''s']": ("metadata", "it's"),
    "body": ("body",),
    "body.a": ("body", "a"),
    "body.select": ("body", "select"),
    "body[0]": ("body", 0),
    "body['a'].b[1]": ("body", "a", "b", 1),
    'body.a."b"': ("body", "a", "b"),
}
fields = st.sampled_from(list(FIELDS.values()))
TEXT_OF = {field: text for text, field in FIELDS.items()}
operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def _likes(draw: st.DrawFn) -> tuple[Any, ...]:
    escape = draw(st.sampled_from([None, "\\", "!", "%"]))
    parts = (
        ["%", "_", "a", "B", "ab", "ä"] if escape is None else ["a", "b", "_", escape * 2, escape + "%", escape + "_"]
    )
    pattern = "".join(draw(st.lists(st.sampled_from(parts), max_size=6)))
    return ("like", draw(fields), pattern, escape, draw(st.booleans()))


leaves = st.one_of(
    st.tuples(st.just("compare"), fields, operators, literals, st.booleans()),
    st.tuples(st.just("in"), fields, st.lists(literals, min_size=1, max_size=4)),
    st.tuples(st.just("between"), fields, literals, literals),
    st.tuples(st.just("null"), fields),
    st.tuples(st.just("bare"), fields),
    st.tuples(st.just("constant"), st.sampled_from([True, False, None])),
    _likes(),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("is"), inner, st.sampled_from([True, False, None])),
    ),
    max_leaves=6,
)

_json = st.recursive(
    literals,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "select"]), inner, max_size=3)
    ),
    max_leaves=6,
)
bodies = st.one_of(
    _json.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([b"", b"text", b"\xff", b'{"a":', b'{"a": 9007199254740993}', b'{"a": 1e400}']),
)
messages = st.builds(
    Message,
    texts,
    bodies,
    source=texts,
    metadata=st.dictionaries(st.sampled_from(["a", "b", "it's"]), texts, max_size=3),
    content_type=st.none() | texts,
    causation_id=st.none() | texts,
)


def render(tree: tuple[Any, ...]) -> str:
    """The predicate as SQL."""
    kind, *rest = tree
    if kind in ("and", "or"):
        return f" {kind.upper()} ".join(f"({render(part)})" for part in rest[0])
    if kind == "not":
        return f"NOT ({render(rest[0])})"
    if kind == "is":
        return f"({render(rest[0])}) IS {written(rest[1])}"
    if kind == "constant":
        return written(rest[0])
    field = TEXT_OF[rest[0]]
    if kind == "null":
        return f"{field} is null"
    if kind == "bare":
        return field
    if kind == "compare":
        _, operator, literal, turned = rest
        exchanged = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
        return f"{written(literal)} {exchanged} {field}" if turned else f"{field}{operator}{written(literal)}"
    if kind == "in":
        return f"{field} IN ({', '.join(map(written, rest[1]))})"
    if kind == "between":
        return f"{field} between {written(rest[1])} AND {written(rest[2])}"
    _, pattern, escape, ignore_case = rest
    ending = "" if escape is None else f" ESCAPE {written(escape)}"
    return f"{field} {'ILIKE' if ignore_case else 'LIKE'} {written(pattern)}{ending}"


def written(literal: Any) -> str:
    """A literal as SQL."""
    if isinstance(literal, str):
        return "'" + literal.replace("'", "''") + "'"
    return "NULL" if literal is None else str(literal).upper()
