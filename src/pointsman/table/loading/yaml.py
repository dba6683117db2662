"""YAML as a tree that knows where each of its values stands.

Read as YAML 1.2, and only what is plain data: mappings with texts as keys, lists, texts, numbers, booleans and null.
Tags are refused. An alias is refused too, unless it stands for a single value, so that a short text cannot grow long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pointsman.errors import InputError

MAXIMUM_BYTES = 64 << 20
"""A larger text is refused."""
MAXIMUM_DEPTH = 64
"""Deeper nesting is refused."""
MAXIMUM_NODES = 3_000_000
"""More values are refused."""
MAXIMUM_LENGTH = 65_536
"""A longer single text is refused, so that no pattern is longer."""

PLAIN: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?")
NUMBER_BEGINS = frozenset("0123456789+-.")

Children = dict[str, "Node"] | list["Node"]


class Node:
    """A value and its place; a mapping or a list holds its own nodes."""

    __slots__ = ("children", "column", "file", "key_column", "key_line", "line", "value")

    def __init__(self, value: Any, file: str, line: int, column: int, children: Children | None = None) -> None:
        self.value = value
        self.file = file
        self.line = line
        self.column = column
        self.children = children
        self.key_line = line
        self.key_column = column

    @classmethod
    def of(cls, data: Any, file: str) -> Node:
        """The tree of plain data, all of it at the beginning of a file: the way back from ``plain``."""
        children: Children | None = None
        if isinstance(data, dict):
            children = {key: cls.of(value, file) for key, value in data.items()}
        elif isinstance(data, list):
            children = [cls.of(value, file) for value in data]
        return cls(data if children is None else None, file, 1, 1, children)

    def plain(self) -> Any:
        """The value as plain data: dicts, lists and single values."""
        children = self.children
        if children is None:
            return self.value
        if isinstance(children, dict):
            return {key: child.plain() for key, child in children.items()}
        return [child.plain() for child in children]

    def step(self, step: str | int) -> Node | None:
        """The node one step further, if there is one."""
        children = self.children
        if isinstance(children, dict):
            return children.get(step) if isinstance(step, str) else None
        if isinstance(children, list) and isinstance(step, int) and step < len(children):
            return children[step]
        return None

    def find(self, path: Iterable[str | int]) -> Node:
        """The node at a path; steps that lead nowhere are passed over."""
        node = self
        for step in path:
            node = node.step(step) or node
        return node


def read_yaml(text: str, file: str) -> Node:
    """The tree of a text. Raises ``InputError`` (``bad-yaml``, or ``yaml-limit``) with the place."""
    if len(text.encode(errors="surrogatepass")) > MAXIMUM_BYTES:
        raise InputError("yaml-limit", f"it is larger than {MAXIMUM_BYTES} bytes", file=file)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _Reader(file).read(YAML(typ="safe").parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        problem = " ".join(str(error.problem or error.context).split())
        raise InputError("bad-yaml", problem, file=file, line=line, column=column) from None
    except YAMLError as error:
        raise InputError("bad-yaml", " ".join(str(error).split()), file=file) from None


class _Reader:
    """Builds the tree from the parser's events, with a stack of its own."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def refused(self, code: str, problem: str, event: Any) -> InputError:
        mark = event.start_mark
        return InputError(code, problem, file=self.file, line=mark.line + 1, column=mark.column + 1)

    def read(self, events: Iterator[Any]) -> Node:
        stack: list[Node] = []
        keys: list[Node | None] = []
        root: Node | None = None
        for event in events:
            name = type(event).__name__
            if name in ("MappingEndEvent", "SequenceEndEvent"):
                stack.pop()
                keys.pop()
                continue
            if name == "DocumentStartEvent" and root is not None:
                raise self.refused("bad-yaml", "there is a second document", event)
            node = self.node(event, name)
            if node is None:
                continue
            if not stack:
                root = node
            else:
                self.attach(stack[-1], keys, node, event)
            if node.children is not None:
                stack.append(node)
                keys.append(None)
                if len(stack) > MAXIMUM_DEPTH:
                    raise self.refused("yaml-limit", f"it is nested deeper than {MAXIMUM_DEPTH}", event)
        return root if root is not None else Node(None, self.file, 1, 1)

    def node(self, event: Any, name: str) -> Node | None:
        """The node that an event begins, if any."""
        children: Children | None = None
        value: Any = None
        if name == "ScalarEvent":
            value = self.scalar(event)
        elif name == "MappingStartEvent":
            children = {}
        elif name == "SequenceStartEvent":
            children = []
        elif name == "AliasEvent":
            return self.alias(event)
        else:
            return None
        self.count += 1
        if self.count > MAXIMUM_NODES:
            raise self.refused("yaml-limit", f"it holds more than {MAXIMUM_NODES} values", event)
        if event.tag not in (None, "", "!"):
            raise self.refused("bad-yaml", f"the tag {event.tag} is not allowed; data has no tags", event)
        mark = event.start_mark
        node = Node(value, self.file, mark.line + 1, mark.column + 1, children)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def scalar(self, event: Any) -> Any:
        """The single value of an event."""
        text = event.value
        if len(text) > MAXIMUM_LENGTH:
            raise self.refused("yaml-limit", f"a text is longer than {MAXIMUM_LENGTH} characters", event)
        return _plain_value(text) if event.implicit[0] and not event.style else text

    def alias(self, event: Any) -> Node:
        """The value that an alias stands for, in its own place."""
        known = self.anchors.get(event.anchor)
        if known is None or known.children is not None:
            raise self.refused("bad-yaml", f"the alias *{event.anchor} does not stand for a single value", event)
        mark = event.start_mark
        return Node(known.value, self.file, mark.line + 1, mark.column + 1)

    def attach(self, parent: Node, keys: list[Node | None], node: Node, event: Any) -> None:
        """Puts a node where it belongs: into a list, or as the next key or value of a mapping."""
        children = parent.children
        if isinstance(children, list):
            children.append(node)
            return
        key = keys[-1]
        if key is not None and children is not None:
            node.key_line, node.key_column = key.line, key.column
            children[key.value] = node
            keys[-1] = None
            return
        if node.children is not None:
            raise self.refused("bad-yaml", "a key is a text, not a mapping or a list", event)
        if not isinstance(node.value, str):
            # As written: true, 1 and null are texts where they are keys.
            node.value = str(getattr(event, "value", node.value))
        if node.value == "<<":
            raise self.refused("bad-yaml", "merge keys (<<) are not allowed", event)
        if children is not None and node.value in children:
            first = children[node.value].key_line
            raise self.refused("bad-yaml", f"the key {node.value!r} is there already, in line {first}", event)
        keys[-1] = node


def _plain_value(text: str) -> Any:
    """What a text without quotes stands for in YAML 1.2; a number of too many digits is a text."""
    if text in PLAIN:
        return PLAIN[text]
    if text[0] in NUMBER_BEGINS:
        if WHOLE_NUMBER.fullmatch(text):
            return int(text)
        if NUMBER.fullmatch(text):
            return float(text)
    return text
