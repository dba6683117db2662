"""The document of a routing table: the file and those that it includes, with an environment applied."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from pointsman.errors import InputError
from pointsman.table.loading.validation import place_of
from pointsman.table.loading.yaml import Node, read_yaml
from pointsman.table.route import Place


@contextmanager
def without_collector() -> Iterator[None]:
    """Keeps the collector from going through a million new objects again and again; it goes on afterwards.

    It stands still for all threads of the process meanwhile. Memory that only it could free waits as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# -- what an environment changes: an overlay of the table, applied before anything is read from it


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
                raise _bad_overlay(node, f"there is no {node.value!r} in {name} to remove")
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
            raise _bad_overlay(node, "an entry of an environment has a name, which says what it changes")
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


def _bad_overlay(node: Node, problem: str) -> InputError:
    return InputError("bad-overlay", problem, file=node.file, line=node.line, column=node.column)


MAXIMUM_FILES = 100
Stamp = tuple[int, int]
"""The time of a file's last change and its size; zeros if it cannot be found."""
LISTS = ("routes", "translations", "expectations", "silence")
MAPPINGS = ("destinations", "access", "sagas", "standards", "environments")


def read_document(path: Path, seen: dict[Path, Stamp] | None = None) -> Node:
    """The tree of a file, with what it includes put before what it says itself.

    Lists follow each other, mappings are put together; a key that two files have is a mistake. Other settings are those
    of the file itself. Included files are named relative to the file that includes them, and stay within the folder of
    the first one. ``seen`` gets the stamp of every file, taken before it is read, also of one that cannot be read.
    Raises ``InputError``: ``no-file``, ``bad-yaml``, ``yaml-limit``, ``bad-include``.
    """
    return _Includer(path, {} if seen is None else seen).read(path.resolve())


def stamp(path: Path) -> Stamp:
    """What tells one version of a file from the next."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def parse_document(text: str, file: str) -> Node:
    """The tree of a text, which includes nothing. Raises ``InputError``."""
    root = read_yaml(text, file)
    include = _section(root, "include")
    if include is not None and include.children:
        raise _bad_include(include, "a text that is no file cannot include others")
    return root


class _Includer:
    def __init__(self, path: Path, seen: dict[Path, Stamp]) -> None:
        self.folder = path.resolve().parent
        self.seen = seen
        self.shown = path.parent
        self.open: list[Path] = []
        self.count = 0

    def read(self, path: Path) -> Node:
        self.count += 1
        self.seen.setdefault(path, stamp(path))
        root = read_yaml(_text(path, self.name(path)), self.name(path))
        include = _section(root, "include")
        if include is None or not isinstance(include.children, list):
            return root
        self.open.append(path)
        for node in include.children:
            _put_before(root, self.read(self.included(node, path)))
        self.open.pop()
        return root

    def name(self, path: Path) -> str:
        return str(self.shown / path.relative_to(self.folder))

    def included(self, node: Node, path: Path) -> Path:
        """The file that an entry names, if it may be read."""
        if not isinstance(node.value, str) or not node.value:
            raise _bad_include(node, "an included file is named by a text")
        try:
            target = (path.parent / node.value).resolve()
            is_file = target.is_file()
        except (OSError, ValueError) as error:
            raise _bad_include(
                node, f"no file can have this name: {getattr(error, 'strerror', None) or error}"
            ) from None
        if not target.is_relative_to(self.folder):
            raise _bad_include(node, f"{node.value!r} lies outside the folder of the table")
        if target in self.open or target == path:
            raise _bad_include(node, f"{node.value!r} includes itself")
        if self.count >= MAXIMUM_FILES:
            raise _bad_include(node, f"there are more than {MAXIMUM_FILES} files")
        self.seen.setdefault(target, stamp(target))
        if not is_file:
            raise _bad_include(node, f"there is no file {node.value!r}")
        return target


def _put_before(root: Node, other: Node) -> None:
    """Puts the sections of an included file before those of the file itself."""
    if other.children is None and other.value is None:
        return
    if not isinstance(other.children, dict) or not isinstance(root.children, dict):
        raise _bad_include(other, "an included file is a mapping of sections")
    for key, section in other.children.items():
        if key == "include":
            continue
        own = root.children.get(key)
        if key == "translations" and own is not None and isinstance(own.children, dict):
            own = own.children.setdefault("rules", Node(None, own.file, own.line, own.column, []))
        if key in LISTS and isinstance(section.children, list):
            if own is not None and isinstance(own.children, list):
                own.children[:0] = section.children
            else:
                root.children[key] = section
        elif key in MAPPINGS and isinstance(section.children, dict):
            if own is not None and isinstance(own.children, dict):
                own.children = _joined(section.children, own.children)
            else:
                root.children[key] = section
        else:
            raise _bad_include(section, f"an included file cannot hold {key!r}")


def _joined(first: dict[str, Node], second: dict[str, Node]) -> dict[str, Node]:
    for key, node in second.items():
        if key in first:
            known = first[key]
            raise _bad_include(node, f"{key!r} is there already, in {known.file}:{known.key_line}")
    return first | second


def _section(root: Node, name: str) -> Node | None:
    return root.children.get(name) if isinstance(root.children, dict) else None


def _bad_include(node: Node, problem: str) -> InputError:
    return InputError("bad-include", problem, file=node.file, line=node.line, column=node.column)


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError("bad-yaml", f"byte {error.start + 1} is not UTF-8", file=name) from None
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror}", file=name) from None


# -- where the entries of a section are written, for tools that name them


def places_in(path: Path, section: str, environment: str | None = None) -> list[Place]:
    """The places of the entries of a list, in their order; none when there is no such list.

    Raises ``InputError`` as ``RoutingTable.load`` does for a file that cannot be read.
    """
    found = choose_environment(read_document(path), environment).step(section)
    if found is not None:
        found = found.step("rules") or found
    if found is None or not isinstance(found.children, list):
        return []
    return [place_of(node) for node in found.children]
