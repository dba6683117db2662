"""The destination ``http``: each delivery is one request to an endpoint.

The body is sent as it is, with the headers that ``http_headers`` describes; ``Idempotency-Key`` is the id of the
delivery, so that an endpoint can tell a repetition. A status of success is all that counts: what comes after it, even
a broken connection, does not undo it. Redirects are not followed, since they would send the message where the table
does not say. No more than a small part of an answer is read.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, Field

from pointsman._version import __version__
from pointsman.cloudevents.attributes import text_of
from pointsman.cloudevents.envelope import Form, write
from pointsman.destinations.base import Delivered, DeliveryFailed, Options
from pointsman.errors import InputError, MissingExtraError
from pointsman.table.loading.schema import Duration

if TYPE_CHECKING:
    import httpx


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


# -- A delivery as the headers of an HTTP request: a CloudEvent in the binary form of the HTTP protocol binding
#
# The attributes are those that the JSON form has, each in a header ``ce-…``; the content type is the header of that
# name and the body is the body. All values are texts here, so their types go, with the metadata that is no attribute,
# into the extension ``ce-pointsman``, and a receiver that knows it gets the same message back.


HTTP_FORM = Form(time_is_text=True, null=True, types=frozenset())
IDEMPOTENCY_KEY = "idempotency-key"
ROUTE = "pointsman-route"
DESTINATION = "pointsman-destination"
OWNER = "pointsman-owner"
SUBSCRIPTIONS = "pointsman-subscriptions"
LONGEST_LIST = 2000
"""Characters of the header that names subscriptions; those that do not fit are left out."""

#: Headers that a request has from the delivery or from the connection, and that options cannot set.
TAKEN = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"),
        *(IDEMPOTENCY_KEY, ROUTE, DESTINATION, OWNER, SUBSCRIPTIONS),
    }
)
TAKEN_PREFIX = "ce-"

_PRINTABLE = re.compile(r"[!-~]([ -~]*[!-~])?")
# As the protocol binding says: all that is printable ASCII but the space, the quotation mark and the percent sign.
_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def header_text(value: str) -> str:
    """The value as a header carries it: percent-encoded UTF-8 where it is not printable ASCII.

    >>> header_text("50 €"), header_text("orders.paid")
    ('50%20%E2%82%AC', 'orders.paid')
    """
    return quote(value, safe=_SAFE)


def is_header_value(value: str) -> bool:
    """Whether a header can carry the value as it is."""
    return _PRINTABLE.fullmatch(value) is not None


def headers_of(delivery: Delivered) -> dict[str, str]:
    """The headers of the request for a delivery.

    Raises ``DeliveryFailed``, not to be tried again, for a content type that no header can carry.
    """
    attributes = write(delivery.message, HTTP_FORM).attributes
    texts = {name: text_of(name, value)[0] for name, value in attributes.items()}
    content_type = texts.pop("datacontenttype", None)
    if content_type is not None and not is_header_value(content_type):
        raise DeliveryFailed(f"no header can carry the content type {content_type[:100]!r}", retry=False)
    return {
        # What is compressed could be larger than what is read of it.
        "accept-encoding": "identity",
        "user-agent": f"pointsman/{__version__}",
        IDEMPOTENCY_KEY: header_text(delivery.delivery_id),
        ROUTE: header_text(delivery.route),
        DESTINATION: header_text(delivery.destination),
        **_whose(delivery),
        **({} if content_type is None else {"content-type": content_type}),
        **{TAKEN_PREFIX + name: header_text(text) for name, text in texts.items()},
    }


def _whose(delivery: Delivered) -> dict[str, str]:
    """For a delivery of wildcard subscriptions: whose they are, and which matched, between commas."""
    if delivery.owner is None:
        return {}
    names = [header_text(each).replace(",", "%2C") for each in delivery.subscriptions]
    lengths = accumulate(len(name) + 1 for name in names)
    fitting = [name for name, length in zip(names, lengths, strict=True) if length <= LONGEST_LIST]
    return {OWNER: header_text(delivery.owner), SUBSCRIPTIONS: ",".join(fitting)}


# -- the destination


READ_AT_MOST = 65536
"""Bytes of an answer that are read, so that the connection can be used again; after a longer one it is closed."""
SHOWN_AT_MOST = 300
"""Characters of an answer that are shown as the reason of a failure."""

_URL_TEXT = re.compile("[!-~]+")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _URL_TEXT.fullmatch(url):
        raise ValueError("a URL here begins with http:// or https:// and a host, in ASCII without spaces")
    _ = parts.port  # raises ValueError for one that is no port
    return url


def _checked_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header")
        if name.lower() in TAKEN or name.lower().startswith(TAKEN_PREFIX):
            raise ValueError(f"the header {name!r} is set by the delivery")
        if not is_header_value(value):
            raise ValueError(f"the value of the header {name!r} is not printable ASCII")
    return {name.lower(): value for name, value in headers.items()}


class HttpOptions(Options):
    """The options of a destination of the type ``http``."""

    url: Annotated[str, AfterValidator(_checked_url)] = Field(description="The endpoint: http:// or https://.")
    method: Literal["POST", "PUT", "PATCH"] = Field("POST", description="The method of the request.")
    headers: Annotated[dict[str, str], AfterValidator(_checked_headers)] = Field(
        {}, description="Further headers; those of the delivery cannot be set."
    )
    timeout: Duration = Field(10.0, description="How long one request may take as a whole, connecting included.")
    concurrency: int = Field(8, ge=1, le=1000, description="Requests that are under way at one time.")


class HttpSink:
    """Sends deliveries to an endpoint."""

    def __init__(self, name: str, options: HttpOptions, clock: Callable[[], float] = time.time) -> None:
        self._name = name
        self._options = options
        self._clock = clock
        self._slots = asyncio.Semaphore(options.concurrency)
        self._client: httpx.AsyncClient | None = None

    async def open(self) -> None:
        """Make the client, which connects at the first delivery.

        Raises ``MissingExtraError`` without httpx, and ``InputError`` (``bad-destination``) for a URL that it refuses.
        """
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("http", "httpx") from None
        logging.getLogger("httpx").addFilter(hide_addresses)
        try:
            httpx.URL(self._options.url)
        except httpx.InvalidURL as error:
            raise InputError("bad-destination", f"destination {self._name!r}: option 'url': {error}") from None
        limits = httpx.Limits(max_connections=self._options.concurrency)
        # The time of a request is limited as a whole; httpx would limit each of its steps.
        self._client = httpx.AsyncClient(follow_redirects=False, timeout=None, limits=limits)  # noqa: S113

    async def deliver(self, delivery: Delivered) -> None:
        """Send one request, once there are fewer under way than ``concurrency``; the timeout begins then."""
        if self._client is None:
            raise RuntimeError("the sink is not open")
        headers = headers_of(delivery) | self._options.headers
        request = self._client.build_request(
            self._options.method, self._options.url, content=delivery.message.body, headers=headers
        )
        async with self._slots:
            failure = await self._answer(self._client, request)
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _answer(self, client: httpx.AsyncClient, request: httpx.Request) -> DeliveryFailed | None:
        import httpx

        until = asyncio.get_running_loop().time() + self._options.timeout
        try:
            async with asyncio.timeout_at(until):
                response = await client.send(request, stream=True)
        except TimeoutError:
            return DeliveryFailed(f"there was no answer within {self._options.timeout:g} s")
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            return DeliveryFailed(f"the request cannot be sent: {error}", retry=False)
        except httpx.TransportError as error:
            return DeliveryFailed(f"the connection failed: {str(error) or type(error).__name__}")
        try:
            text = await _beginning(response, until)
        finally:
            await response.aclose()
        return failure_of(response.status_code, response.headers.get("retry-after"), text, self._clock())


def hide_addresses(record: logging.LogRecord) -> bool:
    """Leaves nothing but the host of the addresses that httpx logs: the rest may hold passwords and tokens.

    A filter of ``logging``; to add it again changes nothing.
    """
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(
            f"{each.scheme}://{each.netloc.decode()}/***" if isinstance(each, httpx.URL) else each
            for each in record.args
        )
    return True


async def _beginning(response: httpx.Response, until: float) -> str:
    """The beginning of the body, as far as it comes."""
    import httpx

    found = bytearray()
    with suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout_at(until):
            async for part in response.aiter_raw():
                found += part[: READ_AT_MOST - len(found)]
                if len(found) >= READ_AT_MOST:
                    break
    return found[: 4 * SHOWN_AT_MOST].decode(errors="replace")[:SHOWN_AT_MOST]
