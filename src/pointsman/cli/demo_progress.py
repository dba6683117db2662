"""How far the demo is, while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from pointsman.pipeline.counts import Totals

Tell = Callable[..., None]
Watch = Callable[["Totals", list[Any]], None]


@contextmanager
def showing(console: Console, messages: int) -> Iterator[tuple[Tell, Watch | None]]:
    """What is to be told of a pipeline that runs over so many messages, and now and then to be watched.

    On a terminal there are two bars, elsewhere a line for each batch.
    """
    if not console.is_terminal:
        yield lambda what, **fields: _say(console, what, fields), None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {
            name: progress.add_task(text, total=messages)
            for name, text in (("route", "routed and delivered"), ("follow", "sagas and gatherings"))
        }

        def tell(what: str, **fields: Any) -> None:
            if what == "checking":
                for task in tasks.values():
                    progress.update(task, completed=messages)
                progress.add_task("asking RoutingTable.decide", total=None)
            elif what != "batch":
                _say(console, what, fields)

        def watch(totals: Totals, queries: list[Any]) -> None:
            progress.update(tasks["route"], completed=totals.messages)
            for query in queries:
                if query.name == "follow":
                    read = sum(each["numInputRows"] for each in query.recentProgress)
                    progress.update(tasks["follow"], completed=min(read, messages))

        yield tell, watch


def _say(console: Console, what: str, fields: dict[str, Any]) -> None:
    if what == "batch":
        sent = sum(fields["deliveries"].values())
        text = f"batch {fields['batch']}: {fields['messages']:,} messages, {sent:,} deliveries"
    elif what == "destination-failed":
        text = f"batch {fields['batch']}: {fields['destination']} failed, as it is meant to: it is away"
    elif what == "checking":
        text = "Counting, and asking RoutingTable.decide about a sample of the same messages …"
    else:
        return
    console.print(text, highlight=False, markup=False)
