"""What Spark Connect cannot do, and that it says so before anything is read or written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkPicklingError

from pointsman import RoutingTable
from pointsman.errors import InputError
from pointsman.pipeline import SubscriptionFlow, SubscriptionVersions, compile_subscriptions, resolve
from pointsman.pipeline.spark.kind import is_connect, task_count
from pointsman.pipeline.subscriptions.frame import with_destinations
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def connected(spark: SparkSession) -> SparkSession:
    """The session, if it is one of Spark Connect."""
    if not is_connect(spark):
        pytest.skip("the session is a classic one; see test_connect")
    return spark


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream of messages."""
    folder.mkdir()
    return spark.readStream.schema("id string, subject string").json(str(folder))


def test_a_pipeline_file_is_refused(connected: SparkSession, tmp_path: Path) -> None:
    """Its batches would run where nobody counts them."""
    case = Case(tmp_path, connected)
    case.add("1.json", {"subject": "mail.a", "id": "1"})
    with pytest.raises(InputError, match="foreachBatch") as caught:
        case.run()
    assert caught.value.code == "classic-session-needed"
    assert not (tmp_path / "out").exists()


def test_resolving_a_stream_is_refused(connected: SparkSession, tmp_path: Path) -> None:
    """The index would not be found by its workers."""
    subscriptions = connected.createDataFrame([("s", "a.>")], "subscription_id string, pattern string")
    for to in (subscriptions, compile_subscriptions(subscriptions)):
        with pytest.raises(InputError, match="in foreachBatch") as caught:
            resolve(stream(connected, tmp_path / type(to).__name__), to)
        assert caught.value.code == "classic-session-needed"


def test_a_flow_of_subscriptions_is_refused(connected: SparkSession, tmp_path: Path) -> None:
    """The versions stay in the process that has them."""
    columns = "id string, owner string, destinations array<string>, pattern string"
    subscriptions = connected.createDataFrame([("s", "ann", ["desk"], "a.>")], columns)
    versions = SubscriptionVersions(lambda: with_destinations(subscriptions), tmp_path / "versions")
    flow = SubscriptionFlow(versions, RoutingTable.parse("destinations: {desk: }"), tmp_path / "out")
    with pytest.raises(PySparkPicklingError) as caught:
        stream(connected, tmp_path / "in").writeStream.foreachBatch(flow).start()
    assert "[classic-session-needed] versions of subscriptions" in str(caught.value.__context__)


def test_the_number_of_tasks_is_asked_of_the_server(connected: SparkSession) -> None:
    """The session has two cores."""
    assert task_count(connected) == 2
