"""Questions answered in Python for a batch, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from pointsman.conditions import Matcher, Negated, Predicate
from pointsman.pipeline.predicates import evaluate
from pointsman.pipeline.predicates.evaluate import Evaluator
from pointsman.pipeline.predicates.inputs import MOST_KEYS, Inputs, Pair


class Counting:
    """A condition that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether the key ``a`` has the value 1."""
        self.asked += 1
        return metadata.get("a") == "1"


def batch(**columns: list[Any]) -> pa.StructArray:
    """A column of structs, as it comes from Spark."""
    return pa.StructArray.from_arrays([pa.array(values) for values in columns.values()], list(columns))


def evaluator(*pairs: Pair) -> Evaluator:
    """One for these questions."""
    return Evaluator(Inputs.of(pairs), [(condition, predicate and predicate.tree) for condition, predicate in pairs])


def test_inputs_are_the_fields_and_keys_that_are_read() -> None:
    """Of all the questions together, each once and in one order."""
    pairs: list[Pair] = [
        (Matcher("b", "x"), Predicate("body.x = 1 AND subject = 's'")),
        (Negated(Matcher("a", "y")), Predicate("body.y = 1 OR metadata.b = 1")),
    ]
    assert Inputs.of(pairs) == Inputs(("subject", "body"), ("a", "b"), whole=False)


def test_all_of_the_metadata_is_an_input_if_any_key_may_be_meant() -> None:
    """Or if many keys are."""
    assert Inputs.of([(Matcher(None, "x"), Predicate("metadata.a = 1"))]) == Inputs((), (), whole=True)
    keys = [(Matcher(f"key {number}", "x"), None) for number in range(MOST_KEYS + 1)]
    assert Inputs.of(keys) == Inputs((), (), whole=True)
    assert len(Inputs.of(keys[1:]).keys) == MOST_KEYS


def test_equal_rows_are_looked_at_once() -> None:
    """Within a batch."""
    counting = Counting()
    looking = Evaluator(Inputs((), ("a",), whole=False), [(counting, None)])  # type: ignore[list-item]  # it is as good as a condition
    (found,) = looking.held(batch(a=["1", "2", None] * 1000))
    assert found.to_pylist() == [[True], [False], [False]] * 1000
    assert counting.asked == 3


def test_rows_that_do_not_repeat_are_not_remembered() -> None:
    """After as many as are tried; the answers are the same."""
    counting = Counting()
    looking = Evaluator(Inputs((), ("a",), whole=False), [(counting, None)])  # type: ignore[list-item]  # it is as good as a condition
    values = [str(number) for number in range(evaluate.TRIED_ROWS + 1)] + ["1"] * 10
    (found,) = looking.held(batch(a=values))
    assert found.to_pylist() == [[value == "1"] for value in values]
    assert counting.asked == len(values)


def test_the_body_of_a_row_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many predicates ask for it."""
    from pointsman.conditions import compile as compiling

    read: list[bytes] = []
    real = compiling.read_body
    monkeypatch.setattr(compiling, "read_body", lambda body: (read.append(body), real(body))[1])
    pairs: list[Pair] = [(None, Predicate(f"body.x = {number}")) for number in range(5)]
    (found,) = evaluator(*pairs).held(batch(body=[b'{"x": 2}', b'{"x": 4}']))
    assert found.to_pylist() == [[number == 2 for number in range(5)], [number == 4 for number in range(5)]]
    assert read == [b'{"x": 2}', b'{"x": 4}']


def test_many_answers_go_back_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row once and in its order."""
    monkeypatch.setattr(evaluate, "MOST_ANSWERS", 10)
    pairs: list[Pair] = [(None, Predicate(f"metadata.a = {number}")) for number in range(4)]
    found = list(evaluator(*pairs).held(batch(a=[str(number) for number in range(5)])))
    assert [len(piece) for piece in found] == [2, 2, 1]
    answers = [answer for piece in found for answer in piece.to_pylist()]
    assert answers == [[row == number for number in range(4)] for row in range(5)]


def test_a_slice_of_a_batch_is_read_from_its_own_beginning() -> None:
    """Also where the metadata come whole."""
    whole = pa.array([[("a", "1")], None, [("a", "2"), ("b", "1")]], pa.map_(pa.string(), pa.string()))
    column = pa.StructArray.from_arrays([whole], ["metadata"])
    (found,) = evaluator((Matcher(None, "1"), None)).held(column.slice(1))
    assert found.to_pylist() == [[False], [True]]


def test_only_what_is_asked_of_a_row_is_answered() -> None:
    """By the numbers in its last column, from 1; a row that is asked nothing is not looked at."""
    counting = Counting()
    looking = Evaluator(Inputs((), ("a",), whole=False), [(counting, None), (None, None), (counting, None)])  # type: ignore[list-item]  # it is as good as a condition
    (found,) = looking.holding(batch(a=["1", "1", "2", "1", "1"], asked=[[3, 2], [], [1, 2], None, [3, 2]]))
    assert found.to_pylist() == [[3, 2], [], [2], [], [3, 2]]
    assert counting.asked == 2
