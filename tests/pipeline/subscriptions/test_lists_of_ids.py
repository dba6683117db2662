"""What the workers do with the index they are sent, and what is imported to do it, without Spark."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from pointsman.errors import LimitError, MissingExtraError
from pointsman.matching.compiled import CompiledIndex
from pointsman.pipeline import local_session, resolve
from pointsman.pipeline.subscriptions import patterns


def test_lists_are_those_of_the_index_in_arrays_of_about_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first array shows how wide the subjects are; a subject that matches more than an array holds is alone."""
    monkeypatch.setattr(patterns, "MOST_IDS", 1000)
    index = CompiledIndex.build([">"] * 300 + ["a.>"] * 900 + ["b"], dialect="nats")
    columns = [pa.array(["b"] * 500), pa.array([], pa.string()), pa.array(["a.b"] * 50)]
    found = list(patterns.lists(index, iter(columns)))
    assert pa.concat_arrays(found) == pa.concat_arrays([index.match(column) for column in columns])
    assert [len(each) for each in found[:3]] == [64, 3, 3]
    assert [len(each) for each in found[-47:]] == [1] * 47


def test_subjects_that_match_little_are_matched_many_at_a_time() -> None:
    """More and more of them, up to a limit; nulls and invalid ones among them."""
    index = CompiledIndex.build(["a"], dialect="nats")
    column = pa.array(["a", None, "a b", "b"] * 50_000)
    found = list(patterns.lists(index, iter([column])))
    assert pa.concat_arrays(found) == index.match(column)
    assert [len(each) for each in found] == [64, 512, 4096, 32768, 65536, 65536, 31488]


def test_lists_that_fit_no_array_are_tried_with_fewer_rows() -> None:
    """Until one row alone is too much."""

    class Wide:
        def match(self, column: pa.Array) -> pa.Array:
            if len(column) > 3:
                raise LimitError("too-many-matches", "too many")
            return pa.array([[1]] * len(column))

    [*found] = patterns.lists(Wide(), iter([pa.array(["a"] * 100)]))
    assert pa.concat_arrays(found).to_pylist() == [[1]] * 100

    class Wider:
        def match(self, column: pa.Array) -> pa.Array:
            raise LimitError("too-many-matches", f"too many of {len(column)}")

    with pytest.raises(LimitError, match="too many of 1"):
        list(patterns.lists(Wider(), iter([pa.array(["a"] * 100)])))


def test_importing_the_pipeline_imports_nothing_heavy() -> None:
    """So that the command that looks for Java does not start with Spark."""
    script = "import sys, pointsman.pipeline.spark.java; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "pointsman.pipeline.subscriptions.resolve" in loaded
    assert {"pyspark", "pyarrow", "numpy", "numba"}.isdisjoint(loaded)


def test_without_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the functions that need it."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for call in (local_session, lambda: resolve(None, None)):
        with pytest.raises(MissingExtraError, match=r"pointsman\[spark\]"):
            call()
