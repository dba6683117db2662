"""What the answer of an HTTP endpoint means for a delivery."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from pointsman.broker.destinations.interface import DeliveryFailed

WORTH_ANOTHER_ATTEMPT = frozenset({408, 425, 429})
"""Statuses of the client's mistakes that may pass; those of the server (500 and above) may all pass."""
LONGEST_WAIT = 86400.0
"""In seconds; a longer ``Retry-After`` is taken for this one."""

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


def failure_of(status: int, retry_after: str | None, text: str, now: float) -> DeliveryFailed | None:
    """The failure that an answer means; None for a status of success.

    ``retry_after`` is the header of that name, ``text`` the beginning of the body, and ``now`` the time in seconds.
    """
    if 200 <= status < 300:
        return None
    shown = " ".join(text.split())
    reason = f"the answer is {status}" + (f": {shown}" if shown else "")
    if status >= 500 or status in WORTH_ANOTHER_ATTEMPT:
        return DeliveryFailed(reason, after=wait_of(retry_after, now))
    if 300 <= status < 400:
        reason = f"the answer is {status}, and redirects are not followed"
    return DeliveryFailed(reason, retry=False)


def wait_of(retry_after: str | None, now: float) -> float | None:
    """The seconds that a ``Retry-After`` asks to wait, by a number or a date; None without one that can be read.

    >>> wait_of("120", 0.0), wait_of("Thu, 01 Jan 1970 00:01:00 GMT", 20.0), wait_of("soon", 0.0)
    (120.0, 40.0, None)
    """
    if retry_after is None:
        return None
    if _SECONDS.fullmatch(retry_after.strip()):
        wait = float(retry_after)
    else:
        try:
            wait = parsedate_to_datetime(retry_after).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return min(max(wait, 0.0), LONGEST_WAIT)
