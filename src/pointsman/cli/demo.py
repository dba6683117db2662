"""``pointsman demo``."""

from __future__ import annotations

import typer

from pointsman.patterns import CIM, Pattern, Template

EVENTS = (
    "orders.electronics.laptops.premium",
    "orders.electronics.phones.budget",
    "orders.books",
    "notifications.user.123.email",
    "payments.eu.card.declined",
    "inventory.berlin.low",
)

SUBSCRIBERS = (
    ("warehouse", "orders.>", "nats"),
    ("laptop desk", "orders.*.laptops.#", "amqp"),
    ("premium desk", "orders.**.premium", "zato"),
    ("user mailer", "notifications/user/+/email", "mqtt"),
    ("fraud watch", "payments.*.card.*", "nats"),
)


def demo() -> None:
    """Show who gets which message, on a handful of shop events.

    The pipeline on Spark is not built yet; until it is, this shows the core only.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console()
    subscribers = Table(title="The subscribers", title_justify="left")
    for heading in ("name", "pattern", "dialect"):
        subscribers.add_column(heading)
    for row in SUBSCRIBERS:
        subscribers.add_row(*row)
    console.print(subscribers)

    table = Table(title="Who gets which message", title_justify="left")
    table.add_column("event", no_wrap=True)
    table.add_column("goes to")
    for event in EVENTS:
        table.add_row(event, ", ".join(_receivers(event)) or "[dim]nobody[/dim]")
    console.print(table)

    console.print("\n[bold]What patterns have in common[/bold]")
    wide, narrow = Pattern("orders.#.premium", "amqp"), Pattern("orders.*.*.#", "amqp")
    console.print(f"  {wide} and {narrow} meet in: {', '.join(sorted(map(str, wide.intersection(narrow))))}")

    console.print("\n[bold]A translation[/bold]")
    rule = Template("public.$1.notifications.$2", Pattern("internal.*.events.*"))
    subject = "internal.graph.events.node_added"
    console.print(f"  {subject} becomes {rule.apply(subject)}")

    console.print("\n[bold]The naming standard[/bold]")
    for name, part in CIM.parse("graph.events.structure.node_added").items():
        console.print(f"  {name:<14}{part}")

    console.print("\nThis shows the core only: the pipeline on Spark is not built yet. To try next:")
    typer.echo("  .venv/bin/pointsman match 'orders.*.laptops.#' orders.electronics.laptops.premium --dialect amqp")
    typer.echo("  .venv/bin/pointsman pattern compare 'a.>' '*.b.*'")
    typer.echo("  .venv/bin/pointsman pattern convert 'a.#' --dialect amqp --to nats")


def _receivers(event: str) -> list[str]:
    found = []
    for name, text, dialect in SUBSCRIBERS:
        pattern = Pattern(text, dialect)
        if pattern.matches(event.replace(".", pattern.dialect.separator)):
            found.append(name)
    return found
