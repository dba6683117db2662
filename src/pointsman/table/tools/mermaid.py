"""Graphs as Mermaid text."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.table.tools.graph import Box, Graph

SAFE = frozenset(" _.,/$=+-()'")
"""Characters that mean nothing to Mermaid in a label, besides letters and digits."""
BRACKETS = {"pattern": ("([", "])"), "translation": ("[/", "/]"), "route": ("[", "]"), "destination": ("[(", ")]")}


def write_flowchart(graph: Graph) -> str:
    """The graph of a table, from left to right."""
    return "\n".join(_flowchart(graph)) + "\n"


def _flowchart(graph: Graph) -> Iterator[str]:
    yield "flowchart LR"
    for box in graph.boxes.values():
        opening, closing = BRACKETS[box.shape]
        yield f'    {box.key}{opening}"{_label(box)}"{closing}'
    for line in graph.lines:
        arrow = "-.->" if line.dashed else "-->"
        label = f'|"{escape(line.label)}"|' if line.label else ""
        yield f"    {line.start} {arrow}{label} {line.end}"


def write_state_diagram(graph: Graph) -> str:
    """The graph of a saga."""
    return "\n".join(_state_diagram(graph)) + "\n"


def _state_diagram(graph: Graph) -> Iterator[str]:
    yield "stateDiagram-v2"
    start = {box.key: "[*]" for box in graph.boxes.values() if box.shape == "start"}
    for box in graph.boxes.values():
        if box.key not in start:
            yield f'    state "{_label(box)}" as {box.key}'
    for line in graph.lines:
        label = f" : {escape(line.label)}" if line.label else ""
        yield f"    {start.get(line.start, line.start)} --> {line.end}{label}"
    for box in graph.boxes.values():
        if box.shape == "final":
            yield f"    {box.key} --> [*]"


def _label(box: Box) -> str:
    return "<br/>".join(escape(line) for line in box.lines)


def escape(text: str) -> str:
    """The text for a label: a character that could mean something to Mermaid, or to HTML, is written as its number.

    >>> escape('orders.> "new"')
    'orders.#62; #34;new#34;'
    """
    return "".join(
        character if character.isalnum() or character in SAFE else f"#{ord(character)};"
        for character in "".join(_visible(each) for each in text)
    )


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape", "backslashreplace").decode()
