"""JSON lines as columns: whatever a line holds, ``receive`` gives what ``read_received`` says it means."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.columns import receive as module
from pointsman.columns.receive import AT_ONCE, SCHEMA, STAGE, defined, receive
from pointsman.table.tools.messages_file import NO_NAMES, TOO_LONG, read_received

LINE = (
    b'{"id":"m1","subject":"orders.eu","metadata":{"region":"eu"},"body":{"amount":12.5},"time":"2026-01-01T00:00:00Z"}'
)


def check(
    lines: Sequence[bytes | None],
    names: Sequence[str | None] | None = None,
    others: frozenset[str] = frozenset(),
    keys: Mapping[str, str] = NO_NAMES,
) -> pa.Table:
    """What ``receive`` makes of the lines, each alone and all together; it is what the definition makes of them."""
    called = names or [None] * len(lines)
    expected = pa.Table.from_batches([defined(lines, called, others, keys)])
    column = pa.array(lines, pa.binary())
    found = receive(column, None if names is None else pa.array(names, pa.string()), others, keys)
    found.validate(full=True)
    if not found.equals(expected):
        for line, made, wanted in zip(lines, found.to_pylist(), expected.to_pylist(), strict=True):
            assert made == wanted, line
    assert found.equals(expected)
    assert found.schema == SCHEMA
    return found


def one(line: bytes, name: str | None = None) -> dict[str, Any]:
    """The row of one line, which is what the definition makes of it."""
    row: dict[str, Any] = check([line], [name]).to_pylist()[0]
    return row


@pytest.fixture
def definition(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The lines that the definition is asked about."""
    asked: list[bytes] = []

    def read(text: bytes, *rest: Any) -> Any:
        asked.append(text)
        return read_received(text, *rest)

    monkeypatch.setattr(module, "read_received", read)
    return asked


def test_a_line_becomes_a_row_with_every_column() -> None:
    """The usual line has its fields, what follows from them, and no problem."""
    row = one(LINE)
    assert row["subject"] == "orders.eu"
    assert row["metadata"] == [("region", "eu")]
    assert (row["body"], row["content_type"]) == (b'{"amount":12.5}', "application/json")
    assert (row["source"], row["correlation_id"], row["causation_id"]) == ("pointsman", "m1", None)
    assert row["time"].isoformat() == "2026-01-01T00:00:00+00:00"
    assert (row["principal"], row["position"], row["problem"]) == (None, None, None)


def test_a_line_that_is_no_message_keeps_its_text_and_says_why() -> None:
    """It has no subject; code and reason are those of the reader of single messages."""
    row = one(b'{"subject": 5}', "line 7")
    assert (row["subject"], row["id"], row["body"]) == (None, "line 7", b'{"subject": 5}')
    assert row["problem"] == {"stage": STAGE, "code": "bad-message", "reason": "subject is int, not text"}


def test_a_null_line_is_one_that_is_too_long() -> None:
    """It has no body, since nobody read it."""
    row = check([None, LINE], ["line 1", "line 2"]).to_pylist()[0]
    assert (row["id"], row["subject"], row["body"]) == ("line 1", None, None)
    assert row["problem"] == {"stage": STAGE, "code": "bad-message", "reason": TOO_LONG}


def test_a_message_without_an_id_has_the_name_of_its_line_or_none() -> None:
    """Its correlation id follows the name; without a name it has neither."""
    found = check([b'{"subject":"a"}'] * 3, ["line 1", None, ""]).to_pylist()
    assert [(row["id"], row["correlation_id"]) for row in found] == [("line 1", "line 1"), (None, None), ("-", "-")]


def test_texts_are_received_as_bytes_are() -> None:
    """A column of type string, or a slice of one, gives the same rows."""
    texts = pa.array(["", LINE.decode(), '{"subject":"ä"}', None]).slice(1)
    assert receive(texts).equals(receive(texts.cast(pa.binary())))
    assert receive(texts.cast(pa.large_string())).equals(receive(texts))
    assert receive(texts)["subject"].to_pylist() == ["orders.eu", "ä", None]


def test_no_lines_are_no_rows() -> None:
    """The columns are there all the same."""
    assert receive(pa.array([], pa.binary())).schema == SCHEMA


def test_usual_lines_do_not_need_the_definition(definition: list[bytes]) -> None:
    """Compact or not, with escapes, numbers, texts as bodies, offsets and fractions of seconds."""
    lines = [
        LINE,
        b'{ "subject" : "a" , "body" : [ 1, -2.50, true, null, {"a": "b"} ] }\r',
        b'{"subject":"a","body":"text","content_type":"text/plain","principal":"p","position":-5,"source":"pointsman"}',
        b'{"subject":"\\u00e4\\n","body":{"say \\"no\\"":"\\\\"},"causation_id":null,"content_type":null,"time":null}',
        b'{"subject":"a","time":"2026-02-28T23:59:59.123456+02:00","id":"1","correlation_id":null}',
        b'{"subject":"a","body":' + b"9" * 100 + b"}",
    ]
    receive(pa.array(lines, pa.binary()))
    assert definition == []
    check(lines)


def test_one_odd_line_does_not_slow_down_its_neighbours(definition: list[bytes]) -> None:
    """Only the lines that are odd go to the definition, in whatever chunk they are."""
    lines = [LINE] * (AT_ONCE + 10)
    lines[5] = b'{"subject":"a","body":1e300}'
    lines[AT_ONCE + 1] = b"nothing"
    lines[7] = b'{"subject":"a","id":"1","id":"2"}'
    found = receive(pa.array(lines, pa.binary()))
    assert sorted(definition) == sorted([lines[5], lines[7], lines[AT_ONCE + 1]])
    assert found.equals(pa.Table.from_batches([defined(lines, [None] * len(lines))]))


ODD = [
    *(b"", b" ", b"null", b"[]", b"1", b'"a"', b"{}", b"{", b"}", b'{"subject":"a"}x', b"\xef\xbb\xbf" + LINE),
    *(b'{"subject":"a","subject":"b"}', b'{"subject":"a","body":{"x":[{"y":1,"y":1}]}}'),
    *(b'{"subject":"a","metadata":{"x":"1","x":"1"}}', b'{"subject":"a","b\\u006fdy":1,"body":1}'),
    b'{"subject":"a","body":{"\\u0061":1,"a":"\\""}}',
    *(b'{"subject":"a","body":%s}' % number for number in (b"-0", b"0", b"-0.0", b"0.0", b"0e5", b"1e5", b"1E+5")),
    *(
        b'{"subject":"a","body":[%s]}' % number
        for number in (b"1e15", b"1e16", b"-1e16", b"0.0001", b"0.00009", b"5e-324")
    ),
    *(
        b'{"subject":"a","body":[%s]}' % number
        for number in (b"1e400", b"-1e400", b"NaN", b"Infinity", b"01", b"1.", b"+1")
    ),
    *(b'{"subject":"a","body":%s}' % (b"1" * digits) for digits in (18, 19, 20, 21, 4300, 4301)),
    *(b'{"subject":"a","body":1.%s}' % (b"1" * digits) for digits in (16, 17, 18, 30, 800)),
    *(
        b'{"subject":"a","body":%s}' % kind
        for kind in (b"null", b"true", b"false", b'""', b"{}", b"[]", b'"x"', b"[null]")
    ),
    *(
        b'{"subject":"a","body":"%s"}' % text
        for text in (b"\\ud800", b"\\ud83d\\ude00", b"\\u0000", b"\\/", b"\x7f", b"\t")
    ),
    *(
        b'{"subject":"a","body":{"x":"%s"}}' % text
        for text in (b"\\ud800", b"\\udc00\\ud800", b"\xff", b"\xc3\xa4", b"\x00")
    ),
    *(b'{"subject":"%s"}' % text for text in (b"\\ud800", b"\xff", b"", b"\xed\xa0\x80", b"\\u0000")),
    *(b'{"subject":%s}' % value for value in (b"null", b"1", b"[]", b"true", b"{}")),
    *(
        b'{"subject":"a","%s":%s}' % (field, value)
        for field in (b"id", b"source", b"correlation_id", b"causation_id", b"content_type", b"metadata", b"principal")
        for value in (b"null", b'""', b'"x"', b"1", b"[]", b"{}", b'"\\ud800"', b'{"a":null}', b'{"a":1}', b'{"a":"b"}')
    ),
    *(b'{"subject":"a","metadata":{"\\ud800":"a"}}', b'{"subject":"a","metadata":{"a":"\xc3\xa4","":""}}'),
    *(
        b'{"subject":"a","position":%s}' % value
        for value in (
            b"0",
            b"-1",
            b"null",
            b"1.0",
            b"true",
            b'"1"',
            b"1e3",
            b"9223372036854775807",
            b"9223372036854775808",
        )
    ),
    *(
        b'{"subject":"a","position":%s}' % value
        for value in (b"-9223372036854775807", b"-9223372036854775808", b"[1]", b"1" * 30)
    ),
    *(
        b'{"subject":"a","unknown":1}',
        b'{"subject":"a","Subject":"b"}',
        b'{"subject":"a","problem":null}',
        b'{"body":1}',
    ),
    *(b'{"subject":"a","body_base64":%s}' % value for value in (b'"/w=="', b'"/w"', b"null", b'"/w==","body":1')),
    b'{"subject":"a","body":' + b"[" * 150 + b"]" * 150 + b"}",
    b'{"subject":"a","body":' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}",
    b'{"subject":"a","body":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"subject":"a","body":' + json.dumps([{"a": number} for number in range(1000)]).encode() + b"}",
]
TIMES = [
    *("2026-01-01T00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "2026-01-01", ""),
    *("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.Z"),
    *("2026-01-01T00:00:00.999999999999Z", "2026-02-30T00:00:00Z", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z"),
    *(
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00-23:59",
        "2026-01-01T00:00:00+23:59",
        "2026-01-01T00:00:00+24:00",
    ),
    *("2026-01-01T00:00:00+02", "2026-01-01T00:00:00+0200", "2026-01-01T00:00:00+02:60", "2026-01-01T00:00:00.5+02:30"),
    *(
        "2016-12-31T23:59:60Z",
        "2026-01-01T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
    ),
    *("0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59.999999Z"),
    *(
        "9999-12-31T23:59:59-02:00",
        "1000-01-01T00:00:00Z",
        "1582-10-10T00:00:00Z",
        "2999-12-31T23:59:59Z",
        "12026-01-01T00:00:00Z",
    ),
    *(
        "2026-01-01T00:00:00Z\n",
        " 2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z ",
        "٢٠٢٦-01-01T00:00:00Z",
        "1969-12-31T23:59:59.5Z",
    ),
    *("-2026-01-01T00:00:00Z", "2026-1-1T00:00:00Z", "2026-01-01T0:0:0Z", "2026-01-01T00:00Z", "1767225600", "now"),
]


@pytest.mark.parametrize("line", ODD, ids=[repr(line[:60]) for line in ODD])
def test_an_odd_line_means_what_the_definition_says(line: bytes) -> None:
    """Alone, and with usual lines around it."""
    check([line])
    check([LINE, line, LINE], ["a", None, "c"])


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_read_or_refused_as_the_definition_does(text: str) -> None:
    """Arrow's reader of times takes others than RFC 3339 has, and refuses some that it has."""
    line = json.dumps({"subject": "a", "time": text}, ensure_ascii=False).encode()
    check([line])
    check([line, LINE])


def test_times_that_are_not_texts_are_refused_as_by_the_definition() -> None:
    """Numbers, lists and truth values are no times."""
    for value in (b"1", b"[]", b"true", b"{}", b"1.5"):
        check([b'{"subject":"a","time":%s}' % value])


def test_keys_of_other_names_are_the_fields_they_stand_for(definition: list[bytes]) -> None:
    """Also those of the field itself are understood, but not both."""
    lines = [
        b'{"topic":"a","data":{"x":1},"who":"me"}',
        b'{"subject":"a"}',
        b'{"topic":"a","subject":"b"}',
        b'{"topic":1}',
    ]
    keys = {"topic": "subject", "data": "body", "who": "principal"}
    found = receive(pa.array(lines), keys=keys)
    assert found["subject"].to_pylist() == ["a", "a", None, None]
    assert lines[0] not in definition
    check(lines, keys=keys)
    check([*lines, b'{"x":"a"}', b'{"x":"a","topic":"b"}'], keys={"topic": "subject", "x": "subject"})
    check([*lines, b'{"id":"a","topic":"b"}', b'{"id":"a"}'], keys={"id": "subject", "topic": "id"})
    check([*lines, b'{"x":"YQ==","subject":"b"}', b'{"x":5,"subject":"a"}'], keys={"x": "body_base64"})
    check([*lines, b'{"x":5,"subject":"a"}'], keys={"x": "unknown"})


def test_other_keys_are_passed_over(definition: list[bytes]) -> None:
    """Whatever they hold, as long as it is JSON."""
    others = frozenset(["amount", "a b", "class"])
    lines = [b'{"subject":"a","amount":1.5,"a b":"x","class":[{"x":null}]}', b'{"subject":"a","amount":1,"amount":2}']
    lines += [b'{"subject":"a","amount":{"x":1,"x":1}}', b'{"subject":"a","amount":1e400}', b'{"subject":"a","b":1}']
    receive(pa.array(lines), others=others)
    assert lines[0] not in definition
    check(lines, None, others)
    check(lines, None, others | {"subject"})
    check([*lines, b'{"amount":"a"}'], None, others, keys={"amount": "subject"})
    check([*lines, b'{"subject":"a","body_base64":"x"}'], None, others | {"body_base64"})


# -- generated lines

texts = st.text(max_size=6) | st.sampled_from(
    ["", "a", "\ud800", "ä", '"', "\\", "\\\\", '\\"', "\0", "\x7f", "\u2028"]
)
numbers = st.integers() | st.floats(allow_nan=False) | st.sampled_from([0, -1, 1 << 63, 1 << 64, -(1 << 63), 10**30])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
fields = ("subject", "id", "source", "correlation_id", "causation_id", "content_type", "metadata", "time", "principal")
lines_of_any_kind = st.builds(
    lambda pairs, ascii_only, space: _written(pairs, ascii_only=ascii_only, space=space),
    st.lists(st.tuples(st.sampled_from([*fields, "position", "body", "body_base64", "other"]), values), max_size=5).map(
        lambda pairs: [("subject", "a.b"), *pairs]
    ),
    st.booleans(),
    st.booleans(),
)


def _written(pairs: list[tuple[str, Any]], *, ascii_only: bool, space: bool) -> bytes:
    separators = (", ", ": ") if space else (",", ":")
    members = [
        json.dumps(key) + separators[1] + json.dumps(value, ensure_ascii=ascii_only, separators=separators)
        for key, value in pairs
    ]
    return ("{" + separators[0].join(members) + "}").encode(errors="surrogatepass")


@given(st.lists(lines_of_any_kind, max_size=6), st.booleans())
def test_generated_lines_mean_what_the_definition_says(lines: list[bytes], named: bool) -> None:
    """Values of all kinds in all fields, keys that occur twice, texts that UTF-8 cannot write."""
    check(lines, [f"line {number}" for number in range(len(lines))] if named else None)
    check(lines, None, frozenset(["other"]), keys={"data": "body"})


@given(st.binary(max_size=40), values)
def test_bytes_of_any_kind_mean_what_the_definition_says(junk: bytes, value: Any) -> None:
    """Bytes alone, as the body, in place of a piece of a line."""
    place = len(junk) % len(LINE)
    body = json.dumps(value).encode()
    check([junk, LINE[:place] + junk + LINE[place:], b'{"subject":"a","body":' + body + b"}" + junk])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_lines_mean_what_the_definition_says(seed: int) -> None:
    """Usual lines in which something was changed, left out, repeated or put in: some thousand of each seed."""
    chance = random.Random(seed)
    lines = [_damaged(chance) for _ in range(2500)]
    names = [chance.choice([None, "", f"line {number}"]) for number in range(len(lines))]
    assert check(lines, names)["subject"].null_count < len(lines) * 2 / 3
    check(lines, names, frozenset(["note", "x"]), keys={"topic": "subject", "data": "body"})


PIECES = [
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"0",
        b"-",
        b".",
        b"e9",
        b"E-7",
        b"null",
        b"true",
        b"\xff",
    ),
    *(b"\\u0061", b"\\ud800", b'"id":"2",', b'"body":1,', b'"x":1,', b"\xc3\xa4", b"1e16", b"0.00001", b"\\\\", b'\\"'),
    *(
        b'"topic":"t",',
        b'"data":"d",',
        b'"subject":"s",',
        b'"position":7,',
        b'"principal":"p",',
        b"NaN",
        b"\r",
        b"\x0b",
    ),
]


def _damaged(chance: random.Random) -> bytes:
    def text() -> str:
        return "".join(chance.choice('ab.é"\\\n\t\u2028😀/') for _ in range(chance.randrange(5)))

    def number() -> float | int:
        return chance.choice(
            [chance.randrange(10**6) / 100, chance.randrange(-5, 5), chance.uniform(-1e17, 1e17), 1e-5]
        )

    data: dict[str, Any] = {chance.choice(["subject"] * 9 + ["topic"]): "orders." + text()}
    data[chance.choice(["body"] * 9 + ["data"])] = chance.choice(
        [text(), number(), {"amount": number(), text(): [number(), text(), None, {}]}, [], True]
    )
    if chance.random() < 0.5:
        data["time"] = chance.choice(TIMES) if chance.random() < 0.2 else f"2026-01-02T03:04:{chance.randrange(60):02}Z"
    if chance.random() < 0.5:
        data["metadata"] = {text(): text() for _ in range(chance.randrange(3))}
    if chance.random() < 0.2:
        data[chance.choice([*fields, "note"])] = chance.choice([text(), None, number()])
    if chance.random() < 0.05:
        data["body_base64"] = base64.b64encode(text().encode()).decode()
    pairs = list(data.items())
    chance.shuffle(pairs)
    line = _written(pairs, ascii_only=chance.random() < 0.5, space=chance.random() < 0.5)
    for _ in range(chance.choice([0, 0, 0, 0, 1, 2])):
        start = chance.randrange(len(line) + 1)
        end = min(len(line), start + chance.choice([0, 0, 0, 1, 1, 4]))
        line = line[:start] + chance.choice([b"", *PIECES]) + line[end:]
    return line


def test_receiving_is_several_times_faster_than_the_definition() -> None:
    """Usual lines of 250 bytes: five times at least."""
    note = b"twenty words or so " * 6
    body = b'{"amount":12.5,"currency":"EUR","note":"%s"}' % note
    lines = [
        b'{"id":"m%d","subject":"orders.eu.books","metadata":{"region":"eu"},"body":%s,"time":"2026-01-01T00:00:00Z"}'
        % (number, body)
        for number in range(20_000)
    ]
    column, names = pa.array(lines, pa.binary()), [None] * len(lines)
    receive(column)
    quick = min(_seconds(lambda: receive(column)) for _ in range(3))
    slow = _seconds(lambda: defined(lines, names))
    assert quick * 5 < slow


def _seconds(act: Any) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def test_importing_the_package_imports_no_reader() -> None:
    """msgspec, numpy and pyarrow are imported when somebody receives; Spark never."""
    code = "import sys, pointsman.columns; print({'msgspec', 'numpy', 'pyarrow'} & sys.modules.keys());"
    code += "import pointsman.columns.receive; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["set()", "False"]
