"""What nodes can say that no subject can: taken away before patterns are compared.

Seen as lists of tokens, ``**`` also matches no token at all and ``a.#`` the word ``a``; but a subject of zero tokens
exists in AMQP alone, and none of one empty token anywhere, because both would be written as the empty text. Zato's
subjects hold no ``#``, no reserved name, and no white space at their ends.
"""

from __future__ import annotations

from pointsman.patterns.dialect import Dialect
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes, One


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
