"""Whether demands on single fields leave them a value."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from typing import Any

from pointsman.conditions.like import compile_like, pieces
from pointsman.conditions.nodes import Comparison, Field, Like, Missing, Not
from pointsman.conditions.values import OPERATORS, READERS

Atom = Comparison | Like | Missing | Not
"""A demand on one field. Not stands before Like and Missing only; no literal is NULL."""

_NEVER_MISSING = ("subject", "id", "source")
_LAST_CHARACTER = "\U0010ffff"


def can_all_hold(atoms: list[Atom]) -> bool:
    """False only if some field has no value that fits all that is demanded of it."""
    by_field: defaultdict[Field, list[Atom]] = defaultdict(list)
    for atom in atoms:
        by_field[_tested(atom).field].append(atom)
    return all(_has_value(field, demands) for field, demands in by_field.items())


def _has_value(field: Field, atoms: list[Atom]) -> bool:
    if any(isinstance(atom, Missing) for atom in atoms):
        return field.root not in _NEVER_MISSING and all(isinstance(atom, Missing) for atom in atoms)
    likes = [tested for atom in atoms if isinstance(tested := _tested(atom), Like)]
    by_kind: defaultdict[str, list[Comparison]] = defaultdict(list)
    for atom in atoms:
        if isinstance(atom, Comparison):
            by_kind[atom.literal.kind].append(atom)
    is_text = bool(likes or by_kind["text"])
    candidates = _candidates(by_kind, is_text)
    if candidates is not None:
        return any(all(_fits(atom, value) for atom in atoms) for value in candidates if field.root != "id" or value)
    return (
        _numbers_left(by_kind["number"])
        and _texts_left(by_kind["text"], [atom for atom in atoms if isinstance(atom, Like)])
        and _times_left(by_kind["time"])
        and not any(Not(like) in atoms and like in atoms for like in likes)
    )


def _candidates(by_kind: dict[str, list[Comparison]], is_text: bool) -> list[Any] | None:
    """All values that can fit, where they are few."""
    for atom in by_kind["text"]:
        if atom.operator == "=":
            return [atom.literal.value]
    if by_kind["boolean"]:
        return ["true", "false"] if is_text or by_kind["number"] else [True, False]
    return None


def _fits(atom: Atom, value: object) -> bool:
    tested = _tested(atom)
    if isinstance(tested, Missing):
        return True
    if isinstance(tested, Like):
        fits = isinstance(value, str) and compile_like(tested.pattern, tested.ignore_case)(value)
        return fits is (tested is atom)
    found = READERS[tested.literal.kind](value)
    return found is not None and OPERATORS[tested.operator](found, tested.literal.value)


def _tested(atom: Atom) -> Comparison | Like | Missing:
    tested = atom.operand if isinstance(atom, Not) else atom
    if not isinstance(tested, Comparison | Like | Missing):
        raise TypeError(f"{tested} is no demand on one field")
    return tested


def _numbers_left(atoms: list[Comparison]) -> bool:
    """Whether a finite float is left; there are neighbours of each, so that '>' is '>=' the next."""
    low, high = -sys.float_info.max, sys.float_info.max
    for operator, limit in _limits(atoms):
        if operator in ("=", ">", ">="):
            low = max(low, math.nextafter(limit, math.inf) if operator == ">" else limit)
        if operator in ("=", "<", "<="):
            high = min(high, math.nextafter(limit, -math.inf) if operator == "<" else limit)
    return low < high or (low == high and ("<>", low) not in _limits(atoms))


def _texts_left(atoms: list[Comparison], likes: list[Like]) -> bool:
    """Whether a text is left; the one after a text is the text with a NUL at its end."""
    low, high, open_high = "", None, False
    limits = _limits(atoms)
    for like in likes:
        prefix = _prefix(like)
        limits += [(">=", prefix)] + ([("<", _after(prefix))] if _after(prefix) else [])
    for operator, limit in limits:
        if operator in (">", ">="):
            low = max(low, limit + "\0" if operator == ">" else limit)
        elif operator in ("<", "<=") and (high is None or (limit, operator == "<=") < (high, not open_high)):
            high, open_high = limit, operator == "<"
    if high is None or low < high:
        return True
    return low == high and not open_high and ("<>", low) not in limits


def _times_left(atoms: list[Comparison]) -> bool:
    limits = _limits(atoms)
    lows = [limit for operator, limit in limits if operator in ("=", ">", ">=")]
    highs = [limit for operator, limit in limits if operator in ("=", "<", "<=")]
    if not lows or not highs or max(lows) < min(highs):
        return True
    point = max(lows)
    return point == min(highs) and not any((operator, point) in limits for operator in ("<", ">", "<>"))


def _limits(atoms: list[Comparison]) -> list[tuple[str, Any]]:
    return [(atom.operator, atom.literal.value) for atom in atoms]


def _prefix(like: Like) -> str:
    """What every text begins with that fits the pattern."""
    prefix = ""
    for sign in pieces(like.pattern):
        if not sign or (like.ignore_case and sign.isascii() and sign.isalpha()):
            break
        prefix += sign
    return prefix


def _after(prefix: str) -> str:
    """A text after all that begin with the prefix and before all others after them; empty if there is none."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    if not kept:
        return ""
    return kept[:-1] + chr(ord(kept[-1]) + 1)
