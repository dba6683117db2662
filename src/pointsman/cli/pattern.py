"""``pointsman pattern``: what patterns mean, and how they compare."""

from __future__ import annotations

from typing import Annotated

import typer

from pointsman.cli.output import AsJson, DialectName, show_json
from pointsman.errors import LimitError
from pointsman.patterns import Fit, Pattern

app = typer.Typer(help="Compare and convert patterns.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A pattern.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    dialect: DialectName = None,
    json: AsJson = False,
) -> None:
    """Say how two patterns relate: which contains the other, where they meet, which is more specific."""
    one, other = Pattern(a, dialect), Pattern(b, dialect)
    more_specific = None
    if one.specificity != other.specificity:
        more_specific = a if one.specificity < other.specificity else b
    try:
        common = sorted(map(str, one.intersection(other)))
    except LimitError:
        common = None
    answer = {
        "a": a,
        "b": b,
        "dialect": one.dialect.name,
        "a_contains_b": one.contains(other),
        "b_contains_a": other.contains(one),
        "intersects": one.intersects(other),
        "intersection": common,
        "more_specific": more_specific,
    }
    if json:
        show_json(answer)
        return
    for label, value in (
        (f"{a} contains {b}", _yes(answer["a_contains_b"])),
        (f"{b} contains {a}", _yes(answer["b_contains_a"])),
        ("they intersect", _yes(answer["intersects"])),
        ("intersection", _listed(common)),
        ("more specific", more_specific or "neither"),
    ):
        typer.echo(f"{label:<{max(16, len(a) + len(b) + 10)}}  {value}")


@app.command()
def convert(
    pattern: Annotated[str, typer.Argument(help="The pattern.")],
    target: Annotated[str, typer.Option("--to", metavar="NAME", help="The dialect to convert to.")],
    dialect: DialectName = None,
    json: AsJson = False,
) -> int:
    """Write a pattern in another dialect, and report what that changes.

    Ends with 1 when it is refused.
    """
    parsed = Pattern(pattern, dialect)
    conversion = parsed.convert(target)
    texts = [str(each) for each in conversion.patterns]
    if json:
        show_json(
            {
                "pattern": pattern,
                "from": parsed.dialect.name,
                "to": target,
                "patterns": texts,
                "fit": conversion.fit.value,
                "changes": conversion.changes,
                "not_carried": conversion.not_carried,
            }
        )
    else:
        typer.echo(f"{conversion.fit.value}: {'  '.join(texts)}".rstrip(": "))
        for change in conversion.changes:
            typer.echo(f"  {change}")
        if conversion.not_carried:
            typer.echo(f"  {target} cannot carry: {'; '.join(conversion.not_carried)}")
    return 1 if conversion.fit is Fit.REFUSED else 0


def _listed(patterns: list[str] | None) -> str:
    if patterns is None:
        return "too many patterns to write down"
    return "  ".join(pattern or "(the empty pattern)" for pattern in patterns) or "none"


def _yes(value: object) -> str:
    return "yes" if value else "no"
