"""A pattern in another dialect, and an honest report of what that changes.

A subject is carried from one dialect to another token by token; ``Subject.convert`` says which can be. How well a
converted pattern fits is judged over the subjects that both dialects can write: exact, wider (it matches more of
them), narrower (fewer), different (both), or refused (no pattern can be given). What cannot be carried at all is
reported apart, because no pattern can help it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pointsman.errors import PatternError, SubjectError
from pointsman.patterns.algebra import is_void
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes, One, parse_nodes, write_nodes
from pointsman.patterns.subject import Subject

if TYPE_CHECKING:
    from pointsman.patterns.pattern import Pattern


class Fit(Enum):
    """How the converted pattern compares, over the subjects that both dialects can write."""

    EXACT = "exact"
    WIDER = "wider"
    NARROWER = "narrower"
    DIFFERENT = "different"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of a pattern."""

    source: Pattern
    target: Dialect
    patterns: tuple[Pattern, ...]
    """The patterns that together stand for the source: usually one, none when it is refused."""
    fit: Fit
    changes: tuple[str, ...]
    """Why the fit is not exact."""
    not_carried: tuple[str, ...]
    """The kinds of subjects the source's dialect has and the target's has not; none for a pattern that names one."""


class _RefusedError(Exception):
    """No pattern of the target dialect will do."""


def convert(source: Pattern, target: Dialect) -> Conversion:
    """The pattern in another dialect; never raises for a pattern that cannot be carried, but says so."""
    from pointsman.patterns.pattern import Pattern

    if target == source.dialect:
        return Conversion(source, target, (source,), Fit.EXACT, (), ())
    work = _Work(source, target)
    try:
        texts = [write_nodes(nodes, target) for nodes in work.converted()]
        patterns = tuple(Pattern(text, target) for text in texts)
        if any(is_void(pattern.nodes, target) for pattern in patterns):
            raise _RefusedError(f"no {target} subject can have that text")
    except (_RefusedError, PatternError) as reason:
        problem = reason.problem if isinstance(reason, PatternError) else str(reason)
        return Conversion(source, target, (), Fit.REFUSED, (problem,), ())
    not_carried = () if source.is_literal else tuple(_not_carried(source.dialect, target))
    return Conversion(source, target, patterns, work.fit, tuple(work.changes), not_carried)


class _Work:
    def __init__(self, source: Pattern, target: Dialect) -> None:
        self.source = source
        self.target = target
        self.wider = False
        self.narrower = False
        self.changes: list[str] = []

    @property
    def fit(self) -> Fit:
        if self.wider and self.narrower:
            return Fit.DIFFERENT
        return Fit.WIDER if self.wider else Fit.NARROWER if self.narrower else Fit.EXACT

    def _widens(self, why: str) -> None:
        self.wider = True
        self.changes.append(f"wider: {why}")

    def _narrows(self, why: str) -> None:
        self.narrower = True
        self.changes.append(f"narrower: {why}")

    def converted(self) -> list[Nodes]:
        tokens = self.source.dialect.split(self.source.text)
        nodes: list[Node] = []
        for node, token in zip(self.source.nodes, tokens, strict=True):
            nodes.extend(self._node(node, token))
        if not nodes and not self.target.empty_subject:
            raise _RefusedError(f"{self.target} has no subject of zero tokens")
        placed = self._place_many(_ones_first(nodes))
        self._compare_case(placed[-1])
        self._compare_dollar()
        return placed

    def _node(self, node: Node, token: str) -> Iterator[Node]:
        match node:
            case Literal():
                yield self._literal(token)
            case Many(minimum):
                yield from [One()] * minimum
                yield Many(0)
            case Glob() if node.crosses:
                self._widens(f"{self.target} has no wildcard inside a token; any tokens stand for {token!r}")
                yield One()
                yield Many(0)
            case Glob():
                self._widens(f"{self.target} has no wildcard inside a token; any token stands for {token!r}")
                yield One()
            case One():
                yield node

    def _literal(self, token: str) -> Node:
        target = self.target
        if target.separator in token:
            raise _RefusedError(f"the token {token!r} holds the separator of {target}, {target.separator!r}")
        try:
            Subject(f"x{target.separator}{token}{target.separator}x", target)
        except SubjectError as error:
            raise _RefusedError(f"{target} has no token {token!r} ({error.code})") from None
        read = parse_nodes(f"x{target.separator}{token}", target)[-1]
        if isinstance(read, Literal):
            return Literal(token)
        self._widens(f"{target} reads the token {token!r} as a wildcard")
        return read if isinstance(read, Glob) else One()

    def _compare_case(self, nodes: Nodes) -> None:
        texts = [node.text for node in nodes if isinstance(node, Literal)]
        texts += [str(part) for node in nodes if isinstance(node, Glob) for part in node.parts]
        if not any(character.isalpha() for text in texts for character in text):
            return
        if self.target.ignores_case and not self.source.dialect.ignores_case:
            self._widens(f"{self.target} makes no difference between upper and lower case")
        if self.source.dialect.ignores_case and not self.target.ignores_case:
            self._narrows(f"{self.target} matches the case of the letters as written only")

    def _compare_dollar(self) -> None:
        first = self.source.nodes[0] if self.source.nodes else None
        leading = isinstance(first, One | Many | Glob)
        if leading and self.source.dialect.hides_dollar:
            self._widens(f"a leading wildcard of {self.target} also matches subjects that begin with '$'")
        if leading and self.target.hides_dollar and _may_begin_with_dollar(first):
            self._narrows(f"a leading wildcard of {self.target} passes over subjects that begin with '$'")

    def _place_many(self, nodes: list[Node]) -> list[Nodes]:
        """Puts the many-wildcards where the target allows them."""
        if not self.target.many_last_only or Many(0) not in nodes:
            return [tuple(nodes)]
        place = nodes.index(Many(0))
        fixed, rest = nodes[:place], nodes[place + 1 :]
        if rest:
            self._widens(
                f"{self.target} has a wildcard for many tokens in the last place only; what follows it is open"
            )
            fixed += [One() for node in rest if not isinstance(node, Many)]
        if self.target.many_minimum == 0:
            return [(*fixed, Many(0))]
        if not fixed:
            return [(Many(1),)]
        if isinstance(fixed[-1], One):
            return [(*fixed[:-1], Many(1))]
        return [tuple(fixed), (*fixed, Many(1))]


def _ones_first(nodes: list[Node]) -> list[Node]:
    """``#.*`` as ``*.#``: the same, and within reach of dialects whose many-wildcard stands last."""
    ordered: list[Node] = []
    pending = False
    for node in nodes:
        if isinstance(node, Many):
            pending = True
            continue
        if pending and not isinstance(node, One):
            ordered.append(Many(0))
            pending = False
        ordered.append(node)
    return [*ordered, Many(0)] if pending else ordered


def _may_begin_with_dollar(node: Node | None) -> bool:
    if isinstance(node, Glob):
        first = node.parts[0]
        return not isinstance(first, str) or first.startswith("$")
    return True


def _not_carried(source: Dialect, target: Dialect) -> Iterator[str]:
    """The kinds of subjects that the source can write and the target cannot."""
    if source.separator != target.separator:
        yield f"tokens that hold {target.separator!r}"
    if source.empty_subject and not target.empty_subject:
        yield "the subject of zero tokens"
    if source.empty_tokens and not target.empty_tokens:
        yield "empty tokens"
    if " " in target.forbidden and " " not in source.forbidden:
        yield "white space"
    if "\0" in target.forbidden and "\0" not in source.forbidden:
        yield "the NUL character"
    extra = target.forbidden_in_subject - source.forbidden_in_subject
    if extra:
        yield f"the character{'s' if len(extra) > 1 else ''} " + " and ".join(map(repr, sorted(extra)))
    if target.forbidden_tokens - source.forbidden_tokens:
        yield "tokens that are a wildcard of " + target.name
    if target.ascii_only and not source.ascii_only:
        yield "characters that are not ASCII"
    if not target.white_space_at_ends and " " not in source.forbidden:
        yield "white space at the ends"
    if target.reserved and not source.reserved:
        yield "the names " + " and ".join(repr(name) for name in target.reserved)
    if target.maximum_bytes and (not source.maximum_bytes or source.maximum_bytes > target.maximum_bytes):
        yield f"subjects of more than {target.maximum_bytes} bytes"
