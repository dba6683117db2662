"""Coverage as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pointsman.table.coverage import KINDS, Coverage, Entry

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733; }
table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dee6; vertical-align: top; }
td.count { text-align: right; font-variant-numeric: tabular-nums; }
tr.uncovered td { background: #fdecea; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
.bar { background: #f3c6c1; height: .6rem; border-radius: .3rem; overflow: hidden; }
.bar div { background: #2e8b57; height: 100%; }
.hash { color: #5c6b7a; }
"""


def write_html(coverage: Coverage) -> str:
    """The page: a percentage and a table for routes, destinations and translations, what is uncovered marked."""
    return "\n".join(_page(coverage)) + "\n"


def _page(coverage: Coverage) -> Iterator[str]:
    title = f"Coverage of {coverage.table.written.name or 'a routing table'}"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{_safe(title)}</h1>"
    yield f'<p class="hash">table <code>{_safe(coverage.table.hash)}</code></p>'
    for kind in KINDS:
        entries = list(coverage.entries(kind))
        if entries:
            yield from _section(f"{kind.capitalize()}s", entries, coverage.percent_of(kind))
    yield "</body>\n</html>"


def _section(heading: str, entries: list[Entry], percent: float) -> Iterator[str]:
    exercised = sum(entry.count > 0 for entry in entries)
    yield f"<h2>{heading}: {percent:.1f}% ({exercised} of {len(entries)})</h2>"
    yield f'<div class="bar"><div style="width: {percent:.1f}%"></div></div>'
    yield "<table>\n<tr><th>name</th><th></th><th>messages</th><th>for example</th><th>place</th></tr>"
    for entry in sorted(entries, key=lambda entry: entry.count > 0):
        subjects = "<br>".join(f"<code>{_safe(subject)}</code>" for subject in entry.subjects)
        yield (
            f'<tr class="{"covered" if entry.count else "uncovered"}"><td>{_safe(entry.name)}</td>'
            f'<td><code>{_safe(entry.what)}</code></td><td class="count">{entry.count:,}</td>'
            f"<td>{subjects}</td><td>{_safe(str(entry.place or ''))}</td></tr>"
        )
    yield "</table>"


def _safe(text: str) -> str:
    """The text for HTML; what UTF-8 cannot write is replaced."""
    return escape(text.encode(errors="replace").decode())
