"""The YAML of a routing table: the file, those it includes, and what an environment changes, put together."""

from __future__ import annotations

from pathlib import Path

from pointsman.errors import InputError
from pointsman.table.yaml_text import Node, read_yaml

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
        raise _mistake(include, "a text that is no file cannot include others")
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
            raise _mistake(node, "an included file is named by a text")
        try:
            target = (path.parent / node.value).resolve()
            is_file = target.is_file()
        except (OSError, ValueError) as error:
            raise _mistake(node, f"no file can have this name: {getattr(error, 'strerror', None) or error}") from None
        if not target.is_relative_to(self.folder):
            raise _mistake(node, f"{node.value!r} lies outside the folder of the table")
        if target in self.open or target == path:
            raise _mistake(node, f"{node.value!r} includes itself")
        if self.count >= MAXIMUM_FILES:
            raise _mistake(node, f"there are more than {MAXIMUM_FILES} files")
        self.seen.setdefault(target, stamp(target))
        if not is_file:
            raise _mistake(node, f"there is no file {node.value!r}")
        return target


def _put_before(root: Node, other: Node) -> None:
    """Puts the sections of an included file before those of the file itself."""
    if other.children is None and other.value is None:
        return
    if not isinstance(other.children, dict) or not isinstance(root.children, dict):
        raise _mistake(other, "an included file is a mapping of sections")
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
            raise _mistake(section, f"an included file cannot hold {key!r}")


def _joined(first: dict[str, Node], second: dict[str, Node]) -> dict[str, Node]:
    for key, node in second.items():
        if key in first:
            known = first[key]
            raise _mistake(node, f"{key!r} is there already, in {known.file}:{known.key_line}")
    return first | second


def _section(root: Node, name: str) -> Node | None:
    return root.children.get(name) if isinstance(root.children, dict) else None


def _mistake(node: Node, problem: str) -> InputError:
    return InputError("bad-include", problem, file=node.file, line=node.line, column=node.column)


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError("bad-yaml", f"byte {error.start + 1} is not UTF-8", file=name) from None
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror}", file=name) from None
