"""Fields in the text of a predicate: ``subject``, ``metadata['key']``, ``body.items[0].price``."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pointsman.conditions.nodes import ROOTS, Field
from pointsman.errors import PredicateError

if TYPE_CHECKING:
    from sqlglot import Token

MAX_STEPS = 32
"""How many names and positions the path of a field may have."""

_WORD = re.compile(r"[^\W\d]\w*")
_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")


def read_field(text: str, tokens: list[Token], place: int) -> tuple[Field, int]:
    """The field whose root is at the place, and the place after it.

    Raises ``PredicateError``: ``unknown-field`` for a field that no message has, ``predicate-construct`` for a
    function, ``predicate-too-long`` for a path of too many steps.
    """
    first = tokens[place]
    _check_root(text, tokens, place)
    steps: list[str | int] = []
    place += 1
    while place < len(tokens) and tokens[place].text in (".", "[") and tokens[place].token_type.name != "STRING":
        step, place = _step(text, tokens, place)
        steps.append(step)
        if len(steps) > MAX_STEPS:
            problem = f"the path of a field has up to {MAX_STEPS} steps"
            raise PredicateError("predicate-too-long", problem, text=text, column=first.start + 1)
    if _is_call(tokens, place - 1):
        raise _no_functions(text, first)
    _check_path(text, first, steps)
    return Field(first.text, tuple(steps)), place


def _check_root(text: str, tokens: list[Token], place: int) -> None:
    token = tokens[place]
    if token.text in ROOTS:
        return
    if _is_call(tokens, place):
        raise _no_functions(text, token)
    if token.token_type.name not in ("VAR", "IDENTIFIER"):
        problem = f"{token.text!r} is no part of a predicate"
        raise PredicateError("predicate-construct", problem, text=text, column=token.start + 1)
    close = get_close_matches(token.text, ROOTS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its fields are {', '.join(ROOTS)}"
    raise PredicateError(
        "unknown-field", f"a message has no field {token.text!r}; {hint}", text=text, column=token.start + 1
    )


def _check_path(text: str, first: Token, steps: list[str | int]) -> None:
    if first.text == "metadata":
        if len(steps) == 1 and isinstance(steps[0], str):
            return
        problem = "metadata has one key and nothing below it: metadata['key']"
    elif steps and first.text != "body":
        problem = f"the field {first.text!r} has nothing below it"
    else:
        return
    raise PredicateError("unknown-field", problem, text=text, column=first.start + 1)


def _step(text: str, tokens: list[Token], place: int) -> tuple[str | int, int]:
    """The step of a path that begins with the ``.`` or ``[`` at the place, and the place after it."""
    opening, *following = tokens[place : place + 3]
    kinds = [token.token_type.name for token in following]
    if opening.text == ".":
        if kinds and (kinds[0] == "IDENTIFIER" or (kinds[0] != "STRING" and _WORD.fullmatch(following[0].text))):
            return following[0].text, place + 2
        problem = "a name follows a '.'; write ['…'] for a name with other signs, and [0] for a position"
    else:
        if len(kinds) == 2 and kinds[1] == "R_BRACKET":
            if kinds[0] == "STRING":
                return following[0].text, place + 3
            if kinds[0] == "NUMBER" and _POSITION.fullmatch(following[0].text):
                return int(following[0].text), place + 3
        problem = "between '[' and ']' stands one name in single quotes, or one position from 0"
    raise PredicateError("bad-predicate", problem, text=text, column=opening.start + 1)


def _is_call(tokens: list[Token], place: int) -> bool:
    return place + 1 < len(tokens) and tokens[place + 1].token_type.name == "L_PAREN"


def _no_functions(text: str, token: Token) -> PredicateError:
    problem = f"{token.text!r} is used as a function, and there are none"
    return PredicateError("predicate-construct", problem, text=text, column=token.start + 1)
