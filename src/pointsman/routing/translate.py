"""Translation: from a subject to another one, by the first rule that matches.

Rules are asked in their order, and at most one is applied: what it makes is not translated again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pointsman.patterns.subject import Subject
from pointsman.patterns.template import Template

NO_MATCH = "its pattern does not match"


@dataclass(frozen=True, slots=True)
class Rule:
    """A named translation; its pattern is ``template.source``."""

    name: str
    template: Template


@dataclass(frozen=True, slots=True)
class Unused:
    """A rule that was not applied, and why."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of a subject."""

    subject: str | None
    """The new subject; None when no rule matches."""
    rule: Rule | None
    """The rule that was applied."""
    unused: tuple[Unused, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """A rule that loses information: two subjects may become one."""

    rule: Rule
    wildcards: tuple[int, ...]
    """The numbers of the wildcards that cannot be read back from the result."""


def translate(rules: Iterable[Rule], subject: str | Subject) -> str | None:
    """The new subject by the first rule that matches; None when none does.

    Raises ``SubjectError`` when the subject is not valid in the dialect of a rule that is asked, and ``TemplateError``
    (``invalid-result``) when what comes out is no subject.
    """
    for rule in rules:
        made = rule.template.apply(subject)
        if made is not None:
            return made
    return None


def explain(rules: Iterable[Rule], subject: str | Subject) -> Translation:
    """As ``translate``, with the rule that was applied and the reason for each that was not; raises as it does."""
    made: str | None = None
    applied: Rule | None = None
    unused: list[Unused] = []
    for rule in rules:
        if applied is not None:
            matches = rule.template.source.matches(subject)
            unused.append(Unused(rule, f"{applied.name!r} comes first" if matches else NO_MATCH))
        elif (made := rule.template.apply(subject)) is not None:
            applied = rule
        else:
            unused.append(Unused(rule, NO_MATCH))
    return Translation(made, applied, tuple(unused))


def lossy(rules: Iterable[Rule]) -> tuple[Loss, ...]:
    """The rules that lose information, and what they lose."""
    return tuple(Loss(rule, rule.template.loses) for rule in rules if rule.template.loses)
