"""The stage ``translate``: a message goes on under the subject that the first translation which matches makes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MissingExtraError, NamingError, SubjectError, TemplateError
from pointsman.pipeline.columns import MessageColumns, find
from pointsman.pipeline.native_translation import fault, tokens_of, translated
from pointsman.pipeline.problem import is_fine, refuse_functions, with_problem, with_problems
from pointsman.pipeline.subject_map import REMEMBERED, map_texts, texts
from pointsman.pipeline.table_file import opened_table, part_of, ship_table
from pointsman.pipeline.template_plan import TemplatePlan, no_subject, plan_template
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

STAGE, CODE = "translate", "invalid-result"
ORIGINAL = "original_subject"
MADE = "pointsman_made"
CHANCES = 1 << 52
MOST_NATIVE = 50
"""With more translations, the index that finds the one that matches is quicker than asking them one after the other."""


class Way(NamedTuple):
    """How the translations of a table are done."""

    native: bool
    """By Spark's own functions, and not by Python."""
    why: str


def way(table: RoutingTable) -> Way:
    """How ``translate`` does the translations of a table, and why in this way."""
    found = _plans(table)
    if isinstance(found, str):
        return Way(False, found)
    return Way(True, "there are no translations" if not found else "all of them go by whole tokens in their places")


def translate(messages: DataFrame, table: RoutingTable) -> DataFrame:
    """The messages under the subjects that the table translates theirs to, as ``RoutingTable.decide`` does.

    The column ``subject`` becomes the new one, and the new column ``original_subject`` has the old one. Both are the
    same where no translation matches. Where the new one would be no subject, which ``decide`` raises as an error, the
    row keeps the old one and gets a ``problem`` with the code ``invalid-result``. Rows that have a problem already are
    left alone, and no row is added or taken away.

    A subject outside the naming standard that the table enforces gets a ``problem``, too.

    Nothing is computed here: it may be a batch or a stream. ``way`` says whether the subjects go to Python for it.
    Safe between threads. Raises ``InputError`` (``bad-usage``) when there is no column ``subject`` of text, or a column
    ``original_subject`` already, ``function-on-spark`` for a table with Python functions; and ``MissingExtraError``
    without pyspark.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    refuse_functions(table)
    base = with_problems(messages)
    columns = MessageColumns(base)
    if find(base, ORIGINAL) is not None:
        raise InputError("bad-usage", f"messages have a column {ORIGINAL!r} already; rename it first")
    kept = base.withColumn(ORIGINAL, columns.subject)
    plans = _plans(table)
    if not plans:
        return kept
    made = by_arrow(kept, table) if isinstance(plans, str) else natively(kept, plans)
    found = made[MADE]
    known = with_problem(made, STAGE, found["code"], found["reason"], found["reason"].isNotNull())
    new = sf.when(is_fine(known), known[MADE]["subject"])
    return known.withColumn(columns.name("subject") or "subject", sf.coalesce(new, known[ORIGINAL])).drop(MADE)


def natively(messages: DataFrame, plans: list[TemplatePlan]) -> DataFrame:
    """The messages with what became of their subjects in a column of its own; by Spark's own functions."""
    from pyspark.sql import functions as sf

    dialects = {plan.dialect.name: plan.dialect for plan in plans}
    tokens = {name: f"pointsman_tokens_{name}" for name in dialects}
    asked = sf.when(is_fine(messages), messages[ORIGINAL])
    # In columns, so that a text is split once and not once for each translation.
    split = messages.withColumns({tokens[name]: tokens_of(asked, dialect) for name, dialect in dialects.items()})
    made = split.withColumn(MADE, sf.expr(translated(plans, ORIGINAL, tokens)))
    outcome = sf.expr(f"named_struct('subject', {MADE}.subject, 'reason', {fault(plans, MADE)}, 'code', '{CODE}')")
    return made.withColumn(MADE, outcome).drop(*tokens.values())


def by_arrow(messages: DataFrame, table: RoutingTable) -> DataFrame:
    """As ``natively``, by Python, to which the subjects go."""
    from pyspark.sql import functions as sf

    translating = _translating(ship_table(messages.sparkSession, part_of(table, "translations", "naming", "standards")))
    subject = sf.when(is_fine(messages), messages[ORIGINAL])
    if not _is_random(table):
        return messages.withColumn(MADE, translating(subject))
    # By the id and not by chance, so that a batch that is repeated decides the same.
    chance = sf.pmod(sf.xxhash64(MessageColumns(messages).id), sf.lit(CHANCES)) / CHANCES
    return messages.withColumn(MADE, translating(subject, chance))


def translations(table: RoutingTable, subjects: pa.Array[Any], chances: pa.Array[Any] | None = None) -> pa.Array[Any]:
    """What the table makes of each subject: structs of the new ``subject``, or of ``reason`` and ``code`` why not.

    Null where it stays the same. ``chances`` are numbers from 0 to 1 for templates that ask for one.
    """
    import pyarrow as pa

    kind = pa.struct([("subject", pa.string()), ("reason", pa.string()), ("code", pa.string())])
    if chances is None:
        return map_texts(subjects, _maker(table), kind)
    pairs = zip(texts(subjects), chances.to_pylist(), strict=True)
    return pa.array([None if subject is None else _make(table, subject, chance) for subject, chance in pairs], kind)


@lru_cache(maxsize=8)
def _maker(table: RoutingTable) -> Callable[[str], dict[str, str] | None]:
    """The function from one subject to what the table makes of it, which remembers its answers."""
    return lru_cache(maxsize=REMEMBERED)(lambda subject: _make(table, subject, 0.0))


def _make(table: RoutingTable, subject: str, chance: float) -> dict[str, str] | None:
    try:
        new = table.translate(subject, lambda: chance)
        table.check_name(new)
    except TemplateError as error:
        problem = error.__cause__.problem if isinstance(error.__cause__, SubjectError) else error.problem
        return {"reason": no_subject(error.text or "", problem), "code": CODE}
    except (NamingError, SubjectError) as error:
        return {"reason": error.problem, "code": error.code}
    return None if new == subject else {"subject": new}


def _is_random(table: RoutingTable) -> bool:
    return any(rule.template.is_random for rule in table.translations)


def _translating(name: str) -> Any:
    """The function from a subject to what becomes of it, by the shipped table of this name."""
    import pyarrow as pa
    from pyspark import SparkFiles
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def make(*columns: Any) -> Any:
        return translations(opened_table(SparkFiles.get(name)), *columns)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    make.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    return arrow_udf(make, "struct<subject:string,reason:string,code:string>")


def _plans(table: RoutingTable) -> list[TemplatePlan] | str:
    """The plans of all translations, or why they are left to Python."""
    if table.enforced is not None:
        return "the naming standard is enforced"
    if table.applies_all and table.translations:
        return "they are applied one after the other"
    if len(table.translations) > MOST_NATIVE:
        return f"there are {len(table.translations)} translations, more than {MOST_NATIVE}"
    plans = []
    for rule in table.translations:
        plan = plan_template(rule.template)
        if isinstance(plan, str):
            return f"{rule.name!r}: {plan}"
        plans.append(plan)
    return plans
