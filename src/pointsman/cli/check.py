"""``pointsman check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json, visible

if TYPE_CHECKING:
    from pointsman.table.check import Finding

COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def check(
    table: TableFile,
    environment: Environment = None,
    show_silenced: Annotated[
        bool, typer.Option("--show-silenced", help="Show the findings that the table accepts, too.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Find what is probably not meant in a routing table: routes that are never taken, unused destinations, and more.

    Without --environment, the table is checked as it is and in each of its environments.

    Ends with 0 when there is no error and no warning, with 1 when there is one, with 2 when the table cannot be used.
    """
    from pointsman.table.check import check_file

    findings = check_file(table, environment)
    open_findings = [finding for finding in findings if finding.silenced is None]
    silenced = [finding for finding in findings if finding.silenced is not None]
    if json:
        show_json(
            {
                "table": str(table),
                "environment": environment,
                "findings": [finding.as_dict() for finding in open_findings],
                "silenced": [finding.as_dict() for finding in silenced],
            }
        )
    else:
        for finding in findings if show_silenced else open_findings:
            _show(finding)
        counts = [_counted(open_findings, severity) for severity in COLOURS]
        typer.echo(", ".join([*counts, f"{len(silenced)} silenced"]))
    return 1 if any(finding.counts for finding in findings) else 0


def _show(finding: Finding) -> None:
    severity = typer.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
    place = "" if finding.place is None else f"{finding.place}: "
    where = f" (in {', '.join(finding.environments)})" if finding.environments else ""
    typer.echo(f"{place}{severity}[{finding.code}]: {visible(finding.message)}{where}")
    if finding.silenced is None:
        typer.echo(f"  help: {finding.help}")
    else:
        typer.echo(f"  silenced: {finding.silenced}")


def _counted(findings: list[Finding], severity: str) -> str:
    count = sum(finding.severity == severity for finding in findings)
    return f"{count} {severity}{'' if count == 1 else 's'}"
