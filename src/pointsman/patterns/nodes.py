"""The small tree every pattern is parsed into: a sequence of literal, one, many and glob nodes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Run(Enum):
    """A wildcard for any number of characters inside a glob."""

    WITHIN = "*"
    """Stops at the separator."""
    ACROSS = "**"
    """Crosses separators."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly this token (already folded where the dialect ignores case)."""

    text: str


@dataclass(frozen=True, slots=True)
class One:
    """Any one token."""


@dataclass(frozen=True, slots=True)
class Many:
    """Any tokens, at least so many."""

    minimum: int


@dataclass(frozen=True, slots=True)
class Glob:
    """A token in parts: texts, and wildcards for characters between them. No two of a kind stand together."""

    parts: tuple[str | Run, ...]

    @property
    def crosses(self) -> bool:
        """Whether one of its wildcards crosses separators, so that it may take in several tokens."""
        return Run.ACROSS in self.parts


Node = Literal | One | Many | Glob
Nodes = tuple[Node, ...]


def has_glob(nodes: Nodes) -> bool:
    """Whether some node is a glob, so that characters and not tokens have to be compared."""
    return any(isinstance(node, Glob) for node in nodes)


def wildcards_of(node: Node) -> int:
    """How many wildcards a node holds."""
    match node:
        case Literal():
            return 0
        case Glob(parts):
            return sum(isinstance(part, Run) for part in parts)
        case _:
            return 1


def without_repeated_many(nodes: Nodes) -> Nodes:
    """The nodes with one many-wildcard in the place of several that stand together."""
    return tuple(
        node
        for node, previous in zip(nodes, (None, *nodes), strict=False)
        if not (isinstance(node, Many) and isinstance(previous, Many))
    )
