"""What is said when Spark's Java is gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.running.run import _while_java_lives

pytestmark = pytest.mark.spark


@pytest.fixture
def _logging_as_it_was() -> Iterator[None]:
    """Afterwards: what is silenced is so for the whole process."""
    root, gateway = logging.getLogger(), logging.getLogger("py4j")
    filters, level = list(root.filters), gateway.level
    yield
    root.filters[:] = filters
    gateway.setLevel(level)


@pytest.mark.usefixtures("_logging_as_it_was")
def test_after_the_error_the_gateway_says_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """Its threads go on to find out that nobody answers, and each would say so in pages."""
    with pytest.raises(InputError) as caught, _while_java_lives():
        raise ConnectionRefusedError
    assert caught.value.code == "spark-failed"
    logging.getLogger("py4j.clientserver").error("There was an exception while executing the Python Proxy")
    record = logging.makeLogRecord({"module": "java_gateway", "levelno": logging.ERROR, "msg": "while sending"})
    logging.getLogger().handle(record)
    assert caplog.records == []
    logging.getLogger("pointsman").error("what the project says is heard")
    assert len(caplog.records) == 1
