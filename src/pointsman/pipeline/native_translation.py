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


def translated(plans: Sequence[TemplatePlan], subject: Column, tokens: Mapping[str, Column]) -> Column:
    """What the first plan that matches makes: a struct of the new ``subject`` and the number of the ``plan``.

    NULL when none matches. ``tokens`` are those of the subject, as ``tokens_of`` gives them, by the names of dialects.
    """
    from pyspark.sql import functions as sf

    chosen = sf.when(sf.lit(False), sf.lit(None).cast("struct<subject:string,plan:int>"))
    for number, plan in enumerate(plans):
        split = tokens[plan.dialect.name]
        made = sf.struct(_made(plan, subject, split).alias("subject"), sf.lit(number).alias("plan"))
        chosen = chosen.when(_matches(plan, subject, split), made)
    return chosen


def _matches(plan: TemplatePlan, subject: Column, tokens: Column) -> Column:
    from pyspark.sql import functions as sf

    count = sf.size(tokens)
    matches = count >= plan.least if plan.most is None else count == plan.most
    for place, text in plan.literals:
        matches &= sf.get(tokens, sf.lit(place)) == text
    return matches & ~subject.startswith("$") if plan.hides_dollar else matches


def _made(plan: TemplatePlan, subject: Column, tokens: Column) -> Column:
    from pyspark.sql import functions as sf

    if plan.pieces is None:
        return subject
    parts: list[Column] = []
    for piece in plan.pieces:
        match piece:
            case Token(place):
                parts.append(sf.get(tokens, sf.lit(place)))
            case Rest(place):
                parts.append(sf.slice(tokens, place + 1, sf.size(tokens)))
            case _:
                parts.append(sf.lit(piece))
    return sf.concat_ws(plan.dialect.separator, *parts)


def fault(plans: Sequence[TemplatePlan], made: Column) -> Column:
    """Why what ``translated`` made is no subject; NULL when it is one.

    What is put together from the tokens of a subject and those of a template can only be too long, or empty.
    """
    from pyspark.sql import functions as sf

    size = sf.octet_length(made["subject"])
    found = sf.when(sf.lit(False), sf.lit(None).cast("string"))
    for number, plan in enumerate(plans):
        dialect, is_of_it = plan.dialect, made["plan"] == number
        if dialect.empty_tokens and not dialect.empty_subject:
            problem = no_subject(plan.template, f"{dialect.with_article} subject cannot be empty")
            found = found.when(is_of_it & (size == 0), problem)
        if dialect.maximum_bytes is not None:
            problem = f"in {dialect}, a subject has at most {dialect.maximum_bytes} bytes; this one has "
            told = sf.concat(sf.lit(no_subject(plan.template, problem)), size)
            found = found.when(is_of_it & (size > dialect.maximum_bytes), told)
    return found
