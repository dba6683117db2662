"""What a session is told about where it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.shared_folder import DRIVER, meet
from pointsman.pipeline.spark.session import is_local, on_this_machine, python_variables
from pointsman.pipeline.state.batches import mounted

HERE = "/usr/bin/python3"


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*,3]", "local-cluster[2,1,1024]"])
def test_on_this_machine_workers_run_on_the_same_python(master: str) -> None:
    """Whatever else is set; and nothing listens to other machines, unless the user says so."""
    told = python_variables(master, {}, {"PYSPARK_PYTHON": "other"}, HERE)
    assert told == {"PYSPARK_PYTHON": HERE, "PYSPARK_DRIVER_PYTHON": HERE, "SPARK_LOCAL_IP": "127.0.0.1"}
    assert python_variables(master, {}, {"SPARK_LOCAL_IP": "10.1.2.3"}, HERE)["SPARK_LOCAL_IP"] == "10.1.2.3"
    assert is_local(master)


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:6443"])
def test_on_a_cluster_workers_run_on_the_python_that_is_named(master: str) -> None:
    """By the setting, by the variable, or else on that of the driver; and workers must be able to reach the driver."""
    named, setting = {"PYSPARK_PYTHON": "packed/bin/python"}, {"spark.pyspark.python": "image/bin/python"}
    cases = [({}, {}, HERE), ({}, named, "packed/bin/python"), (setting, named, "image/bin/python")]
    for config, variables, python in cases:
        told = python_variables(master, config, variables, HERE)
        assert told == {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": HERE}


def test_a_worker_meets_the_driver_in_a_folder_that_is_the_same_for_both(tmp_path: Path) -> None:
    """It sees what the driver left and leaves something; or it says what is in the way."""
    _, problem = meet(tmp_path)
    assert problem == "it does not see what the driver has written there"
    (tmp_path / DRIVER).touch()
    name, problem = meet(tmp_path)
    assert problem == ""
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("path", ["s3a://bucket/checkpoint", "hdfs:/checkpoint", "file://host/checkpoint"])
def test_what_the_driver_keeps_must_be_mounted(path: str) -> None:
    """No folder called 's3a:' is made where the program happens to be."""
    with pytest.raises(InputError) as caught:
        mounted(path)
    assert caught.value.code == "bad-usage"
    assert [str(mounted(each)) for each in ("/a/b", "file:///a/b", "file:/a%20b", "a")] == ["/a/b", "/a/b", "/a b", "a"]


@pytest.mark.parametrize(("heap", "outside"), [("1g", "512m"), ("3072m", "1536m")])
def test_memory_outside_of_the_heap_follows_the_heap_that_was_chosen(heap: str, outside: str) -> None:
    """Not the one that this machine would have by default."""
    settings = on_this_machine(heap)
    assert (settings["spark.driver.memory"], settings["spark.memory.offHeap.size"]) == (heap, outside)
