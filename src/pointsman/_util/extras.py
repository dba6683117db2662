"""Packages that come with an extra, and the error that names it."""

from __future__ import annotations

from importlib.util import find_spec

from pointsman.errors import MissingExtraError

EXTRAS = {"numpy": "columns", "numba": "columns", "pyarrow": "columns", "pyspark": "spark", "pandas": "spark"}
"""The extra that brings a package."""


def is_installed(package: str) -> bool:
    """Whether a package can be imported. Does not import it."""
    return find_spec(package) is not None


def require(*packages: str) -> None:
    """Raises ``MissingExtraError``, which names the extra, if one of these packages is not installed."""
    for package in packages:
        if not is_installed(package):
            raise MissingExtraError(EXTRAS[package], package)


def as_missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """The error for a module that could not be imported, if an extra brings it."""
    package = (error.name or "").partition(".")[0]
    return MissingExtraError(EXTRAS[package], package) if package in EXTRAS else None
