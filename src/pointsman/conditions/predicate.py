"""SQL predicates over messages."""

from __future__ import annotations

from collections.abc import Callable

from pointsman.conditions.compiler import compile_holds, compile_value
from pointsman.conditions.nodes import Field, Node, Truth, fields_of
from pointsman.conditions.sql_parser import parse_predicate
from pointsman.message import Message


class FunctionPredicate:
    """A Python function from a message to whether it holds, in the place of a predicate.

    Tools over a table read it as a field of its own of which nothing is known. On Spark there is none.
    """

    __slots__ = ("_function", "fields", "text", "tree")

    def __init__(self, name: str, function: Callable[[Message], object]) -> None:
        self.text = f"{name}(message)"
        self.tree: Node = Truth(Field("function", (name,)))
        self.fields: frozenset[Field] = frozenset()
        self._function = function

    def holds(self, message: Message) -> bool:
        """Whether the function says so; raises what it raises."""
        return bool(self._function(message))


class Predicate:
    """A boolean expression of SQL over the fields of a message; it never changes and is safe between threads.

    Two predicates are equal when their texts are. What may stand in the text, and what it means, is in
    ``docs/predicates.md``. Raises ``PredicateError`` with the column of what is wrong.

    >>> large = Predicate("body.amount > 1000 AND metadata['region'] = 'EU'")
    >>> large.holds(Message("orders.created", b'{"amount": 2500}', metadata={"region": "EU"}))
    True
    """

    __slots__ = ("_holds", "_value", "fields", "text", "tree")

    text: str
    tree: Node
    fields: frozenset[Field]

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parse_predicate(text)
        self.fields = fields_of(self.tree)
        self._holds = compile_holds(self.tree)
        self._value = compile_value(self.tree)

    def holds(self, message: Message) -> bool:
        """Whether the predicate is TRUE for the message. The body is parsed at most once, and only if it matters."""
        return self._holds(message, [])

    def value(self, message: Message) -> bool | None:
        """What the predicate is for the message: True, False, or None for NULL.

        >>> Predicate("metadata.size > 5").value(Message("a", metadata={"size": "large"}))

        """
        return self._value(message, [])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Predicate({self.text!r})"

    def __reduce__(self) -> tuple[type[Predicate], tuple[str]]:
        # Closures cannot be sent to another process; the text can.
        return Predicate, (self.text,)
