"""What a translation does by the positions of tokens alone, so that Spark's own functions can do it."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Literal, Many, One
from pointsman.patterns.template import Template
from pointsman.patterns.template_reader import CALL, NUMBER, numbered
from pointsman.routing.translate import FunctionTemplate

DIALECTS = ("nats", "amqp", "mqtt")
"""Those whose patterns compare whole tokens as they are written."""


@dataclass(frozen=True, slots=True)
class Token:
    """The token of the subject at this place, from 0."""

    place: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The tokens of the subject from this place on."""

    place: int


@dataclass(frozen=True, slots=True)
class TemplatePlan:
    """A pattern and a template, token by token."""

    template: str
    dialect: Dialect
    literals: tuple[tuple[int, str], ...]
    """The places of the tokens that must be these texts."""
    least: int
    """How many tokens a subject has at the least."""
    is_open: bool
    """Whether it may have more."""
    hides_dollar: bool
    """Whether a subject that begins with ``$`` does not match."""
    pieces: tuple[str | Token | Rest, ...] | None
    """What the new subject is put together from; None for the subject as it is."""


def no_subject(template: str, problem: str) -> str:
    """Why a message is set aside whose new subject would be none."""
    return f"the template {template!r} makes of it what is no subject: {problem}"


def plan_template(template: Template | FunctionTemplate) -> TemplatePlan | str:
    """The plan of a template and its pattern, or a text that says why there is none."""
    if isinstance(template, FunctionTemplate):
        return f"{template.text!r} is a Python function"
    source = template.source
    dialect, nodes = source.dialect, source.nodes
    if dialect.name not in DIALECTS:
        return f"the dialect {dialect} compares in its own way"
    if any(isinstance(node, Many) for node in nodes[:-1]):
        return f"{source.text!r} has {dialect.many!r} before the end"
    tail = bool(nodes) and isinstance(nodes[-1], Many)
    front = nodes[:-1] if tail else nodes
    pieces = _pieces(template, len(front)) if template.text else None
    if isinstance(pieces, str):
        return pieces
    return TemplatePlan(
        template.text,
        dialect,
        literals=tuple((place, node.text) for place, node in enumerate(front) if isinstance(node, Literal)),
        least=len(front) + (dialect.many_minimum if tail else 0),
        is_open=tail,
        hides_dollar=dialect.hides_dollar and isinstance(nodes[0], One | Many),
        pieces=pieces,
    )


def _pieces(template: Template, tail: int) -> tuple[str | Token | Rest, ...] | str:
    """The pieces of a template that has been checked already, in the way in which ``Reader`` tells them apart."""
    source = template.source
    places = [place for place, node in enumerate(source.nodes) if not isinstance(node, Literal)]
    found: list[str | Token | Rest] = []
    tokens = template.text.split(source.dialect.separator)
    for position, token in enumerate(tokens, 1):
        call = CALL.fullmatch(token)
        if token == source.dialect.many and position == len(tokens):
            found.append(Rest(tail))
            continue
        if token.startswith("$") and NUMBER.fullmatch(token[1:]):
            number = int(token[1:])
        elif call is None:
            found.append(token)
            continue
        elif call[1].lower() == "wildcard":
            number = int(call[2])
        else:
            return f"{template.text!r} calls {call[1]}"
        wildcard = numbered(source)[number - 1]
        place = places[wildcard.place]
        found.append(Rest(place) if wildcard.many else Token(place))
    return tuple(found)
