"""``outside-standard``: patterns of routes that no subject of the table's naming standard can match.

The standard is read by tokens, so it holds in every dialect: ``graph/events/node/added`` keeps to ``cim`` as
``graph.events.node.added`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pointsman.errors import NamingError, PointsmanError, SubjectError
from pointsman.patterns import Dialect, NamingStandard, Pattern, Subject
from pointsman.patterns.algebra import is_void
from pointsman.patterns.automaton import Loop, Track, lay
from pointsman.patterns.nodes import Many, One, has_glob
from pointsman.table.check.findings import Finding, Places
from pointsman.table.routing_table import RoutingTable

Words = frozenset[str] | None
"""The words that a token may be; None for any that is not empty."""


def check_naming(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The routes whose subjects, if any, are all outside the standard."""
    if table.written.naming is None:
        return
    standard = table.standards[table.written.naming.standard]
    for route in table.routes:
        pattern = route.pattern
        if not is_void(pattern.nodes, pattern.dialect) and not meets(pattern, standard):
            problem = f"no subject of the naming standard {standard.name!r} is matched by {pattern.text!r}"
            place = places.route(route, "pattern")
            yield Finding("outside-standard", f"{problem}: {_why(pattern, standard)}", route.name, place)


def _why(pattern: Pattern, standard: NamingStandard) -> str:
    """What is wrong with a pattern of one subject; for others, what the standard asks for."""
    if pattern.is_literal:
        try:
            standard.parse(standard.dialect.separator.join(pattern.dialect.split(pattern.text)))
        except NamingError as error:
            return error.problem
        except PointsmanError:
            pass
    return f"it is {standard.shape}"


def meets(pattern: Pattern, standard: NamingStandard) -> bool:
    """Whether some subject of the standard is matched by the pattern; exact, but for limits of length."""
    dialect = pattern.dialect
    track = lay(pattern.nodes, dialect.separator if has_glob(pattern.nodes) else None)
    states = _entered(track, {0})
    for number, each in enumerate(standard.fields):
        words = _words(each.vocabulary, dialect)
        if words is not None and number == 0 and dialect.hides_dollar and isinstance(pattern.nodes[0], One | Many):
            words = frozenset(word for word in words if not word.startswith("$"))
        if track.separator is not None and number:
            states = _read(track, states, track.separator)
        states = _read_token(track, states, words)
    return any(state in track.ends for state in states)


def _words(vocabulary: Iterable[str], dialect: Dialect) -> Words:
    """The words as the dialect compares them, without those that are no token of it."""
    words = list(vocabulary)
    return frozenset(dialect.fold(word) for word in words if _is_token(word, dialect)) if words else None


def _is_token(word: str, dialect: Dialect) -> bool:
    try:
        return Subject(dialect.separator.join(("x", word, "x")), dialect).tokens == ("x", word, "x")
    except SubjectError:
        return False


def _read_token(track: Track, states: set[int], words: Words) -> set[int]:
    if track.separator is None:
        if words is None:
            return _read_any(track, states)
        return {state for word in words for state in _read(track, states, word)}
    if words is None:
        reached = found = _read_any(track, states)
        while reached:
            reached = _read_any(track, reached) - found
            found = found | reached
        return found
    return {state for word in words for state in _read_characters(track, states, word)}


def _read_characters(track: Track, states: set[int], word: str) -> set[int]:
    for character in word:
        states = _read(track, states, character)
    return states


def _read(track: Track, states: set[int], symbol: str) -> set[int]:
    """The states after this token, or character."""
    moved = {
        state + 1
        for state in states
        if state < len(track.steps) and (track.steps[state] == symbol or not isinstance(track.steps[state], str))
    }
    wide = (Loop.ACROSS,) if symbol == track.separator else (Loop.ACROSS, Loop.WITHIN)
    return _entered(track, moved) | {state for state in states if track.loops[state] in wide}


def _read_any(track: Track, states: set[int]) -> set[int]:
    """The states after some token that is not empty, or some character that is no separator."""
    moved = {
        state + 1 for state in states if state < len(track.steps) and track.steps[state] not in ("", track.separator)
    }
    return _entered(track, moved) | {state for state in states if track.loops[state] is not Loop.NONE}


def _entered(track: Track, states: set[int]) -> set[int]:
    return states | {state + 1 for state in states if state in track.optional}
