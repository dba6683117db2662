"""What the workers do with the index they are sent, and what is imported to do it, without Spark."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from pointsman.errors import LimitError, MissingExtraError
from pointsman.pipeline import local_session, resolve
from pointsman.pipeline.subscriptions import search
from pointsman.pipeline.subscriptions.search import PatternSearch, has_only_patterns
from pointsman.subscriptions.columns import SubscriptionIndex


def search_of(*patterns: str) -> PatternSearch:
    """The search of these patterns."""
    index = SubscriptionIndex.build(pa.table({"pattern": list(patterns)}))
    assert has_only_patterns(index)
    return PatternSearch(index)


def test_rows_are_those_of_the_index_in_pieces_of_about_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first piece shows how wide the subjects are; a subject that matches more than a piece holds is alone."""
    monkeypatch.setattr(search, "MOST_IDS", 1000)
    found = search_of(*[">"] * 300, *["a.>"] * 900, "b")
    pieces = [*found.rows(pa.array(["b"] * 500)), *found.rows(pa.array(["a.b"] * 50))]
    assert [np.diff(each.offsets).tolist() for each in pieces[:2]] == [[301] * 64, [301] * 3]
    assert pieces[0].ids[:301].tolist() == [*range(300), 1200]
    assert [len(each.offsets) - 1 for each in pieces[-3:]] == [1] * 3
    assert pieces[-1].ids.tolist() == list(range(1200))


def test_subjects_that_match_little_are_matched_many_at_a_time() -> None:
    """More and more of them, up to a limit; nulls and invalid ones among them."""
    pieces = list(search_of("a", "c").rows(pa.array(["a", None, "a b", "b"] * 50_000)))
    assert np.concatenate([np.diff(each.offsets) for each in pieces]).tolist() == [1, 0, 0, 0] * 50_000
    assert [len(each.offsets) - 1 for each in pieces] == [64, 512, 4096, 32768, 65536, 65536, 31488]


def test_rows_that_match_too_much_together_are_tried_with_fewer() -> None:
    """Until one row alone is too much."""

    class Wide:
        most = 3

        def match(self, column: pa.Array) -> pa.Array:
            if len(column) > self.most:
                raise LimitError("too-many-matches", f"too many of {len(column)}")
            return pa.array([[0]] * len(column), pa.list_(pa.int32()))

    found = search_of("a")
    found._index = Wide()
    assert sum(len(each.ids) for each in found.rows(pa.array(["a"] * 100))) == 100
    found._index.most = 0
    with pytest.raises(LimitError, match="too many of 1"):
        list(found.rows(pa.array(["a"] * 100)))


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
