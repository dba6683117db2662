"""Durations as people write them (``30s``, ``1.5m``), and RFC 3339 timestamps."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|h|d)")
NO_DURATION = "a duration is a number of seconds, or a number with ms, s, m, h or d"


def parse_duration(text: str) -> float:
    """The seconds of a number with its unit. Raises ValueError for any other text.

    >>> parse_duration("1.5m"), parse_duration("250 ms"), parse_duration("7d")
    (90.0, 0.25, 604800.0)
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(NO_DURATION)
    return float(found[1]) * UNITS[found[2]]


# -- RFC 3339 timestamps, as messages and CloudEvents write them


_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


def with_fixed_offset(time: datetime) -> datetime:
    """The same instant with an offset of whole minutes that depends on nothing outside the value.

    Two datetimes of named time zones may be unequal though they are the same instant (in the hour that a clock change
    repeats), and RFC 3339 has no offsets with seconds. Raises ValueError if the time has no offset, OverflowError if
    its instant lies outside the years 1 to 9999.
    """
    offset = time.utcoffset()
    if offset is None:
        raise ValueError("the time has no UTC offset")
    if offset % timedelta(minutes=1):
        return time.astimezone(UTC)
    if isinstance(time.tzinfo, timezone):
        return time
    return time.replace(tzinfo=timezone(offset), fold=0)


def format_timestamp(time: datetime) -> str:
    """The text of a time with a fixed offset: ``Z`` for UTC, and none, three or six digits of the second.

    >>> format_timestamp(datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC))
    '2026-05-01T12:00:00.250Z'
    """
    digits = "seconds" if not time.microsecond else "microseconds" if time.microsecond % 1000 else "milliseconds"
    text = time.isoformat(timespec=digits)
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def parse_timestamp(text: str) -> datetime | None:
    """The time nearest before the one written; None for the year 0, which ``datetime`` does not have.

    Digits after the sixth are cut off, and a leap second becomes the last microsecond before it. Raises ValueError if
    the text is no RFC 3339 timestamp.

    >>> parse_timestamp("2016-12-31T23:59:60Z").isoformat()
    '2016-12-31T23:59:59.999999+00:00'
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("it has not the form 2026-05-01T12:00:00Z")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    if second == 60:
        second, microsecond = 59, 999_999
    zone = UTC if sign is None else timezone(_offset(sign, int(offset_hours), int(offset_minutes)))
    # The year 4 stands in for the year 0, which is a leap year too, so that the rest is checked all the same.
    time = datetime(year or 4, month, day, hour, minute, second, microsecond, tzinfo=zone)
    return time if year else None


def _offset(sign: str, hours: int, minutes: int) -> timedelta:
    if minutes > 59:
        raise ValueError("an offset has at most 59 minutes")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if sign == "-" else offset
