"""Reading conformance files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pointsman.errors import InputError

Case = dict[str, Any]


def load_cases(path: Path) -> list[Case]:
    """The cases of a file.

    Raises ``InputError`` when the file cannot be read, is not JSON, or does not hold a list of objects.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no-file", f"cannot read it: {error}", file=file) from None
    try:
        cases = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError("bad-json", error.msg, file=file, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:
        raise InputError("bad-json", str(error), file=file) from None
    if not isinstance(cases, list):
        raise InputError("bad-case", "the file does not hold a list of cases", file=file)
    for number, case in enumerate(cases, 1):
        if not isinstance(case, dict):
            raise InputError("bad-case", f"case {number} is not an object", file=file)
    return cases
