"""Whether a pipeline that was killed again and again has kept what was promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.crash.pipeline_found import Delivery, Followed, Found
from tests.crash.pipeline_story import LATER, Story, amount_of, is_sale
from tests.pipeline.correlation.reference import Moved, Sent, threaded

ENDS = ("completed", "compensated")


def broken_promises(story: Story, found: Found, versions: dict[str, bool]) -> list[str]:
    """What was promised and not kept; nothing, as it should be.

    ``versions`` has the hashes of the tables, and whether the route ``extra`` is in it.
    """
    commands = [each for each in found.followed if each.kind == "command"]
    return [
        *_sink("archive", found.archive, story, commands),
        *_sink("ledger", found.ledger, story, commands),
        *_turns(story, found),
        *_sagas(story, found),
        *_versions(found, versions),
        *_watched(story, found, commands),
        *_watched_later(found),
        *(f"{name} is not acknowledged to its end: {size}" for name, size in found.sizes.items() if any(size[:4])),
        *(f"something was not delivered: {path}" for path in found.undelivered),
        *found.damage,
    ]


def _sink(name: str, there: list[Delivery], story: Story, commands: list[Followed]) -> Iterator[str]:
    """Every message and every command is there once, and what they say adds up."""
    amounts = {message.id: amount_of(message.body) for message in story.messages}
    causes = {str(each.id): amounts.get(each.cause or "", 0) for each in commands}
    wanted = amounts | causes
    yield from _once(f"the {name}", (each.id for each in there), wanted)
    total, sums = sum(wanted.values()), sum(each.amount for each in there)
    if total != sums:
        yield f"the {name} adds up to {sums:,}, and should to {total:,}"
    for subject, expected in _by_subject(story).items():
        given = sum(each.amount for each in there if each.subject == subject and each.id in amounts)
        if given != expected:
            yield f"the {name} adds up to {given:,} for {subject}, and should to {expected:,}"


def _by_subject(story: Story) -> Counter[str]:
    sums: Counter[str] = Counter()
    for message in story.messages:
        sums[message.subject] += amount_of(message.body)
    return sums


def _once(where: str, ids: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    counted = Counter(ids)
    wanted = set(wanted)
    yield from (f"{where} has lost {id}" for id in sorted(wanted - counted.keys()))
    yield from (f"{where} has {id}, which nobody sent there" for id in sorted(counted.keys() - wanted))
    yield from (f"{where} has {id} {count} times" for id, count in sorted(counted.items()) if count > 1)


def _turns(story: Story, found: Found) -> Iterator[str]:
    """Every sale went to one destination of the balanced route, and they took turns."""
    sales = [message.id for message in story.messages if is_sale(message.subject)]
    yield from _once("the balanced route", (id for ids in found.turns.values() for id in ids), sales)
    counts = [len(ids) for ids in found.turns.values()]
    # To within one for each of the two partitions of a batch.
    if max(counts) - min(counts) > 2 * len(found.committed):
        yield f"the destinations of the balanced route did not take turns: {counts}"


def _sagas(story: Story, found: Found) -> Iterator[str]:
    """Every saga did what the engine does with the same events, and has ended once."""
    given: dict[str, list[Followed]] = {}
    for each in found.followed:
        given.setdefault(each.correlation_id, []).append(each)
    ids = Counter(each.id for each in found.followed if each.kind == "command")
    yield from (f"the command {id} was sent {count} times" for id, count in ids.items() if count > 1)
    orders = story.orders()
    yield from (f"nobody ordered {id}" for id in sorted(given.keys() - orders.keys()))
    for id, events in orders.items():
        expected = Counter(map(_plain, threaded(events, story.end)))
        got = Counter(map(_without_id, given.get(id, [])))
        yield from (f"{id}: missing is {each}" for each in expected - got)
        yield from (f"{id}: too much is {each}" for each in got - expected)
        ends = sum(each.outcome in ENDS for each in given.get(id, []))
        if ends != 1:
            yield f"{id} has ended {ends} times"


def _plain(each: Sent | Moved) -> Followed:
    if isinstance(each, Sent):
        return Followed("command", "", each.cause, id=each.id, subject=each.subject)
    return Followed("move", "", each.cause, each.outcome, each.path)


def _without_id(each: Followed) -> Followed:
    """As the engine says it: the command of a timeout has an id of the pipeline's own."""
    return each._replace(correlation_id="", id=each.id if each.cause is not None else None)


def _versions(found: Found, versions: dict[str, bool]) -> Iterator[str]:
    """The version is recorded of every batch, and is the one by which it was routed."""
    missing = found.committed - found.versions.keys()
    yield from (f"of batch {batch} no version is recorded" for batch in sorted(missing))
    sales = _sales(found)
    for batch, version in sorted(found.versions.items()):
        if version not in versions:
            yield f"batch {batch} was routed by {version}, which is no version of the table"
            continue
        wanted = sales.get(batch, set()) if versions[version] else set()
        yield from _once(f"the route of the later version, in batch {batch},", found.extra.get(batch, []), wanted)


def _sales(found: Found) -> dict[int, set[str]]:
    """The ids of the sales of each batch."""
    sales: dict[int, set[str]] = {}
    for each in found.archive:
        if is_sale(each.subject):
            sales.setdefault(each.batch, set()).add(each.id)
    return sales


def _watched(story: Story, found: Found, commands: list[Followed]) -> Iterator[str]:
    """Every sale and every command reached the owner of subscriptions once, however many of them matched."""
    names = {}
    for message in story.messages:
        if is_sale(message.subject):
            names[message.id] = ("north", "sales") if message.metadata["region"] == "north" else ("sales",)
    got = [each for each in found.watched if each.owner == "sales"]
    yield from _once("who subscribes to sales", (each.id for each in got), names)
    for each in got:
        if each.matched != names.get(each.id, each.matched):
            yield f"{each.id} was matched by {each.matched}, and should be by {names[each.id]}"
    desk = (each.id for each in found.watched_commands if each.owner == "desk")
    yield from _once("who subscribes to commands", desk, (str(each.id) for each in commands))


def _watched_later(found: Found) -> Iterator[str]:
    """A batch went by one version of the subscriptions, which is recorded, and the last by the later one."""
    sales, later = _sales(found), {version for _, version in sorted(found.subscribed.items())[-1:]}
    for batch, version in sorted(found.subscribed.items()):
        got = [each.id for each in found.watched if each.owner == LATER and each.batch == batch]
        wanted = sales.get(batch, set()) if version in later else set()
        yield from _once(f"the later subscription, in batch {batch},", got, wanted)
