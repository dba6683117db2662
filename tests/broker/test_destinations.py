"""Destinations of the table, end to end: files, folders, queues, HTTP endpoints, other subjects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pointsman import Broker, Queue
from pointsman.errors import InputError
from pointsman.store.settle import Backoff
from pointsman.testing import MemoryBroker
from tests.broker.destinations.endpoint import running_endpoint
from tests.broker.running import in_loop, until

TABLE = """
dialect: nats
destinations:
  log: {type: file, options: {path: log.jsonl}}
  archive: {type: folder, options: {path: archive}}
  next: {type: queue, options: {path: next.db}}
  copies: {type: subject, options: {subject: "copies.{subject}"}}
  circle: {type: subject, options: {subject: "{subject}"}}
routes:
  - {name: everything, pattern: "orders.*", destinations: [log, archive, next, copies]}
  - {name: round, pattern: round, destinations: [circle]}
"""


def written(folder: Path, table: str = TABLE) -> Path:
    """The table as a file of the folder."""
    path = folder / "routes.yaml"
    path.write_text(table)
    return path


@in_loop
async def test_a_message_gets_to_every_type_of_destination(tmp_path: Path) -> None:
    """Paths are relative to the folder of the broker's file; the table is given as a path."""
    async with Broker(str(tmp_path / "app.db"), table=str(written(tmp_path))) as broker:
        async with broker.subscribe("copies.>") as copies:
            await broker.publish("orders.new", {"amount": 5}, id="m")
            copy = (await anext(copies)).message
            assert (copy.subject, copy.body, copy.causation_id) == ("copies.orders.new", b'{"amount":5}', "m")
            names = ("log", "archive", "next", "copies")
            await until(lambda: all(broker.queue.size(f"destination:{name}").leased == 0 for name in names))
        assert broker.queue.dead_letters() == []
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    (file,) = (tmp_path / "archive").iterdir()
    record = json.loads(line)
    assert (record["subject"], record["route"], record["destination"]) == ("orders.new", "everything", "log")
    assert json.loads(file.read_text())["id"] == "m"
    with Queue(tmp_path / "next.db", dialect=None) as queue:
        taken = queue.pop()
        assert taken is not None
        assert (taken.routing_key, taken.body) == ("orders.new", b'{"amount":5}')


@in_loop
async def test_an_endpoint_that_fails_is_tried_again_and_its_breaker_opens(tmp_path: Path) -> None:
    """Retries, then the fallback; the same idempotency key each time."""
    with running_endpoint() as endpoint:
        table = f"""
destinations:
  shop:
    type: http
    options: {{url: "{endpoint.url("/status/503")}"}}
    breaker: {{failures: 2, reset: 1h, fallback: parking}}
  fine: {{type: http, options: {{url: "{endpoint.url("/status/204")}"}}}}
  wrong: {{type: http, options: {{url: "{endpoint.url("/status/404")}"}}}}
  parking: {{}}
routes:
  - {{name: r, pattern: "orders.*", destinations: [shop, fine, wrong]}}
"""
        async with MemoryBroker(written(tmp_path, table), backoff=Backoff(1, 1, 1)) as broker:
            parked: list[str] = []
            broker.handler("parking")(lambda message: parked.append(message.subject))
            await broker.publish("orders.new", {"amount": 5})
            await broker.settle()
            await broker.advance(10)
            assert parked == ["orders.new"]
            (dead,) = broker.queue.dead_letters()
            assert (dead.subscription, dead.attempts) == ("destination:wrong", 1)
        by_path: dict[str, list[str]] = {}
        for request in endpoint.received:
            by_path.setdefault(request.path, []).append(request.headers["idempotency-key"])
        assert {path: len(keys) for path, keys in by_path.items()} == {
            "/status/503": 2,
            "/status/204": 1,
            "/status/404": 1,
        }
        assert len(set(by_path["/status/503"])) == 1


@in_loop
async def test_a_circle_of_subjects_ends(tmp_path: Path) -> None:
    """With a dead letter that says why."""
    async with MemoryBroker(written(tmp_path), folder=tmp_path) as broker:
        await broker.publish("round")
        await broker.settle()
        (dead,) = broker.queue.dead_letters()
        assert "16" in str(dead.last_error)
        assert len(broker.queue.messages()) == 17


@pytest.mark.parametrize(
    ("wrong", "line", "what"),
    [
        ("log: {type: file, options: {pth: x}}", 3, "no option 'pth'"),
        ("log: {type: fax}", 3, "no type 'fax'"),
        ("h: {type: handler, options: {x: 1}}", 3, "no option 'x'"),
        ("ok: {type: file, options: {path: made}}\n  w: {type: http, options: {url: nonsense}}", 4, "url"),
    ],
)
def test_options_that_are_wrong_are_told_with_their_place_before_anything_is_opened(
    wrong: str, line: int, what: str, tmp_path: Path
) -> None:
    """And nothing is left behind: no database, no file of another destination."""
    path = written(tmp_path, f"dialect: nats\ndestinations:\n  {wrong}\n")

    @in_loop
    async def run() -> None:
        broker = Broker(tmp_path / "app.db", path)
        for _ in range(2):
            with pytest.raises(InputError) as caught:
                await broker.__aenter__()
            assert caught.value.code == "bad-destination"
            assert (caught.value.file, caught.value.line) == (str(path), line)
            assert caught.value.column is not None
            assert what in caught.value.problem

    run()
    assert [each.name for each in tmp_path.iterdir()] == ["routes.yaml"]


@in_loop
async def test_a_destination_that_cannot_be_opened_leaves_none_open(tmp_path: Path) -> None:
    """The broker is closed again, and can be opened once it is mended."""
    (tmp_path / "blocked").write_text("a file, not a folder")
    table = """
destinations:
  fine: {type: queue, options: {path: fine.db}}
  blocked: {type: folder, options: {path: blocked}}
routes: [{name: r, pattern: a, destinations: [fine]}]
"""
    broker = Broker(tmp_path / "app.db", written(tmp_path, table))
    with pytest.raises(InputError) as caught:
        await broker.__aenter__()
    assert caught.value.code == "bad-destination"
    (tmp_path / "blocked").unlink()
    async with broker:
        await broker.publish("a")
        await until(lambda: broker.queue.size("destination:fine").leased == 0 == broker.queue.size().ready)
