"""Where a pattern is kept in the trie, and how it gets there and away. However long it is, nothing recurses with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pointsman.matching.live_node import Leaf, TrieNode, Values
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes, One, write_nodes
from pointsman.patterns.pattern import Pattern


class Ending(Enum):
    """How a pattern ends, and where its values are kept."""

    EXACT = "exact"
    """Without a wildcard: not in the trie at all."""
    PLAIN = "ending"
    """In the field ``ending`` of its last node, or as a leaf."""
    TAIL = "tail"
    """With a many-wildcard: in the field ``tail`` of the node before it, or as a leaf."""
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
    key = write_nodes(nodes, dialect) if has_glob else dialect.fold(pattern.text)
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
    """Lets a pattern have these values, whether it was there or not; gives the number of new nodes and leaves.

    What is new is built from its end, so that attaching its top is the one step that readers see.
    """
    return _put(root, path.steps, path, pattern, values)


def _put(node: TrieNode, steps: Nodes, path: Path, pattern: Pattern, values: Values) -> int:
    """The same, from a node on the way of the pattern, with the steps that are left."""
    for depth, step in enumerate(steps):
        known = node.follow(step)
        if known is None:
            node.attach(step, _branch(steps[depth + 1 :], step, path, pattern, values))
            return len(steps) - depth
        if not isinstance(known, TrieNode):
            return _put_at_leaf(node, known, steps[depth:], path, pattern, values)
        node = known
    node.end(path.ending.value, pattern, values)
    return 0


def _put_at_leaf(above: TrieNode, leaf: Leaf, steps: Nodes, path: Path, pattern: Pattern, values: Values) -> int:
    """The same, from a leaf after the first of the steps: another leaf, or a node, takes its place."""
    new = None if len(steps) > 1 else _leaf(steps[0], path, values)
    if new is not None and type(new) is type(leaf):
        above.attach(steps[0], new)
        return 0
    node = TrieNode()
    if isinstance(leaf, tuple):
        node.ending = leaf
    else:
        node.tail = tuple(leaf)
    added = _put(node, steps[1:], path, pattern, values)
    above.attach(steps[0], node)
    return added


def _branch(steps: Nodes, step: Node, path: Path, pattern: Pattern, values: Values) -> TrieNode | Leaf:
    """What comes after a step, when nothing was there: a pattern alone, with the steps that are left."""
    last = steps[-1] if steps else step
    branch: TrieNode | Leaf | None = _leaf(last, path, values)
    if branch is None:
        branch = TrieNode()
        branch.end(path.ending.value, pattern, values)
    for each in reversed(steps):
        above = TrieNode()
        above.attach(each, branch)
        branch = above
    return branch


def _leaf(step: Node, path: Path, values: Values) -> Leaf | None:
    """The leaf after the last step of a pattern, where one will do.

    Not of a pattern that ends with a many-wildcard and has others: it may be met several times in a walk, which knows
    nodes again, but not leaves, since others take their place.
    """
    if isinstance(values, tuple) and isinstance(step, Literal | One):
        if path.ending is Ending.PLAIN:
            return values
        if path.ending is Ending.TAIL and not path.winds:
            return list(values)
    return None


def prune(root: TrieNode, path: Path, pattern: Pattern) -> int:
    """Takes away a pattern that is there, and the nodes and leaves that only it needed; gives their number.

    A reader who is on the way through them finds no pattern at their end.
    """
    way = [root]
    last = len(path.steps)
    end: TrieNode | Leaf | None = root
    for step in path.steps:
        end = way[-1].follow(step)
        if isinstance(end, TrieNode):
            way.append(end)
    if end is None:
        raise AssertionError("only a pattern that is there can be taken away")
    kept = last
    if isinstance(end, TrieNode):
        end.end(path.ending.value, pattern, None)
    else:
        kept -= 1
    while kept and way[kept].load == (0 if kept == last else 1):
        kept -= 1
    if kept < last:
        way[kept].detach(path.steps[kept])
    return last - kept
