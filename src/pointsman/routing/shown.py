"""How a value from outside is shown in an error: shortly, whatever it is."""

from __future__ import annotations

LENGTH = 40


def shown(value: object) -> str:
    """The value if it is a text, a number, true, false or nothing, cut where it is long; otherwise its type.

    >>> shown("x"), shown(10**9999), shown([[1]])
    ("'x'", 'a number of many digits', 'a value of the type list')
    """
    if isinstance(value, int) and value.bit_length() > LENGTH:
        return "a number of many digits"
    if isinstance(value, str):
        return repr(value) if len(value) <= LENGTH else f"{value[:LENGTH]!r}…"
    return (
        repr(value)
        if value is None or isinstance(value, int | float)
        else f"a value of the type {type(value).__name__}"
    )
