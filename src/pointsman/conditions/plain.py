"""Plain data from outside, checked piece by piece; every error names the place inside the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pointsman.errors import InputError


def wrong(path: str, problem: str) -> InputError:
    """The error at a path inside the data; the empty path is all of it."""
    return InputError("bad-condition", f"{path or 'the condition'}: {problem}", text=path)


def checked_text(value: object, path: str, wanted: str) -> str:
    """The value if it is a text that UTF-8 can write."""
    if not isinstance(value, str):
        raise wrong(path, f"{wanted}, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(path, "the text holds a lone surrogate, which UTF-8 cannot write") from None
    return str(value)


def checked_flag(fields: Mapping[str, Any], name: str, path: str) -> bool:
    """The field of the name, which is true or false; false if it is left out."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise wrong(below(path, name), f"true or false, not {type(value).__name__}")
    return value


def checked_mapping(data: object, path: str) -> Mapping[str, Any]:
    """The data if it is an object."""
    if not isinstance(data, Mapping):
        raise wrong(path, f"an object with fields, not {type(data).__name__}")
    return data


def checked_list(data: object, path: str) -> list[Any] | tuple[Any, ...]:
    """The data if it is a list."""
    if not isinstance(data, list | tuple):
        raise wrong(path, f"a list, not {type(data).__name__}")
    return data


def check_fields(fields: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    """No field may have another name than these."""
    for name in fields:
        if name not in known:
            raise wrong(below(path, str(name)), f"there is no such field beside {', '.join(known)}")


def below(path: str, name: str) -> str:
    """The path of a field."""
    return f"{path}.{name}" if path else name
