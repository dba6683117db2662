"""A tree of nodes as nested Python closures.

A closure takes the message and a list that holds the parsed body once something has asked for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pointsman.conditions.body import read_body, walk
from pointsman.conditions.like import compile_like
from pointsman.conditions.nodes import And, Comparison, Constant, Field, In, Is, Like, Missing, Node, Not, Or, Truth
from pointsman.conditions.values import OPERATORS, READERS, boolean_of
from pointsman.message import Message

Memory = list[Any]
Value = Callable[[Message, Memory], bool | None]
Holds = Callable[[Message, Memory], bool]
Read = Callable[[Message, Memory], Any]


def compile_holds(tree: Node) -> Holds:
    """Whether the tree is TRUE; stops at the first operand that settles it."""
    if isinstance(tree, And):
        parts = [compile_holds(operand) for operand in tree.operands]
        return lambda message, memory: all(part(message, memory) for part in parts)
    if isinstance(tree, Or):
        parts = [compile_holds(operand) for operand in tree.operands]
        return lambda message, memory: any(part(message, memory) for part in parts)
    value = compile_value(tree)
    return lambda message, memory: value(message, memory) is True


def compile_value(tree: Node) -> Value:
    """What the tree is: True, False, or None for NULL."""
    match tree:
        case And(operands):
            return _settled_by(False, [compile_value(operand) for operand in operands])
        case Or(operands):
            return _settled_by(True, [compile_value(operand) for operand in operands])
        case Not(operand):
            return _negated(compile_value(operand))
        case Is(operand, wanted):
            inner = compile_value(operand)
            return lambda message, memory: inner(message, memory) is wanted
        case Constant(value):
            return lambda _message, _memory: value
        case Missing(field):
            read = compile_field(field)
            return lambda message, memory: read(message, memory) is None
        case Truth(field):
            read = compile_field(field)
            return lambda message, memory: boolean_of(read(message, memory))
        case Comparison():
            return _comparison(tree)
        case In():
            return _membership(tree)
        case Like():
            return _like(tree)


def compile_field(field: Field) -> Read:
    """The value of a field."""
    path = field.path
    if field.root == "metadata":
        key = str(path[0])
        return lambda message, _memory: message.metadata.get(key)
    if field.root == "body":

        def read(message: Message, memory: Memory) -> Any:
            if not memory:
                memory.append(read_body(message.body))
            return walk(memory[0], path)

        return read
    attribute = operator.attrgetter(field.root)
    return lambda message, _memory: attribute(message)


def _settled_by(settling: bool, parts: list[Value]) -> Value:
    """AND, settled by FALSE, and OR, settled by TRUE."""

    def value(message: Message, memory: Memory) -> bool | None:
        result: bool | None = not settling
        for part in parts:
            found = part(message, memory)
            if found is settling:
                return settling
            if found is None:
                result = None
        return result

    return value


def _negated(inner: Value) -> Value:
    def value(message: Message, memory: Memory) -> bool | None:
        found = inner(message, memory)
        return None if found is None else not found

    return value


def _comparison(node: Comparison) -> Value:
    read = compile_field(node.field)
    fit = READERS[node.literal.kind]
    compare = OPERATORS[node.operator]
    literal = node.literal.value

    def value(message: Message, memory: Memory) -> bool | None:
        found = fit(read(message, memory))
        return None if found is None else compare(found, literal)

    return value


def _membership(node: In) -> Value:
    read = compile_field(node.field)
    kinds = {literal.kind for literal in node.literals}
    sets = [
        (READERS[kind], frozenset(literal.value for literal in node.literals if literal.kind == kind)) for kind in kinds
    ]

    def value(message: Message, memory: Memory) -> bool | None:
        whole = read(message, memory)
        result: bool | None = False
        for fit, members in sets:
            found = fit(whole)
            if found is None:
                result = None
            elif found in members:
                return True
        return result

    return value


def _like(node: Like) -> Value:
    read = compile_field(node.field)
    fits = compile_like(node.pattern, node.ignore_case)

    def value(message: Message, memory: Memory) -> bool | None:
        found = read(message, memory)
        return fits(found) if type(found) is str else None

    return value
