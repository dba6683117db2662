"""The shape of a table, and every mistake in it with its place."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from pointsman.access.rules import Path, write_path
from pointsman.errors import InputError, PointsmanError
from pointsman.table.loading.yaml import Node
from pointsman.table.route import Place


def read_shape(root: Node, model: Any) -> tuple[Any, list[PointsmanError]]:
    """The tree as a model of pydantic and no mistakes, or None and all of them."""
    from pydantic import ValidationError

    data = root.plain()
    try:
        return model.model_validate({} if data is None else data), []
    except ValidationError as error:
        return None, list(_mistakes(root, model, error.errors(include_url=False)))


def without_mistakes(root: Node, model: Any) -> Node:
    """The tree without the entries, or whole sections, whose shape is wrong, so that the others can be read on."""
    from pydantic import ValidationError

    try:
        model.model_validate(root.plain())
    except ValidationError as error:
        wrong = {_real_path(root, each["loc"])[0][:2] for each in error.errors(include_url=False)}
        sections = root.children if isinstance(root.children, dict) else {}
        kept = {name: _without(section, name, wrong) for name, section in sections.items() if (name,) not in wrong}
        return Node(None, root.file, root.line, root.column, kept)
    return root


def _without(section: Node, name: str, wrong: set[Path]) -> Node:
    children: Any = section.children
    if isinstance(children, dict):
        children = {key: child for key, child in children.items() if (name, key) not in wrong}
    elif isinstance(children, list):
        children = [child for number, child in enumerate(children) if (name, number) not in wrong]
    return Node(section.value, section.file, section.line, section.column, children)


def mistake(node: Node, code: str, problem: str, *, at_key: bool = False) -> InputError:
    """An error at the place of a node, or of its key."""
    line, column = (node.key_line, node.key_column) if at_key else (node.line, node.column)
    return InputError(code, problem, file=node.file, line=line, column=column)


def place_of(node: Node) -> Place:
    """Where a node stands."""
    return Place(node.file, node.line, node.column)


def _mistakes(root: Node, model: Any, errors: list[Any]) -> Iterator[InputError]:
    seen: set[tuple[str, int, int]] = set()
    for error in errors:
        path, node = _real_path(root, error["loc"])
        found = _mistake(node, path, model, error)
        place = (found.file or "", found.line or 0, found.column or 0)
        # What may be one of several things fails as each of them.
        if place not in seen:
            seen.add(place)
            yield found


def _mistake(node: Node, path: Path, model: Any, error: Any) -> InputError:
    where = write_path(path)
    if error["type"] == "extra_forbidden":
        close = get_close_matches(str(path[-1]), _keys_of(model, path[:-1]), n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        return mistake(node, "unknown-key", f"there is no key {path[-1]!r} here{meant}", at_key=True)
    if error["type"] == "missing":
        return mistake(node, "missing-key", f"{where or 'the table'} has no {error['loc'][-1]!r}")
    problem = error["msg"].removeprefix("Value error, ")
    return mistake(node, "bad-table", f"{where or 'the table'}: {problem[0].lower()}{problem[1:]}")


def _real_path(root: Node, path: Path) -> tuple[Path, Node]:
    """The steps of a path that are there in the tree, and the node they lead to."""
    node, steps = root, []
    for step in path:
        found = node.step(step)
        if found is not None:
            node = found
            steps.append(step)
    return tuple(steps), node


def _keys_of(model: Any, path: Path) -> list[str]:
    """The keys that a mapping at this path may have, as far as the models tell."""
    found = [model]
    for step in path:
        found = [inner for each in found for inner in _inner(each, step)]
    return [field.alias or name for each in found for name, field in each.model_fields.items()]


def _inner(model: Any, step: str | int) -> list[Any]:
    if isinstance(step, int) or step not in model.model_fields:
        return [model]
    return _models_in(model.model_fields[step].annotation)


def _models_in(annotation: Any) -> list[Any]:
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for each in getattr(annotation, "__args__", ()) for model in _models_in(each)]
