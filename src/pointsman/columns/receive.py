"""JSON lines as Arrow columns: the stage receive for a whole column of lines.

``read_received`` is the definition of what a line means. Most lines are read by msgspec instead, several times faster,
if that certainly gives the same; all others, among them every line with an error, are read by the definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import UNSET, UnsetType

from pointsman._util.json_text import is_nested_within
from pointsman.errors import MessageError
from pointsman.table.tools.messages_file import (
    LARGEST_POSITION,
    NO_NAMES,
    POSITION,
    PRINCIPAL,
    TOO_LONG,
    Received,
    read_received,
)

STAGE = "receive"
PROBLEM = pa.struct([("stage", pa.string()), ("code", pa.string()), ("reason", pa.string())])
TEXTS = ("subject", "id", "source", "correlation_id", "causation_id", "content_type")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("time", pa.timestamp("us", tz="UTC")),
        (PRINCIPAL, pa.string()),
        (POSITION, pa.int64()),
        ("body", pa.binary()),
        ("problem", PROBLEM),
    ]
)
OWN_SOURCE = "pointsman"
JSON = "application/json"

AT_ONCE = 4096
"""Lines whose objects are in memory together; with many more, the processor's caches miss."""
DEEPEST = 200
"""Levels of lists and objects that every reader of JSON can read, whatever the stack is."""
USUAL_TIME = (
    r"^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"
)
"""Times that Arrow reads as the definition does, unless they are on a day such as February 30th."""

Mask = npt.NDArray[np.bool_]
_encoder = msgspec.json.Encoder()


def receive(
    lines: pa.Array[Any],
    names: pa.Array[Any] | None = None,
    others: frozenset[str] = frozenset(),
    keys: Mapping[str, str] = NO_NAMES,
) -> pa.Table:
    """The messages of lines (binary or string), one row each, with the columns of ``SCHEMA``.

    ``names`` are the ids of messages that have none; ``others`` and ``keys`` are as for ``read_received``. A line that
    is no message has no subject, its text as the body and a ``problem`` with the stage ``receive``. A null line stands
    for one that is too long. Raises nothing about a line. Safe between threads.
    """
    reader = _reader(others, frozenset(keys.items()))
    parts = []
    for start in range(0, len(lines), AT_ONCE):
        texts = lines.slice(start, AT_ONCE).cast(pa.binary()).to_pylist()
        called = [None] * len(texts) if names is None else names.slice(start, AT_ONCE).to_pylist()
        parts.append(_received(texts, called, others, keys, reader))
    return pa.Table.from_batches(parts, SCHEMA)


def defined(
    texts: Sequence[bytes | None],
    names: Sequence[str | None],
    others: frozenset[str] = frozenset(),
    keys: Mapping[str, str] = NO_NAMES,
) -> pa.RecordBatch:
    """What ``receive`` gives for these lines, by the definition alone."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for text, name in zip(texts, names, strict=True):
        received, problem = None, None
        try:
            if text is None:
                raise MessageError("bad-message", TOO_LONG)
            received = read_received(text, name, others, keys)
        except MessageError as error:
            problem = {"stage": STAGE, "code": error.code, "reason": error.problem}
        for column, value in zip(columns.values(), (*_row(received, name, text), problem), strict=True):
            column.append(value)
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _row(received: Received | None, name: str | None, text: bytes | None) -> tuple[Any, ...]:
    """The values of a line in the order of the columns, without the problem."""
    if received is None:
        return (None, name, *[None] * 8, text)
    message = received.message
    own = (message.subject, message.id if received.has_id else name, *(getattr(message, each) for each in TEXTS[2:]))
    return (
        *own,
        list(message.metadata.items()),
        message.time,
        received.principal,
        received.position,
        message.body,
    )


# -- lines that msgspec reads


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line as most are; UNSET is a key that is not there."""

    subject: str
    id: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    correlation_id: str | UnsetType | None = UNSET
    causation_id: str | UnsetType | None = UNSET
    content_type: str | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    time: str | UnsetType | None = UNSET
    principal: str | UnsetType | None = UNSET
    position: Any = UNSET
    body: Any = UNSET


def _float(text: str) -> float:
    value = float(text)
    # Only within these bounds does msgspec write a number as the definition does.
    if 1e-4 <= value < 1e16 or -1e16 < value <= -1e-4:
        return value
    raise ValueError("write it by the definition")


@lru_cache(maxsize=64)
def _reader(others: frozenset[str], keys: frozenset[tuple[str, str]]) -> msgspec.json.Decoder[Any] | None:
    """The decoder of lines with these keys; None if only the definition can tell what they mean."""
    fields = _Line.__struct_fields__
    renamed = {field: key for key, field in keys}
    names = set(fields) | set(renamed.values())
    if len(renamed) < len(keys) or not renamed.keys() <= set(fields) or others & names:
        return None
    if set(renamed.values()) & set(fields) or len(names) < len(fields) + len(renamed):
        return None
    # Not under their own names, which may be anything.
    further = {f"other_{number}": other for number, other in enumerate(sorted(others))}
    own = [(each.name, each.type, each.default) for each in msgspec.structs.fields(_Line)[1:]]
    more = [(name, Any, UNSET) for name in further]
    made = msgspec.defstruct(
        "_Line", [("subject", str), *own, *more], rename=further | renamed, forbid_unknown_fields=True, gc=False
    )
    return msgspec.json.Decoder(made, float_hook=_float)


def _received(
    texts: list[bytes | None],
    names: list[str | None],
    others: frozenset[str],
    keys: Mapping[str, str],
    reader: msgspec.json.Decoder[Any] | None,
) -> pa.RecordBatch:
    if reader is None:
        return defined(texts, names, others, keys)
    lines, numbers = [], []
    for row, text in enumerate(texts):
        try:
            line = reader.decode(text or b"")
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if not _is_deep(text or b"", line):
            lines.append(line)
            numbers.append(row)
    batch, same = _columns(lines, [names[row] for row in numbers])
    same &= _unique(lines, [texts[row] or b"" for row in numbers])
    if same.all() and len(lines) == len(texts):
        return batch
    rows = np.array(numbers, np.int64)[same]
    rest = np.ones(len(texts), np.bool_)
    rest[rows] = False
    left = np.flatnonzero(rest)
    slow = defined([texts[row] for row in left], [names[row] for row in left], others, keys)
    order = np.empty(len(texts), np.int64)
    order[np.concatenate([rows, left])] = np.arange(len(texts))
    return pa.concat_batches([batch.filter(pa.array(same)), slow]).take(pa.array(order))


def _is_deep(text: bytes, line: Any) -> bool:
    if len(text) <= 2 * DEEPEST or text.count(b"{") + text.count(b"[") <= DEEPEST:
        return False
    return not is_nested_within(list(msgspec.structs.astuple(line)), DEEPEST)


def _unique(lines: list[Any], texts: list[bytes]) -> Mask:
    """Which lines have no key twice, in no object.

    msgspec keeps the last of equal keys. So a line with such keys has more strings than it has when it is written
    again, and more quotation marks.
    """
    if _quotes(b"\n".join(texts)) == _quotes(_encoder.encode_lines(lines)):
        return np.ones(len(lines), np.bool_)
    again = map(_encoder.encode, lines)
    return np.array([_quotes(text) == _quotes(each) for text, each in zip(texts, again, strict=True)], np.bool_)


def _quotes(text: bytes) -> int:
    """The number of quotation marks around strings, of which none is within a string."""
    if b"\\" not in text:
        return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"')))
    plain = text.replace(b"\\\\", b"")
    return plain.count(b'"') - plain.count(b'\\"')


# -- columns


def _columns(lines: list[Any], names: list[str | None]) -> tuple[pa.RecordBatch, Mask]:
    """The lines as columns, and which of them mean the same by the definition, as far as their values can tell."""
    same = np.ones(len(lines), np.bool_)
    ids = [line.id for line in lines]
    if UNSET in ids:
        ids = [name if id is UNSET else id for id, name in zip(ids, names, strict=True)]
    if "" in ids:
        same &= np.array([id != "" for id in ids], np.bool_)
    correlations = [line.correlation_id for line in lines]
    if UNSET in correlations:
        correlations = [id if each is UNSET else each for id, each in zip(ids, correlations, strict=True)]
    bodies, kinds = _bodies([line.body for line in lines], same)
    columns = [
        pa.array([line.subject for line in lines], pa.string()),
        pa.array(ids, pa.string()),
        _texts([line.source for line in lines], OWN_SOURCE),
        pa.array(correlations, pa.string()),
        _texts([line.causation_id for line in lines]),
        pc.coalesce(_texts([line.content_type for line in lines]), kinds),
        _metadata([line.metadata for line in lines]),
        _times([line.time for line in lines], same),
        _texts([line.principal for line in lines]),
        _positions([line.position for line in lines], same),
        bodies,
        pa.nulls(len(lines), PROBLEM),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA), same


def _texts(values: list[Any], missing: str | None = None) -> pa.Array[Any]:
    """The texts, with this one for those that are not there."""
    unset = values.count(UNSET)
    if unset == len(values):
        return pa.repeat(pa.scalar(missing, pa.string()), len(values))
    return pa.array([missing if each is UNSET else each for each in values] if unset else values, pa.string())


def _positions(values: list[Any], same: Mask) -> pa.Array[Any]:
    if values.count(UNSET) == len(values):
        return pa.nulls(len(values), pa.int64())
    given = [None if each is UNSET else each for each in values]
    fine = [each is None or (type(each) is int and abs(each) <= LARGEST_POSITION) for each in given]
    same &= np.array(fine, np.bool_)
    return pa.array([each if is_fine else None for each, is_fine in zip(given, fine, strict=True)], pa.int64())


def _bodies(values: list[Any], same: Mask) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """The bodies, and the content types that follow from what they are."""
    if set(map(type, values)) <= {dict, list}:
        return pa.array([_encoder.encode(each) for each in values], pa.binary()), pa.repeat(JSON, len(values))
    made: list[bytes] = []
    types: list[str | None] = []
    for row, each in enumerate(values):
        is_text = each is UNSET or type(each) is str
        made.append(b"" if each is UNSET else each.encode() if is_text else _encoder.encode(each))
        types.append(None if is_text else JSON)
        same[row] &= each is not None
    return pa.array(made, pa.binary()), pa.array(types, pa.string())


def _metadata(values: list[Any]) -> pa.Array[Any]:
    if UNSET in values:
        values = [{} if each is UNSET else each for each in values]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
    keys = pa.array(list(chain.from_iterable(values)), pa.string())
    items = pa.array(list(chain.from_iterable(map(dict.values, values))), pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items)


def _times(values: list[Any], same: Mask) -> pa.Array[Any]:
    kind = SCHEMA.field("time").type
    texts = _texts(values)
    usual = pc.match_substring_regex(texts, USUAL_TIME)
    if usual.false_count:
        same &= usual.fill_null(True).to_numpy(zero_copy_only=False)
        texts = pc.if_else(usual, texts, None)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        # A day that its month does not have.
        same &= texts.is_null().to_numpy(zero_copy_only=False)
        return pa.nulls(len(values), kind)
