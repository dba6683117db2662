"""What the user can say to the source, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.queue_source.reader import split
from pointsman.pipeline.queue_source.source import Options, read_options


def test_names_are_read_in_any_case(tmp_path: Path) -> None:
    """As Spark gives them in lower case."""
    path = str(tmp_path / "queue.db")
    read = {"subscription": "s", "pattern": "a.#", "start": 1, "end": 99, "maxrows": 10, "partitions": 2}
    expected = Options(path=path, staging=f"{path}-staging", **read)
    given = {"path": path, "subscription": "s", "pattern": "a.#", "start": "1", "end": "99", "maxRows": "10"}
    given["partitions"] = "2"
    assert read_options(given) == read_options({name.lower(): value for name, value in given.items()}) == expected


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "'path' is missing"),
        ({"path": ""}, "'path' is missing"),
        ({"path": "s3://bucket/queue.db"}, "no path of this machine"),
        ({"path": "file:/queue.db"}, "no path of this machine"),
        ({"path": "q", "subscripton": "s"}, "there is no option 'subscripton'"),
        ({"path": "q", "maxRows": "0"}, "'maxRows' is '0': input should be greater than or equal to 1"),
        ({"path": "q", "maxRows": "many"}, "'maxRows' is 'many'"),
        ({"path": "q", "partitions": "-1"}, "'partitions' is '-1'"),
        ({"path": "q", "partitions": "9" * 30}, "'partitions' is '999"),
        ({"path": "q", "damaged": "perhaps"}, "'damaged' is 'perhaps'"),
        ({"path": "q", "query": "me"}, "'query' and 'batch' belong together"),
        ({"path": "q", "batch": "1"}, "'query' and 'batch' belong together"),
        ({"path": "q", "dedupe": "nan"}, "'dedupe' is 'nan'"),
        ({"path": "q", "dedupe": "soon"}, "'dedupe' is 'soon'"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, str], problem: str) -> None:
    """With the name of the option."""
    with pytest.raises(InputError) as refused:
        read_options(given)
    assert refused.value.code == "bad-usage"
    assert problem in refused.value.problem


@pytest.mark.parametrize("parts", [None, 1, 2, 3, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 999, 1001, 100_000])
def test_parts_are_everything_once(parts: int | None, count: int) -> None:
    """Each number is in one part, no part is empty, and none is much larger than another."""
    ranges = split(17, 17 + count, parts)
    sizes = [through - after for after, through in ranges]
    assert sum(sizes) == count
    assert all(sizes)
    assert [after for after, _ in ranges[1:]] == [through for _, through in ranges[:-1]]
    assert not sizes or max(sizes) - min(sizes) <= 1
