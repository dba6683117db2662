"""Translations as Spark's own functions: nothing of a message leaves the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pointsman.patterns.dialect import Dialect
from pointsman.pipeline.template_plan import Rest, TemplatePlan, Token, no_subject

if TYPE_CHECKING:
    from pyspark.sql import Column


def tokens_of(subject: Column, dialect: Dialect) -> Column:
    """The tokens of a text; NULL when it is NULL or no subject of the dialect."""
    from pyspark.sql import functions as sf

    tokens = sf.split(subject, re.escape(dialect.separator))
    if dialect.empty_subject:
        tokens = sf.when(subject == "", sf.array().cast("array<string>")).otherwise(tokens)
    return sf.when(_is_subject(subject, dialect), tokens)


def _is_subject(subject: Column, dialect: Dialect) -> Column:
    """Whether ``Subject`` takes the text, for the dialects that have plans."""
    from pyspark.sql import functions as sf

    valid = sf.is_valid_utf8(subject)
    if dialect.maximum_bytes is not None:
        valid &= sf.octet_length(subject) <= dialect.maximum_bytes
    faults = "|".join(_faults(dialect))
    return valid & ~subject.rlike(faults) if faults else valid


def _faults(dialect: Dialect) -> Iterable[str]:
    """Regular expressions of Java for what a subject of the dialect may not hold anywhere.

    None of them repeats anything: Java would go down a level for each repetition of a group, and run out of stack.
    """
    forbidden = dialect.forbidden | dialect.forbidden_in_subject
    if forbidden:
        yield f"[{''.join(map(_escaped, sorted(forbidden)))}]"
    if not dialect.empty_subject:
        yield r"\A\z"
    separator = _escaped(dialect.separator)
    if not dialect.empty_tokens:
        yield rf"\A{separator}|{separator}{separator}|{separator}\z"
    for token in sorted(dialect.forbidden_tokens):
        yield rf"(?:\A|{separator}){''.join(map(_escaped, token))}(?:{separator}|\z)"


def _escaped(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"


def translated(plans: Sequence[TemplatePlan], subject: str, tokens: Mapping[str, str]) -> str:
    """What the first plan that matches makes: a struct of the new ``subject`` and the number of the ``plan``.

    NULL when none matches. It is an expression of SQL, because Spark reads a long one in a moment, while each call that
    puts one together in Python takes its time. ``subject`` and ``tokens`` are the names of columns: what ``tokens_of``
    gives, by the names of dialects.
    """
    branches = [
        f"WHEN {_matches(plan, subject, tokens[plan.dialect.name])} "
        f"THEN named_struct('subject', {_made(plan, subject, tokens[plan.dialect.name])}, 'plan', {number})"
        for number, plan in enumerate(plans)
    ]
    return f"CASE {' '.join(branches)} END"


def fault(plans: Sequence[TemplatePlan], made: str) -> str:
    """Why what ``translated`` made, in the column of this name, is no subject; NULL when it is one.

    What is put together from the tokens of a subject and those of a template can only be too long, or empty.
    """
    size = f"octet_length({made}.subject)"
    branches: list[str] = []
    for number, plan in enumerate(plans):
        dialect = plan.dialect
        if dialect.empty_tokens and not dialect.empty_subject:
            problem = no_subject(plan.template, f"{dialect.with_article} subject cannot be empty")
            branches.append(f"WHEN {made}.plan = {number} AND {size} = 0 THEN {_literal(problem)}")
        if dialect.maximum_bytes is not None:
            problem = f"in {dialect}, a subject has at most {dialect.maximum_bytes} bytes; this one has "
            told = f"concat({_literal(no_subject(plan.template, problem))}, {size})"
            branches.append(f"WHEN {made}.plan = {number} AND {size} > {dialect.maximum_bytes} THEN {told}")
    return f"CASE {' '.join(branches)} END" if branches else "CAST(NULL AS STRING)"


def _matches(plan: TemplatePlan, subject: str, tokens: str) -> str:
    terms = [f"size({tokens}) {'>=' if plan.is_open else '='} {plan.least}"]
    terms += [f"get({tokens}, {place}) = {_literal(text)}" for place, text in plan.literals]
    if plan.hides_dollar:
        terms.append(f"NOT startswith({subject}, '$')")
    return " AND ".join(terms)


def _made(plan: TemplatePlan, subject: str, tokens: str) -> str:
    if plan.pieces is None:
        return subject
    parts: list[str] = []
    for piece in plan.pieces:
        match piece:
            case Token(place):
                parts.append(f"get({tokens}, {place})")
            case Rest(place):
                parts.append(f"slice({tokens}, {place + 1}, size({tokens}))")
            case _:
                parts.append(_literal(piece))
    return f"concat_ws({_literal(plan.dialect.separator)}, {', '.join(parts)})"


def _literal(text: str) -> str:
    """A text in SQL, whatever it holds and however the session reads the escapes of texts."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
