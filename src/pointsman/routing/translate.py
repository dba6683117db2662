"""Translation: from a subject to another one, by the first rule that matches, or by each in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from random import random

from pointsman.errors import SubjectError, TemplateError
from pointsman.message import Message
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject
from pointsman.patterns.template import Random, Template

FIELDS = tuple(field.name for field in fields(Message))
NO_MATCH = "its pattern does not match"


@dataclass(frozen=True, slots=True)
class FunctionTemplate:
    """A Python function from a subject to the new one, or to None if it stays; in the place of a template."""

    text: str
    """The name of the function."""
    source: Pattern
    function: Callable[[str], str | None]
    loses: tuple[int, ...] = ()
    is_random: bool = False

    def apply(self, subject: str | Subject, _: Random = random) -> str | None:
        """The new subject; None when the pattern does not match, or the function gives None.

        Raises as ``Template.apply``, and what the function raises.
        """
        subject = Subject.of(subject, self.source.dialect)
        made = self.function(subject.text) if self.source.matches(subject) else None
        if made is not None:
            try:
                Subject(made, self.source.dialect)
            except SubjectError as error:
                problem = f"{self.text}({subject.text!r}) gives {made!r}, which is no subject: {error.problem}"
                raise TemplateError("invalid-result", problem, text=self.text) from error
        return made


@dataclass(frozen=True, slots=True)
class Rule:
    """A named translation; its pattern is ``template.source``."""

    name: str
    template: Template | FunctionTemplate


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


class TranslatedMessage(Message):
    """A message under its new subject, as predicates and keys see it; ``original_subject`` is the one it came with."""

    __slots__ = ("original_subject",)

    @classmethod
    def of(cls, message: Message, subject: str) -> TranslatedMessage:
        """The message, as it was received, under another subject; what was checked is not checked again."""
        made = object.__new__(cls)
        for name in FIELDS:
            object.__setattr__(made, name, getattr(message, name))
        object.__setattr__(made, "subject", subject)
        object.__setattr__(made, "original_subject", message.subject)
        return made


def translate(rules: Iterable[Rule], subject: str | Subject, random: Random = random) -> str | None:
    """The new subject by the first rule that matches; None when none does.

    Raises ``SubjectError`` when the subject is not valid in the dialect of a rule that is asked, and ``TemplateError``
    (``invalid-result``) when what comes out is no subject.
    """
    for rule in rules:
        made = rule.template.apply(subject, random)
        if made is not None:
            return made
    return None


def translate_in_turn(
    rules: Iterable[Rule], subject: str, random: Random = random
) -> tuple[str | None, tuple[Rule, ...]]:
    """The subject after each rule that matches what the ones before it made, and those rules; None when none does.

    A rule in whose dialect the subject is not valid does not match. Raises ``TemplateError`` as ``translate``.
    """
    made, applied = None, []
    for rule in rules:
        try:
            changed = rule.template.apply(subject if made is None else made, random)
        except SubjectError:
            continue
        if changed is not None:
            made = changed
            applied.append(rule)
    return made, tuple(applied)


def explain(rules: Iterable[Rule], subject: str | Subject, random: Random = random) -> Translation:
    """As ``translate``, with the rule that was applied and the reason for each that was not; raises as it does."""
    made: str | None = None
    applied: Rule | None = None
    unused: list[Unused] = []
    for rule in rules:
        if applied is not None:
            matches = rule.template.source.matches(subject)
            unused.append(Unused(rule, f"{applied.name!r} comes first" if matches else NO_MATCH))
        elif (made := rule.template.apply(subject, random)) is not None:
            applied = rule
        else:
            unused.append(Unused(rule, NO_MATCH))
    return Translation(made, applied, tuple(unused))


def lossy(rules: Iterable[Rule]) -> tuple[Loss, ...]:
    """The rules that lose information, and what they lose."""
    return tuple(Loss(rule, rule.template.loses) for rule in rules if rule.template.loses)
