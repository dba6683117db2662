"""Secrets in options: written as ``${NAME}`` or ``file:PATH``, and shown as ``***``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pointsman.errors import InputError

HIDDEN = "***"
FILE = "file:"
_SECRET_KEY = re.compile(r"passw|secret|token|authori[sz]ation|api[-_]?key|credential|cookie|jaas", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/@\s:]*):([^/@\s]*)@")
_SECRET_IN_QUERY = re.compile(r"([?&][^=&#\s]*(?:passw|secret|token|key|sig)[^=&#\s]*=)[^&#\s]+", re.IGNORECASE)


def reveal(value: Any, folder: Path, key: str = "") -> Any:
    """The value with its secrets in it, all the way down.

    ``${NAME}`` in a text is an environment variable. A text ``file:PATH`` under a key that is a secret's is what the
    file says, without the line break at its end; a relative path is relative to ``folder``. Raises ``InputError``
    (``bad-secret``), which names the variable or the file and never what it holds.
    """
    if isinstance(value, Mapping):
        return {name: reveal(each, folder, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [reveal(each, folder, key) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith(FILE) and is_secret(key):
        path = folder / value.removeprefix(FILE)
        try:
            return path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8, or its name holds a NUL"
            raise InputError("bad-secret", f"option {key!r}: {value!r} cannot be read: {why}") from None
    return _VARIABLE.sub(lambda found: _variable(found[1], key), value)


def hide(value: Any, key: str = "") -> Any:
    """The value as it may be shown: what is under a secret's key, and passwords in URLs, as ``***``.

    >>> hide({"url": "https://ada:pw@host/in?token=7", "headers": {"Authorization": "Bearer 1", "x": "y"}})
    {'url': 'https://ada:***@host/in?token=***', 'headers': {'Authorization': '***', 'x': 'y'}}
    """
    if isinstance(value, Mapping):
        return {name: hide(each, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [hide(each, key) for each in value]
    if value is not None and is_secret(key):
        return value if isinstance(value, str) and is_reference(value) else HIDDEN
    return hide_in_text(value) if isinstance(value, str) else value


def hide_in_text(text: str) -> str:
    """The text with passwords and secret parameters of the URLs in it as ``***``."""
    return _SECRET_IN_QUERY.sub(rf"\1{HIDDEN}", _PASSWORD_IN_URL.sub(rf"\1:{HIDDEN}@", text))


def plain_secrets(value: Any, key: str = "", path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths to secrets that are written out instead of being named."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from plain_secrets(each, str(name), (*path, str(name)))
    elif isinstance(value, str) and value:
        password = None if "://" not in value else _password(value)
        if (is_secret(key) and not is_reference(value)) or (password and not is_reference(password)):
            yield path


def is_secret(key: str) -> bool:
    """Whether what is under this key is a secret."""
    return _SECRET_KEY.search(key) is not None


def is_reference(text: str) -> bool:
    """Whether the text names a secret instead of being one."""
    return text.startswith(FILE) or _VARIABLE.search(text) is not None


def _password(url: str) -> str | None:
    try:
        return urlsplit(url).password
    except ValueError:
        return None


def _variable(name: str, key: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise InputError("bad-secret", f"option {key!r}: the environment variable {name!r} is not set")
    return value
