"""A group whose commands are imported when they are called: its own help needs nothing but a sentence of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class Part(NamedTuple):
    """A command, or a group of commands: the place, ``module:name``, of its function or of its ``typer.Typer``."""

    name: str
    place: str
    sentence: str

    def load(self) -> Any:
        """Imports the module and makes the command."""
        module, _, name = self.place.partition(":")
        found = getattr(import_module(module), name)
        if isinstance(found, typer.Typer):
            return get_group(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(self.name)(found)
        return get_command(alone)


class _Commands(Mapping[str, Any]):
    """The commands by their names, each loaded the first time it is asked for."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = {part.name: part for part in parts}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._parts[name].load()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class PartsGroup(TyperGroup):
    """Has the commands of ``parts``, in that order, and no others."""

    parts: ClassVar[tuple[Part, ...]] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = _Commands(self.parts)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the names and sentences, and imports none of the commands for it."""
        described = [TyperCommand(part.name, help=part.sentence) for part in self.parts]
        TyperGroup(commands=described).format_commands(ctx, formatter)
