"""``pointsman test``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json, visible

if TYPE_CHECKING:
    from pointsman.table.decision import Step
    from pointsman.table.route import Place
    from pointsman.table.tools.expectations import Outcome


def run(table: TableFile, environment: Environment = None, json: AsJson = False) -> int:
    """Run the expectations of a routing table: messages, and the deliveries they must have.

    Without --environment, they are run on the table as it is and in each of its environments. Prints each that fails,
    with what came and why. Ends with 1 when one failed, with 2 when the table is no use.
    """
    from pointsman.table.loading.document import environments_of, places_in, read_document
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.expectations import run_expectations

    names = [environment] if environment is not None else [None, *environments_of(read_document(table))]
    rows: list[dict[str, Any]] = []
    for name in names:
        loaded = RoutingTable.load(table, name)
        outcomes = list(run_expectations(loaded))
        places = places_in(table, "expectations", name) if outcomes else []
        for outcome in outcomes:
            place = places[outcome.number]
            rows.append(outcome.as_dict() | {"place": str(place), "environment": name, "table": loaded.hash})
            if not outcome.passed and not json:
                _show(outcome, place, name)
    failed = sum(not row["passed"] for row in rows)
    if json:
        show_json({"passed": len(rows) - failed, "failed": failed, "outcomes": rows})
    else:
        typer.echo(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _show(outcome: Outcome, place: Place, environment: str | None) -> None:
    where = "" if environment is None else f" (in {environment})"
    typer.echo(f"{place}: {typer.style('failed', fg='red', bold=True)}: {visible(outcome.name)}{where}")
    for problem in outcome.problems:
        typer.echo(f"  {visible(problem)}")
    if outcome.decision is not None:
        typer.echo("  what happened:")
        for step in outcome.decision.trace:
            _show_step(step, "    ")


def _show_step(step: Step, indent: str) -> None:
    typer.echo(f"{indent}{step.stage}: {visible(step.what)}")
    for inner in step.inner:
        _show_step(inner, indent + "  ")
