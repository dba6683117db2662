"""Containment and intersection of patterns, exact in every dialect.

Length limits are no part of the algebra: two patterns whose only common subjects would be too long still intersect.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise, product

from pointsman.errors import LimitError
from pointsman.patterns.automaton import ONE, Automaton, Loop, Positional, Step, Track, lay
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes, One, Run, has_glob


def is_void(nodes: Nodes, dialect: Dialect) -> bool:
    """Whether no subject can ever match, because every match would hold what a subject may not."""
    texts = [text for node in nodes for text in _texts(node)]
    if any(not dialect.forbidden_in_subject.isdisjoint(text) for text in texts):
        return True
    if any(name in text for text in texts for name in dialect.reserved):
        return True
    return not dialect.white_space_at_ends and bool(nodes) and (_begins_blank(nodes[0]) or _ends_blank(nodes[-1]))


def realizable(nodes: Nodes, dialect: Dialect) -> list[Nodes]:
    """Nodes that match the same subjects, and no list of tokens that is not one.

    More than one when it takes several: ``#..#``, an empty word anywhere, is made of *a word, then that* and
    *that, then a word*.
    """
    if is_void(nodes, dialect):
        return []
    single = [node for node in nodes if not isinstance(node, Many)]
    if not single and nodes and not dialect.empty_subject:
        return [(One(), Many(0))]
    if single == [Literal("")]:
        place = nodes.index(Literal(""))
        before, after = nodes[:place], nodes[place + 1 :]
        longer = []
        if before:
            longer.append((One(), *nodes))
        if after:
            longer.append((*before, Literal(""), One(), *after))
        return longer
    if not dialect.white_space_at_ends:
        nodes = _without_blank_ends(nodes)
    return [nodes]


def _without_blank_ends(nodes: Nodes) -> Nodes:
    """A leading or trailing many-wildcard beside a blank cannot stand for nothing: the blank would be at the end."""
    if isinstance(nodes[0], Many) and any(
        _begins_blank(node) for node in nodes[: _count_many(nodes) + 1] if not isinstance(node, Many)
    ):
        nodes = (One(), *nodes)
    backwards = nodes[::-1]
    if isinstance(nodes[-1], Many) and any(
        _ends_blank(node) for node in backwards[: _count_many(backwards) + 1] if not isinstance(node, Many)
    ):
        nodes = (*nodes, One())
    return nodes


def _count_many(nodes: Nodes) -> int:
    """How many many-wildcards the nodes begin with."""
    return next((index for index, node in enumerate(nodes) if not isinstance(node, Many)), len(nodes))


def _texts(node: Node) -> list[str]:
    match node:
        case Literal(text):
            return [text]
        case Glob(parts):
            return [part for part in parts if isinstance(part, str)]
        case _:
            return []


def _begins_blank(node: Node) -> bool:
    match node:
        case Literal(text):
            return text[:1].isspace()
        case Glob(parts):
            return isinstance(parts[0], str) and parts[0][0].isspace()
        case _:
            return False


def _ends_blank(node: Node) -> bool:
    match node:
        case Literal(text):
            return text[-1:].isspace()
        case Glob(parts):
            return isinstance(parts[-1], str) and parts[-1][-1].isspace()
        case _:
            return False


# A pattern written backwards as a chain (symbol, rest), so that many can share one ending.
Chain = tuple["str | Step | Loop", "Chain"] | None
Cell = tuple[int, int]

ENDINGS_LIMIT = 100
"""How many endings of patterns may be kept at once on the way to an intersection: it bounds the time it takes."""


def walker(nodes: Nodes, dialect: Dialect, separator: str | None) -> Automaton | Positional:
    """What walks the track of these nodes."""
    track = lay(nodes, separator)
    if dialect.many_last_only:
        return Positional(track)
    return Automaton(track.saturated())


def contains(wide: Nodes, narrow: Nodes, dialect: Dialect) -> bool:
    """Whether every subject that ``narrow`` matches is matched by ``wide``."""
    parts = realizable(narrow, dialect)
    if not parts:
        return True
    if is_void(wide, dialect) or _hides(wide, narrow, dialect):
        return False
    separator = _level(wide, narrow, dialect)
    wide_walker = walker(wide, dialect, separator)
    return all(wide_walker.covers(lay(part, separator)) for part in parts)


def intersects(left: Nodes, right: Nodes, dialect: Dialect) -> bool:
    """Whether some subject is matched by both."""
    return any(_reachable(*pair) for pair in _pairs(left, right, dialect))


def intersection(left: Nodes, right: Nodes, dialect: Dialect, limit: int) -> list[Nodes]:
    """Patterns that together match what both match, none of them within another."""
    found: list[Nodes] = []
    for pair in _pairs(left, right, dialect):
        found.extend(_read_chain(chain, pair[0].separator) for chain in _Product(*pair, dialect, limit).chains())
    found = [nodes for nodes in found if not is_void(nodes, dialect)]
    joined = _widest(_joined(_widest(found, dialect, limit)), dialect, limit)
    return joined if dialect.many_minimum == 0 else [_with_minimum(nodes) for nodes in joined]


def _with_minimum(nodes: Nodes) -> Nodes:
    """NATS: its one many-wildcard stands last and for one token at the least."""
    return (*nodes[:-2], Many(1)) if nodes[-1] == Many(0) else nodes


def _pairs(left: Nodes, right: Nodes, dialect: Dialect) -> Iterator[tuple[Track, Track]]:
    if _hides(left, right, dialect) or _hides(right, left, dialect):
        return
    separator = _level(left, right, dialect)
    for one, other in product(realizable(left, dialect), realizable(right, dialect)):
        pair = lay(one, separator), lay(other, separator)
        # By characters, saturated tracks meet in fewer and shorter patterns; by tokens, in longer ones.
        yield pair if separator is None else (pair[0].saturated(), pair[1].saturated())


def _level(left: Nodes, right: Nodes, dialect: Dialect) -> str | None:
    """The separator, if characters have to be compared; None if tokens are enough."""
    return dialect.separator if has_glob(left) or has_glob(right) else None


def _hides(wide: Nodes, narrow: Nodes, dialect: Dialect) -> bool:
    """MQTT: a leading wildcard passes over subjects that begin with ``$``."""
    return (
        dialect.hides_dollar
        and isinstance(wide[0], One | Many)
        and isinstance(narrow[0], Literal)
        and narrow[0].text.startswith("$")
    )


def _moves(left: Track, right: Track, cell: Cell) -> Iterator[tuple[str | Step, Cell]]:
    """What both tracks can consume together from here, and where that leads."""
    i, j = cell
    mine = left.steps[i] if i < len(left.steps) else None
    yours = right.steps[j] if j < len(right.steps) else None
    if mine is not None and yours is not None and (mine == yours or mine is ONE or yours is ONE):
        yield from _entered(left, right, yours if mine is ONE else mine, (i + 1, j + 1))
    if mine is not None and _admits(right, j, mine):
        yield from _entered(left, None, mine, (i + 1, j))
    if yours is not None and _admits(left, i, yours):
        yield from _entered(None, right, yours, (i, j + 1))


def _admits(track: Track, state: int, symbol: str | Step) -> bool:
    loop = track.loops[state]
    return loop is Loop.ACROSS or (loop is Loop.WITHIN and symbol != track.separator)


def _entered(
    left: Track | None, right: Track | None, symbol: str | Step, cell: Cell
) -> Iterator[tuple[str | Step, Cell]]:
    """The cells reached on entering one: whoever enters an optional block passes over it as well."""
    i, j = cell
    rows = (i, i + 1) if left is not None and i in left.optional else (i,)
    columns = (j, j + 1) if right is not None and j in right.optional else (j,)
    for row, column in product(rows, columns):
        yield symbol, (row, column)


def _starts(left: Track, right: Track) -> list[Cell]:
    return [cell for _, cell in _entered(left, right, ONE, (0, 0))]


def _is_end(left: Track, right: Track, cell: Cell) -> bool:
    return cell[0] in left.ends and cell[1] in right.ends


def _cells(left: Track, right: Track) -> set[Cell]:
    """Every pair of states that the two tracks can be in after the same symbols."""
    seen = set(_starts(left, right))
    waiting = list(seen)
    while waiting:
        for _, cell in _moves(left, right, waiting.pop()):
            if cell not in seen:
                seen.add(cell)
                waiting.append(cell)
    return seen


def _reachable(left: Track, right: Track) -> bool:
    return any(_is_end(left, right, cell) for cell in _cells(left, right))


class _Product:
    """Both tracks at once: each walk through the product, read as a pattern, is a part of the intersection."""

    def __init__(self, left: Track, right: Track, dialect: Dialect, limit: int) -> None:
        self.left = left
        self.right = right
        self.dialect = dialect
        self.limit = limit

    def chains(self) -> list[Chain]:
        """The endings from each cell, last cells first; those from the starts are the whole."""
        endings: dict[Cell, list[Chain]] = {}
        for cell in sorted(_cells(self.left, self.right), key=sum, reverse=True):
            endings[cell] = self._endings(cell, endings)
        return [chain for start in _starts(self.left, self.right) for chain in endings[start]]

    def _endings(self, cell: Cell, endings: dict[Cell, list[Chain]]) -> list[Chain]:
        chains: list[Chain] = [None] if _is_end(self.left, self.right, cell) else []
        for symbol, following in _moves(self.left, self.right, cell):
            chains.extend((symbol, rest) for rest in endings[following])
        loop = min(self.left.loops[cell[0]], self.right.loops[cell[1]])
        if loop is not Loop.NONE:
            chains = [(loop, chain) for chain in chains]
        if len(chains) < 2:
            return chains
        written = {_read_chain(chain, self.left.separator): chain for chain in chains}
        return [written[nodes] for nodes in _widest(list(written), self.dialect, max(self.limit, ENDINGS_LIMIT))]


def _widest(found: list[Nodes], dialect: Dialect, limit: int) -> list[Nodes]:
    """Those that are not within another one."""
    kept: list[Nodes] = []
    for nodes in dict.fromkeys(found):
        if not any(_covers(other, nodes, dialect) for other in kept):
            kept = [other for other in kept if not _covers(nodes, other, dialect)]
            kept.append(nodes)
        if len(kept) > limit:
            raise LimitError("intersection-too-large", f"the intersection takes more than {limit} patterns")
    return kept


def _covers(wide: Nodes, narrow: Nodes, dialect: Dialect) -> bool:
    """Containment of what the nodes say, be it a subject or only the ending of one."""
    separator = _level(wide, narrow, dialect)
    return Automaton(lay(wide, separator).saturated()).covers(lay(narrow, separator))


def _joined(found: list[Nodes]) -> list[Nodes]:
    """``x.*.**.y`` and ``x.y`` together are ``x.**.y``."""
    joined = list(found)
    for nodes in found:
        for place, pair in enumerate(pairwise(nodes)):
            if pair != (One(), Many(0)):
                continue
            shorter = (*nodes[:place], *nodes[place + 2 :])
            if shorter in joined and nodes in joined:
                joined.remove(shorter)
                joined[joined.index(nodes)] = (*nodes[:place], *nodes[place + 1 :])
    return joined


def _read_chain(chain: Chain, separator: str | None) -> Nodes:
    symbols: list[str | Step | Loop] = []
    while chain is not None:
        symbol, chain = chain
        symbols.append(symbol)
    if separator is None:
        return tuple(_token_nodes(symbols))
    return tuple(_segment_nodes(symbols, separator))


def _token_nodes(symbols: list[str | Step | Loop]) -> Iterator[Node]:
    for symbol in symbols:
        match symbol:
            case Loop():
                yield Many(0)
            case Step():
                yield One()
            case _:
                yield Literal(symbol)


def _segment_nodes(symbols: list[str | Step | Loop], separator: str) -> Iterator[Node]:
    segments: list[list[str | Run]] = [[]]
    for symbol in symbols:
        match symbol:
            case Loop():
                segments[-1].append(Run.ACROSS if symbol is Loop.ACROSS else Run.WITHIN)
            case _ if symbol == separator:
                segments.append([])
            case str():
                segments[-1].append(symbol)
    for segment in segments:
        yield from _segment(list(_with_whole_texts(segment)))


def _with_whole_texts(parts: list[str | Run]) -> Iterator[str | Run]:
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        if is_text:
            yield "".join(str(character) for character in group)
        else:
            yield from group


def _segment(parts: list[str | Run]) -> Iterator[Node]:
    match parts:
        case []:
            yield Literal("")
        case [Run.WITHIN]:
            yield One()
        case [Run.ACROSS]:
            yield One()
            yield Many(0)
        case [str() as text]:
            yield Literal(text)
        case _:
            yield Glob(tuple(parts))
