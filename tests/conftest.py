"""Settings for the whole test run, and one Spark session for each of its processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOW_MACHINE = [HealthCheck.too_slow]

settings.register_profile("default", max_examples=150, deadline=None, suppress_health_check=SLOW_MACHINE)
settings.register_profile("long", max_examples=20_000, deadline=None, suppress_health_check=SLOW_MACHINE)
# The same inputs each time: a change of the code must be found by the tests and not by luck.
settings.register_profile(
    "mutation",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("POINTSMAN_HYPOTHESIS", "default"))


@pytest.fixture(autouse=True)
def no_queue_is_left_in_the_working_directory() -> Iterator[None]:
    """A test makes its queues in ``tmp_path``; every queue has a mark beside it."""
    folder = Path.cwd()
    before = set(folder.glob("*-mark"))
    yield
    assert set(folder.glob("*-mark")) <= before


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--connect``."""
    parser.addoption("--connect", action="store_true", help="run the tests of Spark on a session of Spark Connect")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On Spark Connect, leaves out what is marked ``classic``."""
    if config.getoption("--connect"):
        for item in items:
            if item.get_closest_marker("classic"):
                item.add_marker(pytest.mark.skip(reason="it is about classic sessions"))


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session. Tests that use it belong to the group ``spark`` or ``spark, too``: a process runs a whole group."""
    from pointsman.pipeline import local_session
    from pointsman.pipeline.spark.session import QUICK_START

    few_rows = {
        **QUICK_START,
        "spark.sql.shuffle.partitions": 2,
        # It asks Java four times for each call that makes a plan, which is what most tests spend their time with.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if request.config.getoption("--connect"):
        few_rows["spark.api.mode"] = "connect"
        # Spark then takes a port that is free.
        os.environ["SPARK_TESTING"] = "1"
    session = local_session("tests", "local[2]", **few_rows)
    yield session
    session.stop()
