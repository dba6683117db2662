"""Where a pattern is kept in the trie, and how it gets there and away. No function here recurses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pointsman.matching.live_node import TrieNode, Values
from pointsman.patterns.nodes import Glob, Literal, Many, Nodes
from pointsman.patterns.parse import write
from pointsman.patterns.pattern import Pattern


class Ending(Enum):
    """How a pattern ends, and where its values are kept."""

    EXACT = "exact"
    """Without a wildcard: not in the trie at all."""
    PLAIN = "ending"
    """In the field ``ending`` of its last node."""
    TAIL = "tail"
    """With a many-wildcard: in the field ``tail`` of the node before it."""
    WHOLE = "whole"
    """With a glob across separators somewhere: in the field ``whole`` of the node after its literal beginning."""


@dataclass(frozen=True, slots=True)
class Path:
    """Where a pattern is kept."""

    key: str
    """Alike for patterns of the same tokens, and for no others."""
    steps: Nodes
    """The way to the node."""
    ending: Ending
    has_glob: bool
    winds: bool
    """Whether only ``walk_freely`` finds it."""


def path_of(pattern: Pattern) -> Path:
    """The path of a pattern."""
    nodes, dialect = pattern.nodes, pattern.dialect
    kinds = {type(node) for node in nodes}
    has_glob = Glob in kinds
    # A glob is written anew, for ``a***b`` is ``a**b``.
    key = write(nodes, dialect) if has_glob else dialect.fold(pattern.text)
    steps, ending = nodes, Ending.PLAIN
    if has_glob and any(isinstance(node, Glob) and node.crosses for node in nodes):
        steps, ending = literal_beginning(nodes), Ending.WHOLE
    elif kinds <= {Literal}:
        ending = Ending.EXACT
    elif isinstance(nodes[-1], Many):
        steps, ending = nodes[:-1], Ending.TAIL
    winds = has_glob or (Many in kinds and any(isinstance(step, Many) for step in steps))
    return Path(key, steps, ending, has_glob, winds)


def literal_beginning(nodes: Nodes) -> tuple[Literal, ...]:
    """The literal tokens that a pattern begins with."""
    found = []
    for node in nodes:
        if not isinstance(node, Literal):
            break
        found.append(node)
    return tuple(found)


def put(root: TrieNode, path: Path, pattern: Pattern, values: Values) -> int:
    """Lets a pattern have these values, whether it was there or not; gives the number of new nodes.

    What is new is built from its end, so that attaching its top is the one step that readers see.
    """
    node, depth = root, 0
    while depth < len(path.steps) and (known := node.follow(path.steps[depth])) is not None:
        node, depth = known, depth + 1
    if depth == len(path.steps):
        node.end(path.ending.value, pattern, values)
        return 0
    branch = TrieNode()
    branch.end(path.ending.value, pattern, values)
    for step in reversed(path.steps[depth + 1 :]):
        above = TrieNode()
        above.attach(step, branch)
        branch = above
    node.attach(path.steps[depth], branch)
    return len(path.steps) - depth


def prune(root: TrieNode, path: Path, pattern: Pattern) -> int:
    """Takes away a pattern that is there, and the nodes that only it needed; gives their number.

    A reader who is on the way through them finds no pattern at their end.
    """
    way = [root]
    for step in path.steps:
        node = way[-1].follow(step)
        if node is None:
            raise AssertionError("only a pattern that is there can be taken away")
        way.append(node)
    way[-1].end(path.ending.value, pattern, None)
    last = kept = len(path.steps)
    while kept and way[kept].load == (0 if kept == last else 1):
        kept -= 1
    if kept < last:
        way[kept].detach(path.steps[kept])
    return last - kept
