"""``pointsman match``."""

from __future__ import annotations

from typing import Annotated

import typer

from pointsman.cli.output import AsJson, DialectName, show_json, visible
from pointsman.patterns import Pattern, Subject


def match(
    pattern: Annotated[str, typer.Argument(help="The pattern.")],
    subjects: Annotated[list[str], typer.Argument(help="The subjects to match.", metavar="SUBJECT...")],
    dialect: DialectName = None,
    json: AsJson = False,
) -> int:
    """Match subjects against a pattern, and show what its wildcards stand for.

    Ends with 0 when every subject matches, with 1 when one does not, with 2 when the pattern or a subject is invalid.
    """
    parsed = Pattern(pattern, dialect)
    valid = [Subject(subject, parsed.dialect) for subject in subjects]
    found = [(subject, parsed.captures(subject)) for subject in valid]
    if json:
        results = [
            {"subject": subject.text, "matches": captures is not None, "captures": captures}
            for subject, captures in found
        ]
        show_json({"pattern": pattern, "dialect": parsed.dialect.name, "results": results})
    else:
        width = max(len(subject.text) for subject in valid)
        for subject, captures in found:
            verdict = "no match" if captures is None else "match   "
            parts = " ".join(
                f"${number}={text if isinstance(text, str) else parsed.dialect.separator.join(text)}"
                for number, text in enumerate(captures or (), 1)
            )
            colour = "yellow" if captures is None else "green"
            typer.echo(
                f"{typer.style(verdict, fg=colour)}  {visible(subject.text):<{width}}  {visible(parts)}".rstrip()
            )
    return 0 if all(captures is not None for _, captures in found) else 1
