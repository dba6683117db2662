"""``pointsman test``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json

if TYPE_CHECKING:
    from pointsman.table.decision import Step
    from pointsman.table.expectations import Outcome
    from pointsman.table.route import Place


def run(table: TableFile, environment: Environment = None, json: AsJson = False) -> int:
    """Run the expectations of a routing table: messages, and the deliveries they must have.

    Prints each that fails, with what came and why. Ends with 1 when one failed, with 2 when the table is no use.
    """
    from pointsman.table.expectations import run_expectations
    from pointsman.table.places import places_in
    from pointsman.table.routing_table import RoutingTable

    loaded = RoutingTable.load(table, environment)
    outcomes = list(run_expectations(loaded))
    failed = [outcome for outcome in outcomes if not outcome.passed]
    passed = len(outcomes) - len(failed)
    places = places_in(table, "expectations", environment) if failed or json else []
    if json:
        rows = [outcome.as_dict() | {"place": str(places[outcome.number])} for outcome in outcomes]
        show_json({"table": loaded.hash, "passed": passed, "failed": len(failed), "outcomes": rows})
    else:
        for outcome in failed:
            _show(outcome, places[outcome.number])
        typer.echo(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


def _show(outcome: Outcome, place: Place) -> None:
    typer.echo(f"{place}: {typer.style('failed', fg='red', bold=True)}: {outcome.name}")
    for problem in outcome.problems:
        typer.echo(f"  {problem}")
    if outcome.decision is not None:
        typer.echo("  what happened:")
        for step in outcome.decision.trace:
            _show_step(step, "    ")


def _show_step(step: Step, indent: str) -> None:
    typer.echo(f"{indent}{step.stage}: {step.what}")
    for inner in step.inner:
        _show_step(inner, indent + "  ")
