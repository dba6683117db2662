"""Writes docs/errors.md from the catalogue of error codes: python scripts/error_page.py > docs/errors.md"""

from __future__ import annotations

from pointsman.error_codes import CATALOGUE


def as_markdown() -> str:
    """The page ``docs/errors.md``."""
    lines = [
        "# Error codes",
        "",
        "Every error has one of these codes. The command line prints it in brackets, `--json` as `code`,",
        "and in Python it is `error.code`. This page is written by `python scripts/error_page.py`.",
        "",
        "| code | what it means | what to do |",
        "|---|---|---|",
    ]
    rows = (f"| `{code}` | {entry.meaning} | {entry.help} |" for code, entry in CATALOGUE.items())
    return "\n".join([*lines, *(row.replace("{{", "&#123;&#123;") for row in rows), ""])


if __name__ == "__main__":
    print(as_markdown(), end="")
