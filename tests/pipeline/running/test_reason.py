"""Why a destination failed, in one line."""

from __future__ import annotations

from typing import Any

import pytest

from pointsman.pipeline.destinations.place import reason_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_what_java_raised_says_what_was_wrong_and_where_it_came_from(spark: Any) -> None:
    """Not only that a call of Java failed."""
    from py4j.protocol import Py4JJavaError

    java = spark.sparkContext._jvm.java
    with pytest.raises(Py4JJavaError) as caught:
        java.util.Optional.empty().get()
    assert reason_of(caught.value) == "java.util.NoSuchElementException: No value present"
    with pytest.raises(Py4JJavaError) as caught:
        java.util.concurrent.CompletableFuture.failedFuture(java.io.IOException("the disk is gone")).get()
    assert reason_of(caught.value).endswith("the disk is gone")


def test_what_python_raised_says_what_it_is() -> None:
    """And its first line."""
    assert reason_of(ValueError("\n  no such place\nat all")) == "ValueError: no such place"
    assert reason_of(ValueError()) == "ValueError: "
