"""Files of the source that cannot be read."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.errors import InputError
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
routes: [{name: all, pattern: "orders.*", destinations: [desk]}]
sagas: {order: {starts: [{on: orders.created, to: done}], states: {done: {final: true}}}}
"""


def test_a_file_that_was_cut_off_is_quarantined_by_name_and_the_rest_goes_on(
    tmp_path: Path, spark: SparkSession
) -> None:
    """Nothing of it is delivered; sagas go on as well."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text("table: table.yaml\nsource: {path: in}\n")
    lines = [
        json.dumps({"subject": "orders.x", "id": str(number), "body": os.urandom(9).hex()}) for number in range(999)
    ]
    whole = gzip.compress("\n".join(lines).encode())
    (tmp_path / "in" / "cut off.json.gz").write_bytes(whole[: len(whole) // 2])
    case.add("good.json", {"subject": "orders.created", "id": "good"})
    totals = case.run()
    assert dict(totals.deliveries) == {("all", "desk"): 1}
    assert dict(totals.quarantined) == {("receive", "unreadable-file"): 1}
    told = {Path(fields["file"]).name: fields["reason"] for what, fields in case.told if what == "file-quarantined"}
    assert ["EOFException" in told.pop("cut off.json.gz"), told] == [True, {}]
    [reason] = [row["problem"]["reason"] for row in case.read("quarantined")]
    assert f"{tmp_path}/in/cut off.json.gz: EOFException" in reason
    assert [row["outcome"] for row in case.read("followed")] == ["completed"]


def test_a_query_that_fails_for_something_else_is_not_begun_again(tmp_path: Path, spark: SparkSession) -> None:
    """A file that is there no more says nothing of what was in it."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE.replace("sagas", "# sagas"))
    (tmp_path / "pipeline.yaml").write_text("table: table.yaml\nsource: {path: in}\n")
    case.add("1.json", {"subject": "orders.x", "id": "1"})
    case.run()
    case.add("2.json", {"subject": "orders.x", "id": "2"})
    (tmp_path / "out").rename(tmp_path / "away")
    (tmp_path / "out").write_text("where a folder should be")
    with pytest.raises(InputError) as caught:
        case.run()
    assert caught.value.code == "query-failed"
