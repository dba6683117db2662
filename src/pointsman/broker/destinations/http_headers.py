"""A delivery as the headers of an HTTP request: a CloudEvent in the binary form of the HTTP protocol binding.

The attributes are those that the JSON form has, each in a header ``ce-…``; the content type is the header of that name
and the body is the body. All values are texts here, so their types go, with the metadata that is no attribute, into the
extension ``ce-pointsman``, and a receiver that knows it gets the same message back.
"""

from __future__ import annotations

import re
from itertools import accumulate
from urllib.parse import quote

from pointsman._version import __version__
from pointsman.broker.destinations.interface import Delivered, DeliveryFailed
from pointsman.cloudevents.attributes import text_of
from pointsman.cloudevents.envelope import Form, write

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
