"""Conditions as they are stored: JSON in which the number of a matcher stands for it.

17                           a matcher or a number comparison
["+", [0, 17, 18], [1, 19]]  includes any of 17 and 18, excludes all of 19
["&", x, …]  ["|", x, …]  ["^", x, …]  ["!", x]   and, or, xor, not
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator
from typing import Any, TypeAlias

from pointsman.conditions import AllOf, AnyOf, Condition, ExactlyOneOf, Group, Matcher, Negated, Subscription
from pointsman.subscriptions.gates import Leaf

Tree: TypeAlias = Any
"""What JSON makes of the text: a number or a list."""
LEAF = re.compile(r"(?:(?<=,)|^)(\d+)", re.MULTILINE)
"""The number of a matcher in the text of a tree, or of several in lines; other numbers stand right after a bracket."""
_decode = json.JSONDecoder().raw_decode


def parse_tree(text: str) -> Tree:
    """What the text stands for; without what ``json.loads`` checks before, which takes longer than to read it."""
    return _decode(text)[0]


def write_tree(condition: Condition, number: Callable[[Leaf], int]) -> str:
    """The text of a condition whose leaves have these numbers.

    >>> write_tree(AllOf((Matcher("a", "1"), Negated(Matcher("a", "2")))), lambda leaf: 10 + int(leaf.pattern))
    '["&",11,["!",12]]'
    """
    match condition:
        case Subscription(includes, excludes):
            return f'["+",{_write_group(includes, number)},{_write_group(excludes, number)}]'
        case AllOf(parts):
            return f'["&",{_write_all(parts, number)}]'
        case AnyOf(parts):
            return f'["|",{_write_all(parts, number)}]'
        case ExactlyOneOf(parts):
            return f'["^",{_write_all(parts, number)}]'
        case Negated(inner):
            return f'["!",{write_tree(inner, number)}]'
        case _:
            return str(number(condition))


def read_tree(tree: Tree, leaf: Callable[[int], Leaf]) -> Condition:
    """The condition of a tree whose numbers are those of these leaves."""
    if isinstance(tree, int):
        return leaf(tree)
    sign, *parts = tree
    if sign == "+":
        includes, excludes = (_read_group(part, leaf) for part in parts)
        return Subscription(includes, excludes)
    inside = tuple(read_tree(part, leaf) for part in parts)
    if sign == "&":
        return AllOf(inside)
    if sign == "|":
        return AnyOf(inside)
    return ExactlyOneOf(inside) if sign == "^" else Negated(inside[0])


def tree_holds(tree: Tree, held: Container[int]) -> bool:
    """Whether a condition holds for a message for which the leaves of these numbers do, and no others.

    >>> tree_holds(["&", 17, ["!", 18]], {17}), tree_holds(["+", [1, 17, 18], [0, 19]], {17, 18, 19})
    (True, False)
    """
    if isinstance(tree, int):
        return tree in held
    sign = tree[0]
    if sign == "+":
        return _group_holds(tree[1], held) and not _group_holds(tree[2], held)
    if sign == "&":
        return all(tree_holds(part, held) for part in tree[1:])
    if sign == "|":
        return any(tree_holds(part, held) for part in tree[1:])
    if sign == "^":
        return sum(tree_holds(part, held) for part in tree[1:]) == 1
    return not tree_holds(tree[1], held)


def tree_numbers(tree: Tree) -> Iterator[int]:
    """The numbers of the leaves, as often as they stand there."""
    if isinstance(tree, int):
        yield tree
    elif tree[0] == "+":
        yield from tree[1][1:]
        yield from tree[2][1:]
    else:
        for part in tree[1:]:
            yield from tree_numbers(part)


def tree_includes(tree: Tree) -> list[int]:
    """The numbers of the leaves but for those of excludes, which are never gates."""
    if isinstance(tree, int):
        return [tree]
    if tree[0] == "+":
        includes: list[int] = tree[1][1:]
        return includes
    return [number for part in tree[1:] for number in tree_includes(part)]


def _write_all(parts: tuple[Condition, ...], number: Callable[[Leaf], int]) -> str:
    return ",".join([write_tree(part, number) for part in parts])


def _write_group(group: Group, number: Callable[[Leaf], int]) -> str:
    return f"[{','.join(map(str, [int(group.all), *map(number, group.matchers)]))}]"


def _read_group(part: Tree, leaf: Callable[[int], Leaf]) -> Group:
    every, *numbers = part
    matchers = [found for number in numbers if isinstance(found := leaf(number), Matcher)]
    return Group(bool(every), tuple(matchers))


def _group_holds(part: Tree, held: Container[int]) -> bool:
    if part[0]:
        return len(part) > 1 and all(number in held for number in part[1:])
    return any(number in held for number in part[1:])
