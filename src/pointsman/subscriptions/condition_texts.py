"""Conditions as JSON text, straight from what is stored: many at a time, without making them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence

import apsw

from pointsman._util import json_text
from pointsman.conditions import write_condition
from pointsman.subscriptions import statements
from pointsman.subscriptions.control import Reader
from pointsman.subscriptions.leaf_rows import row_leaf
from pointsman.subscriptions.trees import LEAF, Tree

MOST_CHARACTERS = 32 << 20
"""Of the texts of matchers that are kept for the next conditions."""
MOST_SHAPES = 10_000
"""Forms of conditions that are kept likewise."""
_SIGNS = {"&": "and", "|": "or", "^": "xor"}


class ConditionTexts:
    """Makes JSON texts of stored conditions; matchers that several have are read once.

    A number is never that of another matcher, so that texts may be kept from one transaction to the next.
    """

    def __init__(self) -> None:
        self._leaves: dict[str, str] = {}
        self._characters = 0
        self._shapes: dict[str, str] = {}

    def of(self, trees: Sequence[str], connection: Reader) -> list[str]:
        """The texts of conditions that ``write_tree`` has written, in their order."""
        if not trees:
            return []
        # All at once, which spares Python a step for each of them: no tree and no JSON text holds a line's end.
        parts = LEAF.split("\n".join(trees))
        numbers, shapes = parts[1::2], "%s".join(parts[::2]).split("\n")
        self._read_leaves(set(numbers), connection)
        self._read_shapes(set(shapes))
        forms = "\n".join(map(self._shapes.__getitem__, shapes))
        return (forms % tuple(map(self._leaves.__getitem__, numbers))).split("\n")

    def _read_leaves(self, numbers: set[str], connection: Reader) -> None:
        if self._characters > MOST_CHARACTERS:
            self._leaves.clear()
            self._characters = 0
        needed = array("q", sorted(map(int, numbers.difference(self._leaves))))
        if not needed:
            return
        texts = connection.execute(statements.MATCHERS_WRITTEN, (apsw.carray(needed),)).fetchall()
        if len(texts) < len(needed):
            comparisons = connection.execute(statements.COMPARISONS_READ, (apsw.carray(needed),))
            texts += [
                (str(number), json_text.compact(write_condition(row_leaf(*row))).decode())
                for number, *row in comparisons
            ]
        self._leaves.update(texts)
        self._characters += sum([len(text) for _, text in texts])

    def _read_shapes(self, shapes: set[str]) -> None:
        """The forms of shapes: JSON in which ``%s`` stands for each matcher, in their order."""
        if len(self._shapes) > MOST_SHAPES:
            self._shapes.clear()
        for shape in shapes.difference(self._shapes):
            self._shapes[shape] = _form(json.loads(shape.replace("%s", '"%s"')))


def _form(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    sign, *parts = tree
    if sign == "+":
        includes, excludes = parts
        without = "" if excludes == [0] else f',"excludes":{_group(excludes)}'
        return f'{{"includes":{_group(includes)}{without}}}'
    if sign == "!":
        return f'{{"not":{_form(parts[0])}}}'
    return f'{{"{_SIGNS[sign]}":[{",".join(map(_form, parts))}]}}'


def _group(part: Tree) -> str:
    every, *matchers = part
    how = '"all":true,' if every else ""
    return f'{{{how}"matchers":[{",".join(matchers)}]}}'
