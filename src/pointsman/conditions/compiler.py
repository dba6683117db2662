"""A predicate's tree as nested Python closures, with the three-valued logic of SQL.

Also here: values and how they compare, the body as JSON (parsed within limits, walked by paths), and LIKE.
"""

from __future__ import annotations

import json
import math
import operator
import re
import string
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from pointsman._util.json_text import is_nested_within
from pointsman.conditions.nodes import And, Comparison, Constant, Field, In, Is, Like, Missing, Node, Not, Or, Truth
from pointsman.message import Message

_INFINITE = float("inf")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch


def number_of(value: object) -> float | None:
    """The value as the nearest 64-bit float: numbers, and texts that are exactly one as JSON writes it.

    A number too large for a float is unfit.

    >>> number_of("10"), number_of("-2.5e3"), number_of("010"), number_of(" 1"), number_of("1e999"), number_of(True)
    (10.0, -2500.0, None, None, None, None)
    """
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    if type(value) is not str:
        return value if type(value) is float else None
    if _JSON_NUMBER(value) is None:
        return None
    number = float(value)
    return number if -_INFINITE < number < _INFINITE else None


def text_of(value: object) -> str | None:
    """The value as a text: texts only."""
    return value if type(value) is str else None


def boolean_of(value: object) -> bool | None:
    """The value as a boolean: booleans, and the texts ``true`` and ``false``."""
    if type(value) is str:
        return True if value == "true" else False if value == "false" else None
    return value if type(value) is bool else None


def time_of(value: object) -> datetime | None:
    """The value as a time: times only."""
    return value if isinstance(value, datetime) else None


def _nothing(_: object) -> None:
    return None


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"number": number_of, "text": text_of, "boolean": boolean_of, "time": time_of, "null": _nothing}
)
"""The reader of each kind of literal; it gives None for a value that is unfit."""

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "=": operator.eq,
        "<>": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
"""What each operator asks of two values of one kind; texts are ordered by their code points."""


# -- the body of a message as JSON, for predicates: parsed within limits, walked by paths


MAX_BODY_BYTES = 4 * 1024 * 1024
"""A longer body is not read."""
MAX_DIGITS = 4000
"""A whole number of more digits is read as a float, which is infinite; Python refuses to make an int of much more."""
MAX_BODY_NESTING = 100
"""A body with objects and arrays nested deeper is not read."""


def read_body(body: bytes) -> Any:
    """The JSON value of a body; None for a body that is not JSON, or beyond the limits.

    Whole numbers are ints of any size, others 64-bit floats.

    JSON is that of RFC 8259 in UTF-8, without NaN. If an object has a key twice, the last one counts.

    >>> read_body(b'{"amount": 5}'), read_body(b"five"), read_body(b'{"a": 1, "a": 2}')
    ({'amount': 5}, None, {'a': 2})
    """
    if len(body) > MAX_BODY_BYTES:
        return None
    try:
        value = _decoder.decode(body)
    except (ValueError, RecursionError):
        # What msgspec refuses and JSON allows: floats that are infinite, very large integers, lone surrogates.
        try:
            value = _slow_decoder.decode(body.decode())
        except (ValueError, RecursionError):
            return None
    if body.count(b"[") + body.count(b"{") > MAX_BODY_NESTING and not is_nested_within(value, MAX_BODY_NESTING):
        return None
    return value


def walk(value: Any, path: tuple[str | int, ...]) -> Any:
    """What is found along a path; None where the way ends.

    A text that UTF-8 cannot write, and a number too large for a float, are None as well.

    >>> walk({"items": [{"price": 2.0}]}, ("items", 0, "price")), walk({"items": []}, ("items", 0))
    (2.0, None)
    """
    for step in path:
        if isinstance(step, str):
            if type(value) is not dict:
                return None
            value = value.get(step)
        elif type(value) is list and step < len(value):
            value = value[step]
        else:
            return None
    if type(value) is str:
        return value if value.isascii() or _is_writable(value) else None
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is int:
        return value if number_of(value) is not None else None
    return value


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _whole_number(text: str) -> int | float:
    return int(text) if len(text) <= MAX_DIGITS else float(text)


_decoder = msgspec.json.Decoder()
_slow_decoder = json.JSONDecoder(parse_constant=_reject_constant, parse_int=_whole_number)


# -- patterns of LIKE: ``_`` is any one character, ``%`` any number of them; a character is a Unicode code point
#
# No pattern can make the work grow beyond pattern times text over 64.


ESCAPE = "\\"
"""What the patterns of ``Like`` nodes are written with."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def with_backslashes(pattern: str, escape: str | None) -> str:
    r"""The pattern as ``Like`` nodes write it, from one with another escape character or with none.

    Raises ``ValueError`` where the escape character is not followed by itself, ``_`` or ``%``.

    >>> with_backslashes("50!%_", "!"), with_backslashes("a\\b%", None)
    ('50\\%_', 'a\\\\b%')
    """
    written = []
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            sign = next(signs, "")
            if sign not in ("_", "%", escape):
                raise ValueError(f"the escape character {escape!r} stands before neither '_', '%' nor itself")
            written.append(ESCAPE + sign if sign in ("_", "%", ESCAPE) else sign)
        else:
            written.append(ESCAPE + sign if sign == ESCAPE else sign)
    return "".join(written)


def compile_like(pattern: str, ignore_case: bool = False) -> Callable[[str], bool]:
    r"""Whether a whole text fits the pattern of a ``Like`` node; case is that of the 26 ASCII letters.

    >>> fits = compile_like("50\\%%", ignore_case=True)
    >>> fits("50% OFF"), fits("500")
    (True, False)
    """
    fits = _compile(lower(pattern) if ignore_case else pattern)
    if ignore_case:
        return lambda text: fits(lower(text))
    return fits


def lower(text: str) -> str:
    """The text with its ASCII letters in lower case."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def pieces(pattern: str) -> list[str | None]:
    """The pattern sign by sign: ``_`` as None, ``%`` as the empty text, any other character as itself."""
    signs = iter(pattern)
    return [next(signs) if sign == ESCAPE else None if sign == "_" else "" if sign == "%" else sign for sign in signs]


def _compile(pattern: str) -> Callable[[str], bool]:
    signs = pieces(pattern)
    if None in signs:
        return _with_any_one(signs)
    parts = [""]
    for sign in signs:
        if sign:
            parts[-1] += sign
        else:
            parts.append("")
    return _in_order(parts)


def _in_order(parts: list[str]) -> Callable[[str], bool]:
    """Texts that begin with the first part, end with the last, and have the others between in their order."""
    if len(parts) == 1:
        return parts[0].__eq__
    first, *middle, last = parts

    def fits(text: str) -> bool:
        end = len(text) - len(last)
        if end < len(first) or not text.startswith(first) or not text.endswith(last):
            return False
        place = len(first)
        for part in middle:
            place = text.find(part, place, end)
            if place < 0:
                return False
            place += len(part)
        return True

    return fits


def _with_any_one(signs: list[str | None]) -> Callable[[str], bool]:
    """The pattern as a row of states, kept as the bits of one number that moves along the text."""
    takes: defaultdict[str, int] = defaultdict(int)
    any_one = loops = states = 0
    for sign in signs:
        if sign == "":
            loops |= 1 << states
            continue
        states += 1
        if sign is None:
            any_one |= 1 << states
        else:
            takes[sign] |= 1 << states
    masks = {sign: mask | any_one for sign, mask in takes.items()}

    def fits(text: str) -> bool:
        live = 1
        for character in text:
            live = (live << 1 & masks.get(character, any_one)) | (live & loops)
            if not live:
                return False
        return bool(live >> states & 1)

    return fits


# -- A tree of nodes as nested Python closures
#
# A closure takes the message and a list that holds the parsed body once something has asked for it.


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
