"""Whether the promises of the broker were kept, told from the journals of all its processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.crash.broker_story import COMMANDS, SUPPLIERS, WORKERS, end_of, kind_of, supply_answer
from tests.crash.journal import Line


@dataclass(slots=True)
class Handled:
    """What the journals say."""

    begun: set[str] = field(default_factory=set)
    published: set[str] = field(default_factory=set)
    by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The handlers that got the message of a name."""
    commands: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """The ids of the commands of each subject, of each order."""
    results: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    """The results of each question: their ids and bodies."""
    times: int = 0


def gather(lines: Iterable[Line]) -> Handled:
    """What the lines say together."""
    handled = Handled()
    for line in lines:
        if line.word == "publishing":
            handled.begun.add(line.fields[0])
        elif line.word == "published":
            handled.published.add(line.fields[0])
        elif line.word == "handled":
            handler, id, subject, correlation_id, body = line.fields
            handled.times += 1
            if ".commands." in subject:
                handled.commands[correlation_id][subject].add(id)
            elif handler == "results":
                handled.results[correlation_id].add((id, body))
            else:
                handled.by[id].add(handler)
    return handled


def broken_promises(handled: Handled) -> list[str]:
    """What was promised and not kept; nothing, as it should be."""
    wrong = [f"published, and handled by nobody: {name}" for name in sorted(handled.published - handled.by.keys())]
    wrong += [f"nobody published it: {name}" for name in sorted(handled.by.keys() - handled.begun)]
    for name, handlers in handled.by.items():
        wrong += [f"{name}: {problem}" for problem in _problems(name, handlers, handled)]
    return wrong


def _problems(name: str, handlers: set[str], handled: Handled) -> Iterable[str]:
    kind = kind_of(name)
    if kind == "job":
        if len(handlers) != 1 or not handlers <= set(WORKERS):
            yield f"it is for one worker, and went to {sorted(handlers)}"
    elif kind == "ask":
        if handlers != set(SUPPLIERS):
            yield f"it is for all suppliers, and went to {sorted(handlers)}"
        results = handled.results[name]
        if len(results) != 1:
            yield f"its result was given {len(results)} times"
        elif not all(f"{supply_answer(each, name)['price']}" in body for each in SUPPLIERS for _, body in results):
            yield f"its result is {results}"
    elif kind == "order":
        if handlers != {"audit"}:
            yield f"it is for audit, and went to {sorted(handlers)}"
        commands = {subject: len(ids) for subject, ids in handled.commands[name].items()}
        if commands != dict.fromkeys(COMMANDS[end_of(name)], 1):
            yield f"it ends in {end_of(name)}, and its commands were {commands}"
    elif handlers != {"notes"}:
        yield f"it is for notes, and went to {sorted(handlers)}"
