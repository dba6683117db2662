"""What an environment changes: an overlay of the table, applied before anything is read from it."""

from __future__ import annotations

from difflib import get_close_matches

from pointsman.errors import InputError
from pointsman.table.yaml_text import Node


def choose_environment(root: Node, environment: str | None) -> Node:
    """The tree with the overlay of the environment applied and all overlays taken away.

    Destinations and access are changed by their key, routes, translations and expectations by their name: the fields of
    an entry that is there already are replaced, one that is not there is added at the end. ``remove`` takes entries
    away first. Raises ``InputError`` (``unknown-environment``, ``bad-overlay``).
    """
    if not isinstance(root.children, dict):
        return root
    sections = dict(root.children)
    overlays = sections.pop("environments", None)
    known = overlays.children if overlays is not None and isinstance(overlays.children, dict) else {}
    changed = Node(None, root.file, root.line, root.column, sections)
    if environment is None:
        return changed
    if environment not in known:
        close = get_close_matches(environment, known, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known) or 'none'}"
        raise InputError("unknown-environment", f"there is no environment {environment!r}{meant}", file=root.file)
    overlay = known[environment]
    translations = sections.get("translations")
    applied = translations is not None and isinstance(translations.children, dict)
    if translations is not None and applied:
        # The rules are what is changed; how they are applied stays.
        sections["translations"] = translations.step("rules") or Node(None, root.file, root.line, root.column, [])
    if isinstance(overlay.children, dict):
        if "remove" in overlay.children:
            _remove(sections, overlay.children["remove"])
        for name, section in overlay.children.items():
            if name in ("destinations", "access"):
                sections[name] = _with_keys(sections.get(name), section)
            elif name in ("routes", "translations", "expectations"):
                sections[name] = _with_names(sections.get(name), section, named=name != "expectations")
    if translations is not None and applied:
        sections["translations"] = _with_fields(translations, _mapping(translations, rules=sections["translations"]))
    return changed


def environments_of(root: Node) -> list[str]:
    """The names of the environments of a table, in their order."""
    overlays = root.step("environments")
    return list(overlays.children) if overlays is not None and isinstance(overlays.children, dict) else []


def _remove(sections: dict[str, Node], removal: Node) -> None:
    for name, wanted in (removal.children if isinstance(removal.children, dict) else {}).items():
        section = sections.get(name)
        for node in wanted.children if isinstance(wanted.children, list) else []:
            if section is not None and isinstance(section.children, dict) and node.value in section.children:
                rest = {key: child for key, child in section.children.items() if key != node.value}
                section = Node(None, section.file, section.line, section.column, rest)
            elif section is not None and isinstance(section.children, list) and _named(section.children, node.value):
                others = [child for child in section.children if _name(child) != node.value]
                section = Node(None, section.file, section.line, section.column, others)
            else:
                raise _mistake(node, f"there is no {node.value!r} in {name} to remove")
        if section is not None:
            sections[name] = section


def _with_keys(section: Node | None, overlay: Node) -> Node:
    children = dict(section.children) if section is not None and isinstance(section.children, dict) else {}
    for key, node in (overlay.children if isinstance(overlay.children, dict) else {}).items():
        children[key] = _with_fields(children.get(key), node)
    place = section or overlay
    return Node(None, place.file, place.line, place.column, children)


def _with_names(section: Node | None, overlay: Node, *, named: bool) -> Node:
    children = list(section.children) if section is not None and isinstance(section.children, list) else []
    for node in overlay.children if isinstance(overlay.children, list) else []:
        name = _name(node)
        if name is None and named:
            raise _mistake(node, "an entry of an environment has a name, which says what it changes")
        places = [place for place, child in enumerate(children) if name is not None and _name(child) == name]
        if places:
            children[places[0]] = _with_fields(children[places[0]], node)
        else:
            children.append(node)
    place = section or overlay
    return Node(None, place.file, place.line, place.column, children)


def _mapping(place: Node, **children: Node) -> Node:
    return Node(None, place.file, place.line, place.column, children)


def _with_fields(own: Node | None, changes: Node) -> Node:
    if own is None or not isinstance(own.children, dict) or not isinstance(changes.children, dict):
        return changes
    return Node(None, own.file, own.line, own.column, own.children | changes.children)


def _named(children: list[Node], name: object) -> bool:
    return any(_name(child) == name for child in children)


def _name(node: Node) -> object:
    return node.children["name"].value if isinstance(node.children, dict) and "name" in node.children else None


def _mistake(node: Node, problem: str) -> InputError:
    return InputError("bad-overlay", problem, file=node.file, line=node.line, column=node.column)
