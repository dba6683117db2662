"""One pattern against one subject."""

from __future__ import annotations

from collections.abc import Callable

from pointsman.patterns.automaton import Automaton
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Many, Nodes, One, has_glob
from pointsman.patterns.positional import Positional
from pointsman.patterns.subject import Subject
from pointsman.patterns.track import lay

Matcher = Callable[[Subject], bool]


def make_matcher(nodes: Nodes, dialect: Dialect) -> Matcher:
    """The fastest way to ask whether a subject of the dialect is matched: by position, by tokens or by characters."""
    if has_glob(nodes):
        by_characters = Automaton(lay(nodes, dialect.separator)).accepts
        return lambda subject: by_characters(subject.folded)
    track = lay(nodes, None)
    accepts = Positional(track).accepts if Positional.fits(track) else Automaton(track).accepts
    if dialect.ignores_case:
        return lambda subject: accepts(dialect.split(subject.folded))
    if dialect.hides_dollar and isinstance(nodes[0], One | Many):
        return lambda subject: not subject.text.startswith("$") and accepts(subject.tokens)
    return lambda subject: accepts(subject.tokens)
