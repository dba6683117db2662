"""Requests to a real server that answers well, badly, late and not at all."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pointsman.destinations import Delivered, DeliveryFailed, make_sink
from pointsman.destinations.http import SHOWN_AT_MOST, HttpOptions, HttpSink
from pointsman.errors import InputError, MissingExtraError
from tests.broker.destinations.deliveries import deliver, delivery
from tests.broker.destinations.endpoint import Endpoint, running_endpoint

SHORT = 0.3


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server of the test's own, which no proxy stands before."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_endpoint() as served:
        yield served


def sent(endpoint: Endpoint, path: str, *deliveries: Delivered, **options: Any) -> list[DeliveryFailed | None]:
    """How deliveries to a path of the endpoint end."""
    sink = make_sink("there", "http", {"url": endpoint.url(path), **options}, Path())
    return deliver(sink, *(deliveries or (delivery(),)))


def failure(endpoint: Endpoint, path: str, **options: Any) -> DeliveryFailed:
    """How one delivery to a path fails."""
    (found,) = sent(endpoint, path, **options)
    assert found is not None
    return found


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_status_of_success_is_a_delivery(status: int, endpoint: Endpoint) -> None:
    """Whatever the body of the answer says."""
    assert sent(endpoint, f"/status/{status}") == [None]
    assert len(endpoint.received) == 1


def test_the_body_is_sent_as_it_is_and_the_rest_in_headers(endpoint: Endpoint) -> None:
    """A CloudEvent in the binary form, with the id of the delivery as the key for idempotence."""
    message = delivery(
        b"\x00\xff{}", metadata={"region": "EU 1", "Other-Key": "€"}, content_type="image/png", source="/shop"
    )
    assert sent(endpoint, "/status/200", message, method="PUT", headers={"Authorization": "Bearer abc"}) == [None]
    (request,) = endpoint.received
    assert (request.method, request.path, request.body) == ("PUT", "/status/200", b"\x00\xff{}")
    expected = {
        "content-type": "image/png",
        "content-length": "4",
        "authorization": "Bearer abc",
        "idempotency-key": "delivery-1",
        "pointsman-route": "everything",
        "pointsman-destination": "there",
        "ce-specversion": "1.0",
        "ce-id": "message%201",
        "ce-source": "/shop",
        "ce-type": "orders.paid",
        "ce-subject": "orders.paid",
        "ce-correlationid": "message%201",
        "ce-region": "EU%201",
        "ce-pointsman": "{%22metadata%22:{%22Other-Key%22:%22%E2%82%AC%22}}",
    }
    assert {name: request.headers.get(name) for name in expected} == expected
    assert {name for name in request.headers if name.startswith("ce-")} <= set(expected)


def test_what_is_logged_of_a_request_names_nothing_but_the_host(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    """A password is nobody's business, at any level of logging, nor is the path, which may hold a token."""
    url = endpoint.url("/status/200").replace("://", "://user:secret-password@")
    sink = make_sink("there", "http", {"url": url}, Path())
    with caplog.at_level(logging.DEBUG):
        deliver(sink, delivery())
    assert "http://127.0.0.1" in caplog.text
    assert not {"secret", "status"} & set(re.findall(r"[a-z]+", caplog.text))


def test_an_option_may_name_the_program_that_asks(endpoint: Endpoint) -> None:
    """A header of the options takes the place of one that the delivery does not need."""
    assert sent(endpoint, "/status/200", headers={"User-Agent": "shop"}) == [None]
    assert endpoint.received[0].headers["user-agent"] == "shop"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_status_that_may_pass_is_tried_again(status: int, endpoint: Endpoint) -> None:
    """Without a wait of the server's, the queue's own."""
    found = failure(endpoint, f"/status/{status}")
    assert (found.reason, found.retry, found.after) == (f"the answer is {status}: because", True, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413, 422, 431])
def test_a_status_that_will_not_pass_is_not_tried_again(status: int, endpoint: Endpoint) -> None:
    """The request would be the same."""
    found = failure(endpoint, f"/status/{status}")
    assert (found.reason, found.retry, found.after) == (f"the answer is {status}: because", False, None)


@pytest.mark.parametrize(
    ("header", "after"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0),
        ("Thu, 01 Jan 1970 00:10:00 GMT", 0.0),
        ("999999999999", 86400.0),
        ("later", None),
        ("-5", None),
    ],
)
def test_the_server_may_say_when_to_try_again(header: str, after: float | None, endpoint: Endpoint) -> None:
    """In seconds or as a date, up to a day."""
    endpoint.answer_headers = {"Retry-After": header}
    sink = HttpSink("there", HttpOptions(url=endpoint.url("/status/429")), clock=lambda: 1000.0)
    (found,) = deliver(sink, delivery())
    assert found is not None
    assert (found.retry, found.after) == (True, after)


def test_a_redirect_is_not_followed(endpoint: Endpoint) -> None:
    """The message goes where the table says, or nowhere."""
    endpoint.answer_headers = {"Location": endpoint.url("/status/200")}
    found = failure(endpoint, "/status/307")
    assert (found.reason, found.retry) == ("the answer is 307, and redirects are not followed", False)
    assert len(endpoint.received) == 1


def test_an_answer_that_does_not_come_in_time_is_tried_again(endpoint: Endpoint) -> None:
    """The endpoint may have the message; its key for idempotence tells."""
    found = failure(endpoint, "/never", timeout=SHORT)
    assert (found.reason, found.retry) == (f"there was no answer within {SHORT} s", True)


def test_a_connection_that_is_closed_without_an_answer_is_tried_again(endpoint: Endpoint) -> None:
    """What went wrong is said."""
    found = failure(endpoint, "/hangup")
    assert found.reason.startswith("the connection failed: ")
    assert found.retry


def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    """Here nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        (found,) = deliver(make_sink("there", "http", {"url": url}, Path()), delivery())
    assert found is not None
    assert found.reason.startswith("the connection failed: ")
    assert found.retry


@pytest.mark.parametrize("path", ["/begun/200", "/silent/200", "/endless/200"])
def test_once_the_endpoint_has_accepted_nothing_after_it_counts(path: str, endpoint: Endpoint) -> None:
    """A body that breaks off, does not come, or does not end."""
    assert sent(endpoint, path, timeout=SHORT if path == "/silent/200" else 30) == [None]


@pytest.mark.parametrize("path", ["/begun/500", "/silent/500", "/endless/500"])
def test_a_failure_is_known_by_its_status_whatever_becomes_of_its_body(path: str, endpoint: Endpoint) -> None:
    """And no more than the beginning of it is shown."""
    found = failure(endpoint, path, timeout=SHORT if path == "/silent/500" else 30)
    assert found.reason.startswith("the answer is 500")
    assert found.retry
    assert len(found.reason) <= SHOWN_AT_MOST + 30


def test_an_answer_that_does_not_end_is_not_read_to_its_end(endpoint: Endpoint) -> None:
    """The endpoint notices that the connection is closed, and the next delivery can have another."""
    found = sent(endpoint, "/endless/404", delivery(number=1), delivery(number=2), concurrency=1, timeout=10)
    assert [each and each.reason[:17] for each in found] == ["the answer is 404"] * 2
    assert endpoint.over.wait(30)


def test_the_reason_is_one_line_of_text_whatever_the_answer_holds(endpoint: Endpoint) -> None:
    """Also bytes that are no text."""
    endpoint.answer_body = b"one\r\n\ttwo \xff"
    assert failure(endpoint, "/status/400").reason == "the answer is 400: one two \ufffd"


def test_a_connection_is_used_again(endpoint: Endpoint) -> None:
    """After a success as after a failure."""
    sink = HttpSink("there", HttpOptions(url=endpoint.url("/status/500"), concurrency=1))
    deliver(sink, *(delivery(number=number) for number in range(5)))
    assert len(endpoint.received) == 5
    assert len({request.port for request in endpoint.received}) == 1


def test_requests_run_side_by_side_up_to_the_limit(endpoint: Endpoint) -> None:
    """Each waits for a second one; of eight deliveries two are under way at any time."""
    deliveries = [delivery(number=number) for number in range(8)]
    assert sent(endpoint, "/pair", *deliveries, concurrency=2, timeout=30) == [None] * 8
    assert endpoint.most_under_way == 2


def test_waiting_for_ones_turn_is_no_part_of_the_timeout(endpoint: Endpoint) -> None:
    """Two requests that are not answered in time take twice the timeout, and both say the same."""
    found = sent(endpoint, "/never", delivery(number=1), delivery(number=2), timeout=SHORT, concurrency=1)
    assert [each and each.reason for each in found] == [f"there was no answer within {SHORT} s"] * 2
    assert len(endpoint.received) == 2


def test_a_delivery_that_is_cancelled_leaves_its_place_to_the_next(endpoint: Endpoint) -> None:
    """As when the broker shuts down."""
    sink = HttpSink("there", HttpOptions(url=endpoint.url("/never"), concurrency=1, timeout=SHORT))

    async def run() -> None:
        await sink.open()
        first = asyncio.create_task(sink.deliver(delivery(number=1)))
        while not endpoint.received:
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(DeliveryFailed, match="no answer within"):
            await sink.deliver(delivery(number=2))
        await sink.close()

    asyncio.run(run())
    assert len(endpoint.received) == 2


def test_a_content_type_that_no_header_can_carry_is_not_tried_again(endpoint: Endpoint) -> None:
    """Nothing is sent, least of all a second header."""
    (found,) = sent(endpoint, "/status/200", delivery(content_type="text/plain\r\nX-Other: 1"))
    assert found is not None
    assert not found.retry
    assert endpoint.received == []


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the sink is opened."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"pointsman\[http\]"):
        deliver(HttpSink("there", HttpOptions(url="http://localhost/")))


def test_a_url_that_only_httpx_finds_wrong_is_refused_when_the_sink_is_opened() -> None:
    """With the name of the destination."""
    with pytest.raises(InputError, match="destination 'there': option 'url'") as caught:
        deliver(HttpSink("there", HttpOptions(url="http://1.2.3.999/")))
    assert caught.value.code == "bad-destination"
