"""Generated messages, JSON values and CloudEvents for the tests of this folder."""

import string
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from pointsman.message import Message

CORE_NAMES = ("id", "source", "type", "specversion", "subject", "time", "datacontenttype", "dataschema", "data")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=6).filter(lambda n: n not in CORE_NAMES)

offsets = st.builds(timezone, st.integers(-1439, 1439).map(lambda minutes: timedelta(minutes=minutes)))
times = st.datetimes(timezones=st.one_of(st.just(UTC), offsets)).map(lambda time: time.replace(fold=0))

time_texts = st.sampled_from(
    [
        "2026-05-01T12:00:00Z",
        "2026-05-01T12:00:00.250Z",
        "2026-05-01T12:00:00.250000Z",
        "2026-05-01T12:00:00.123456789Z",
        "2026-05-01t12:00:00z",
        "2026-05-01 12:00:00Z",
        "2026-05-01T12:00:00+00:00",
        "2026-05-01T12:00:00-00:00",
        "2026-05-01T14:00:00+02:00",
        "2016-12-31T23:59:60Z",
        "0000-02-29T00:00:00Z",
        "9999-12-31T23:59:59.9999999-23:59",
    ]
)

content_types = st.one_of(
    st.none(),
    st.sampled_from(["application/json", "Application/Problem+JSON; charset=utf-8", "text/plain", "image/png"]),
    texts,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

bodies = st.one_of(
    st.binary(max_size=12),
    texts.map(str.encode),
    st.sampled_from(
        [
            b"",
            b"null",
            b"NaN",
            b"1e5",
            b"1.0",
            b"-0",
            b'"text"',
            b'{"a":1}',
            b'{"a": 1}',
            b'{"a":1,"a":2}',
            b'"\\ud800"',
            b'"\xed\xa0\x80"',
            b"9" * 5000,
            b"[" * 99 + b"]" * 99,
            b"[" * 500 + b"]" * 500,
            b"[" * 100_000,
        ]
    ),
)

overflow_like = st.sampled_from(
    [
        "{}",
        "[]",
        "{",
        '{"metadata":{}}',
        '{"metadata":[]}',
        '{"metadata":{"a":"b"}}',
        '{"metadata":{"a":5}}',
        '{"metadata":{"A":"b"}}',
        '{"metadata":{"A":"b","cloudevents:subject":null}}',
        '{"subject":""}',
        '{"subject":"","metadata":{"cloudevents:subject":null}}',
        '{"subject":5}',
        '{"source":""}',
        '{"source":"\\ud800"}',
        '{"content_type":null}',
        '{"other":1}',
        '{"metadata":{"pointsman":"{\\"metadata\\":{\\"A\\":\\"b\\"}}"}}',
        '{"metadata":{"pointsman":"{\\"metadata\\":{\\"a\\":\\"b\\"}}"}}',
    ]
)

reserved_keys = st.sampled_from(
    [
        "pointsman",
        "correlationid",
        "causationid",
        "Region-Code",
        "",
        *CORE_NAMES,
        *(f"cloudevents:{name}" for name in ("type", "subject", "dataschema", "time", "types", "data", "other")),
    ]
)
hostile_values = st.one_of(
    texts,
    time_texts,
    overflow_like,
    st.sampled_from(
        [
            "absent",
            "true",
            "5",
            "007",
            "AAAA",
            "json",
            "text",
            "binary",
            "none",
            '{"a":"integer"}',
            '{"a":"boolean","b":"timestamp","c":"binary"}',
            '{"a":["integer"],"correlationid":"integer","pointsman":"integer"}',
            '{"a":"integer","a":"boolean"}',
            "[" * 100_000,
            "9" * 5000,
        ]
    ),
)
metadata = st.dictionaries(reserved_keys | names | texts | st.sampled_from(["a", "b", "c"]), hostile_values, max_size=5)

messages = st.builds(
    Message,
    texts,
    bodies,
    metadata=metadata,
    id=texts.filter(bool),
    content_type=content_types,
    time=st.none() | times | st.just(datetime(2026, 5, 1, 12, tzinfo=UTC)),
    source=texts,
    correlation_id=st.none() | texts | st.just("5"),
    causation_id=st.none() | texts,
)

filled = texts.filter(bool)
subject_and_type = st.one_of(
    filled.map(lambda text: {"subject": text, "type": text}),
    st.fixed_dictionaries({"type": filled}, optional={"subject": filled}),
)
simple_extensions = st.dictionaries(
    names | st.sampled_from(["correlationid", "causationid", "pointsman"]),
    st.booleans() | st.integers() | hostile_values.filter(lambda text: len(text) < 10_000),
    max_size=4,
)
core_attributes = st.fixed_dictionaries(
    {"specversion": st.just("1.0"), "id": filled, "source": filled},
    optional={"dataschema": filled, "datacontenttype": content_types.filter(bool)},
)
# Later parts win over earlier ones, so that no extension takes the place of a core attribute.
attributes = st.tuples(simple_extensions, core_attributes, subject_and_type).map(
    lambda parts: {name: value for part in parts for name, value in part.items()}
)
