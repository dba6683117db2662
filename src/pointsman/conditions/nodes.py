"""The tree of a predicate: small frozen nodes that say what is asked, apart from how it is answered.

    Node ─┬─ And, Or, Not           three-valued logic over nodes
          ├─ Is                     whether a node is TRUE, FALSE or NULL; never NULL itself
          ├─ Constant               TRUE, FALSE or NULL
          ├─ Comparison, In, Like   a field against literals
          ├─ Truth                  a field read as a boolean
          └─ Missing                whether a field is NULL; never NULL itself

A node says nothing about its place in the text, so that two texts that mean the same may have equal trees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal as OneOf

Kind = OneOf["number", "text", "boolean", "time", "null"]
Operator = OneOf["=", "<>", "<", "<=", ">", ">="]

TEXT_ROOTS = ("subject", "original_subject", "id", "source", "content_type", "correlation_id", "causation_id")
"""Fields of a message that are texts."""
ROOTS = (*TEXT_ROOTS, "time", "metadata", "body")
"""What the name of a field begins with."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: its root, and the way from there; a position in an array is a number, from 0.

    >>> str(Field("body", ("items", 0, "unit price")))
    "body.items[0]['unit price']"
    """

    root: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return self.root + "".join(_step(step) for step in self.path)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value in the text of a predicate; its kind decides how a field is read that is compared with it."""

    kind: Kind
    value: float | str | bool | datetime | None


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, or NULL, which is None."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Truth:
    """A field read as a boolean."""

    field: Field


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether the field is NULL: not there, JSON's null, or below something that is not there."""

    field: Field


@dataclass(frozen=True, slots=True)
class Comparison:
    """The field, read as the literal is, against the literal."""

    field: Field
    operator: Operator
    literal: Literal


@dataclass(frozen=True, slots=True)
class In:
    """Whether the field equals one of the literals: exactly the OR of the comparisons."""

    field: Field
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like:
    r"""The field, which must be a text, against a pattern.

    In the pattern ``_`` is any one character and ``%`` any number of them; ``\`` makes the ``_``, ``%`` or ``\`` after
    it an ordinary character and stands nowhere else, whatever the text had as its ESCAPE.
    """

    field: Field
    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Is:
    """Whether the node is TRUE, FALSE or NULL (None)."""

    operand: Node
    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    """TRUE for FALSE, FALSE for TRUE, NULL for NULL."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """FALSE if one is FALSE, else NULL if one is NULL, else TRUE."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """TRUE if one is TRUE, else NULL if one is NULL, else FALSE."""

    operands: tuple[Node, ...]


Node = And | Or | Not | Is | Constant | Comparison | In | Like | Truth | Missing


def fields_of(tree: Node) -> frozenset[Field]:
    """The fields that a tree reads."""
    found: set[Field] = set()
    waiting: list[Node] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case And(operands) | Or(operands):
                waiting.extend(operands)
            case Not(operand) | Is(operand):
                waiting.append(operand)
            case Constant():
                pass
            case _:
                found.add(node.field)
    return frozenset(found)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    return "['" + step.replace("'", "''") + "']"
