"""Texts, numbers, times and bodies that are easily taken for something else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from math import nextafter

from hypothesis import strategies as st

from pointsman.conditions.body import MAX_BODY_BYTES
from tests.conditions.strategies import NUMBER_LIKE, WORDS

KEYS = ["a", "b", "it's", "", "ключ", "\U0001f511"]
ODD_TEXTS = [
    *WORDS,
    *NUMBER_LIKE,
    *[
        "1\n",
        "\n1",
        "1\u2028",
        "1\r\n",
        "1d",
        "1f",
        "1L",
        "0x1p3",
        "\u0661",
        "\uff11",
        "1e400",
        "-1e400",
        "1E+5",
        "-0.0",
    ],
    *["0e0", "00", "-", "-.5", "1.", "1e", "1e+", "true\n", "True", "TRUE", " false", "\x00", "a\x00", "a\nb", "\r\n"],
    *[
        "\u212a",
        "k",
        "K",
        "\u017f",
        "s",
        "S",
        "\u0130",
        "\u0131",
        "i",
        "I",
        "e\u0301",
        "\xe9",
        "\ufeffa",
        "\ud7ff\ue000",
    ],
    *["\U00010000", "\uffff", "\U0010ffff", ".*", "\\E", "\\Qa\\E", "$", "^a$", "(?i)a", "[ab]", "a|b", "{1}", "\\x41"],
    *["two words", "one-word", "9007199254740993", "1" * 400, "0." + "0" * 400 + "1e401", "9" * 40 + "e-40"],
]
MOMENTS = [
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 10, tzinfo=UTC),
    datetime(1883, 11, 18, 17, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    datetime(2026, 5, 1, 12, 0, 0, 1, tzinfo=UTC),
]
ODD_BODIES = [
    *[
        b"",
        b"text",
        b"\xff",
        b'{"a": "\xff"}',
        b'{"a":',
        b"1 2",
        b"{} {}",
        b"NaN",
        b"-Infinity",
        b'{"a": NaN}',
        b"1e400",
    ],
    *[b'{"a": 1, "a": 2}', b'{"a": {"b": 1, "b": 1}}', b'{"a": 1, "\\u0061": 2}', b'{"a": -0}', b'{"a": -0.0}', b"01"],
    *[
        b'{"a": "\\ud800"}',
        b'{"\\ud800": 1, "a": 1}',
        b'{"a": "\\ud83d\\ude00"}',
        b'{"a": 1e400, "b": 1}',
        b"\xef\xbb\xbf1",
    ],
    *[b'{"a": 9007199254740993}', b'{"a": ' + b"9" * 400 + b"}", b'{"a": 0.1e1}', b'{"a": null}', b'{"a": [null, {}]}'],
    *[b"[" * 100 + b"]" * 100, b"[" * 101 + b"]" * 101, b"[" * 5000 + b"]" * 5000, b'{"a":' * 99 + b"1" + b"}" * 99],
    *[b"[" * 20_000, b"\x001", b'"\x01"', b" \t\r\n1 ", b"\x0c1", b"[1,]", b"{'a': 1}", b'{"a": 1} // no', b'"a\\x41"'],
    *[b'{"a": "true"}', b'{"a": "1e400", "select": "10"}', b'{"a":1.' + b"0" * 2000 + b"1}", b'{"a": tru}', b"true"],
]
LONG_BODIES = [b'{"a": "' + b"x" * (MAX_BODY_BYTES - 9 + more) + b'"}' for more in (0, 1)]
"""The longest that is read, and one that is longer."""


def _around_the_middle(low: float, digit: str) -> str:
    """A decimal number between two neighbouring floats: in the middle, or next to it."""
    with localcontext(prec=1200):
        middle = (Decimal(low) + Decimal(nextafter(low, float("inf")))) / 2
        return format(middle, "f") + digit if "." in format(middle, "f") else format(middle, "f")


floats = st.floats(allow_nan=False, allow_infinity=False)
number_texts = st.one_of(
    floats.map(repr),
    floats.map(lambda number: f"{number:.25g}"),
    st.integers(-(10**25), 10**25).map(str),
    st.builds(_around_the_middle, floats.filter(lambda number: abs(number) < 1e300), st.sampled_from(["", "0", "1"])),
    st.builds("{}.{}e{}".format, st.integers(-99, 99), st.integers(0, 10**20), st.integers(-400, 400)),
    st.builds("{}E+{}".format, st.integers(-99, 99), st.integers(0, 10**12)),
)
odd_texts = st.one_of(
    st.sampled_from(ODD_TEXTS),
    number_texts,
    st.text(max_size=6),
    st.text("ab%_\\A.*?\n\u212a\U0001f600", max_size=8),
)
moments = st.sampled_from(MOMENTS) | st.datetimes(timezones=st.just(UTC))
json_texts = st.recursive(
    st.one_of(
        st.sampled_from(["1", "-0", "2.50", "1e400", "null", "true", "false", "NaN", '"\\ud800"', "9007199254740993"]),
        number_texts,
        st.sampled_from(ODD_TEXTS).map(json.dumps),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(st.sampled_from(["a", "a", "b", "select"]), inner), max_size=3).map(
            lambda parts: "{" + ", ".join(f'"{name}": {value}' for name, value in parts) + "}"
        ),
    ),
    max_leaves=6,
)
