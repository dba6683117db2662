"""Naming standards: what each token of a subject is called, and which words it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType

from pointsman.errors import NamingError, PointsmanError
from pointsman.patterns.dialect import NATS, Dialect, find_dialect
from pointsman.patterns.subject import Subject


@dataclass(frozen=True, slots=True)
class Field:
    """One token of a standard."""

    name: str
    vocabulary: Mapping[str, str] = field(default_factory=dict)
    """The words it may be, each with what it means; empty when every word will do."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", MappingProxyType(dict(self.vocabulary)))


@dataclass(frozen=True, slots=True)
class NamingStandard:
    """A named sequence of fields. Teams declare their own; ``CIM`` ships with Pointsman.

    Raises ``NamingError`` (``bad-standard``) when it has no field, or two of one name.
    """

    name: str
    fields: tuple[Field, ...]
    dialect: Dialect = NATS

    def __post_init__(self) -> None:
        object.__setattr__(self, "dialect", find_dialect(self.dialect))
        names = [each.name for each in self.fields]
        if not names or len(set(names)) < len(names) or not all(names):
            raise NamingError("bad-standard", f"the fields of the naming standard {self.name!r} are {names}")

    @property
    def shape(self) -> str:
        """The standard as one writes it down.

        >>> CIM.shape
        '{domain}.{message_type}.{aggregate}.{action}'
        """
        return self.dialect.separator.join("{" + each.name + "}" for each in self.fields)

    def parse(self, subject: str | Subject) -> dict[str, str]:
        """The parts of a subject by the names of their fields.

        >>> CIM.parse("graph.events.structure.node_added")["aggregate"]
        'structure'

        Raises ``NamingError`` that names the field and the words it may be, and ``SubjectError`` when the text is no
        subject at all.
        """
        subject = Subject.of(subject, self.dialect)
        if len(subject.tokens) != len(self.fields):
            raise NamingError(
                "wrong-shape",
                f"{subject.text!r} has {len(subject.tokens)} tokens, {self.name} has {len(self.fields)}: {self.shape}",
                text=subject.text,
            )
        column = 1
        for each, token in zip(self.fields, subject.tokens, strict=True):
            self._check(each, token, subject.text, column)
            column += len(token) + 1
        return {each.name: token for each, token in zip(self.fields, subject.tokens, strict=True)}

    def build(self, **parts: str) -> Subject:
        """The subject of these parts.

        >>> str(CIM.build(domain="graph", message_type="commands", aggregate="structure", action="add_node"))
        'graph.commands.structure.add_node'

        Raises ``NamingError`` when a part is missing, unknown or outside its vocabulary, ``SubjectError`` when one
        cannot be a token.
        """
        names = [each.name for each in self.fields]
        if sorted(parts) != sorted(names):
            raise NamingError("wrong-shape", f"{self.name} asks for {', '.join(names)}; given were {', '.join(parts)}")
        for name in names:
            if self.dialect.separator in parts[name]:
                raise NamingError(
                    "wrong-shape", f"the {name} {parts[name]!r} holds the separator {self.dialect.separator!r}"
                )
        subject = Subject(self.dialect.separator.join(parts[name] for name in names), self.dialect)
        self.parse(subject)
        return subject

    def allows(self, subject: str | Subject) -> bool:
        """Whether the subject keeps to the standard; never raises."""
        try:
            self.parse(subject)
        except PointsmanError:
            return False
        return True

    def _check(self, each: Field, token: str, text: str, column: int) -> None:
        if not each.vocabulary or token in each.vocabulary:
            return
        close = get_close_matches(token, each.vocabulary, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise NamingError(
            "unknown-word",
            f"{token!r} is no {each.name} of {self.name}, which are {', '.join(each.vocabulary)}{meant}",
            text=text,
            column=column,
        )


CIM = NamingStandard(
    "cim",
    (
        Field(
            "domain",
            {
                "graph": "graph structure and operations",
                "workflow": "workflow execution and state",
                "location": "spatial and location services",
                "identity": "authentication and authorization",
                "document": "document management",
                "persistence": "storage operations",
                "intelligence": "AI and ML operations",
            },
        ),
        Field(
            "message_type",
            {
                "commands": "state change requests",
                "events": "state change notifications",
                "queries": "read requests",
                "responses": "query responses",
                "errors": "error notifications",
            },
        ),
        Field("aggregate"),
        Field("action"),
    ),
)

STANDARDS: Mapping[str, NamingStandard] = MappingProxyType({CIM.name: CIM})
