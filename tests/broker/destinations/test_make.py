"""Sinks from what a table says, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pointsman.destinations import TYPES, SubjectOptions, make_sink, read_options
from pointsman.destinations.file import FileSink
from pointsman.destinations.folder import FolderSink
from pointsman.destinations.http import HttpOptions, HttpSink
from pointsman.destinations.queue import QueueSink
from pointsman.errors import InputError
from pointsman.table.route import Place
from pointsman.table.routing_table import RoutingTable
from tests.broker.destinations.deliveries import deliver, delivery

URL = "http://localhost/in"
SHOP = RoutingTable.load(Path(__file__).parents[3] / "examples" / "shop.yaml")


@pytest.mark.parametrize(
    ("type_name", "options", "sink"),
    [
        ("file", {"path": "a.jsonl"}, FileSink),
        ("folder", {"path": "a"}, FolderSink),
        ("queue", {"path": "a.db", "routing_key": "in.{subject}", "dialect": "nats"}, QueueSink),
        ("http", {"url": URL, "method": "PUT", "headers": {"X-Key": "1"}, "timeout": "250ms"}, HttpSink),
    ],
)
def test_each_type_has_its_sink_and_making_it_touches_no_file(
    type_name: str, options: dict[str, Any], sink: type, tmp_path: Path
) -> None:
    """Only opening it does."""
    assert type(make_sink("there", type_name, options, tmp_path)) is sink
    assert list(tmp_path.iterdir()) == []


def test_the_destinations_of_the_example_are_all_known() -> None:
    """The shop's table runs in the broker."""
    for destination in SHOP.destinations.values():
        read_options(destination.name, destination.type, destination.options, destination.place)


def test_a_relative_path_is_within_the_folder_and_an_absolute_one_is_not(tmp_path: Path) -> None:
    """As the table's author wrote it."""
    deliver(make_sink("there", "file", {"path": "in/a.jsonl"}, tmp_path / "one"))
    deliver(make_sink("there", "file", {"path": str(tmp_path / "two" / "a.jsonl")}, tmp_path / "one"))
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl")} == {"one/in/a.jsonl", "two/a.jsonl"}


def test_options_are_read_with_their_defaults() -> None:
    """A duration may have a unit, and the names of headers have no case."""
    read = read_options("there", "http", {"url": URL, "timeout": "2m", "headers": {"X-Key": "a b"}})
    assert read == HttpOptions(url=URL, method="POST", headers={"x-key": "a b"}, timeout=120.0, concurrency=8)
    assert read_options("there", "subject", {"subject": "a"}) == SubjectOptions(subject="a")


@pytest.mark.parametrize(
    ("type_name", "options", "problem"),
    [
        ("fil", {},
         "there is no type 'fil'; the types are handler, subject, queue, file, folder, http; did you mean 'file'?"),
        ("", {}, "there is no type ''; the types are handler, subject, queue, file, folder, http"),
        ("handler", {"path": "a"}, "the type 'handler' has no option 'path'; it has none"),
        ("file", {"path": "a", "fromat": "jsonl"},
         "the type 'file' has no option 'fromat'; the options are path, format; did you mean 'format'?"),
        ("folder", {}, "option 'path' is missing: the folder; it and those above it are made when they are not there"),
        ("file", {"path": 5}, "option 'path': input should be a valid string"),
        ("file", {"path": "a", "format": "csv"}, "option 'format': input should be 'jsonl'"),
        ("folder", {"path": ""}, "option 'path': string should have at least 1 character"),
        ("folder", {"path": "a\0b"}, "option 'path': string should match pattern '^[^\\x00]+$'"),
        ("queue", {"path": "a", "dialect": "kafka"},
         "option 'dialect': input should be 'nats', 'amqp', 'zato' or 'mqtt'"),
        ("subject", {"subject": "a.$1"},
         "option 'subject': a subject here is a text with at most {subject} in it; $1 and {{…}} are for translations"),
        *[
            ("http", {"url": url},
             "option 'url': a URL here begins with http:// or https:// and a host, in ASCII without spaces")
            for url in ("ftp://a", "http://", "", "//a", "http://a/b c", "http://é/")
        ],
        ("http", {"url": "http://a:99999"}, "option 'url': port out of range 0-65535"),
        ("http", {"url": URL, "method": "GET"}, "option 'method': input should be 'POST', 'PUT' or 'PATCH'"),
        ("http", {"url": URL, "timeout": 0}, "option 'timeout': input should be greater than 0"),
        ("http", {"url": URL, "timeout": "10"},
         "option 'timeout': a duration is a number of seconds, or a number with ms, s, m, h or d"),
        ("http", {"url": URL, "concurrency": 0}, "option 'concurrency': input should be greater than or equal to 1"),
        ("http", {"url": URL, "headers": {"Ce-Id": "1"}},
         "option 'headers': the header 'Ce-Id' is set by the delivery"),
        ("http", {"url": URL, "headers": {"Content-Length": "1"}},
         "option 'headers': the header 'Content-Length' is set by the delivery"),
        ("http", {"url": URL, "headers": {"a b": "1"}}, "option 'headers': 'a b' is no name of a header"),
        ("http", {"url": URL, "headers": {"a": "1\r\nb: 2"}},
         "option 'headers': the value of the header 'a' is not printable ASCII"),
        ("http", {"url": URL, "headers": {"a": 1}}, "option 'headers.a': input should be a valid string"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_destination_and_what_is_allowed(
    type_name: str, options: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    """With the place in the table when it is known."""
    with pytest.raises(InputError) as caught:
        make_sink("there", type_name, options, tmp_path, Place("shop.yaml", 7, 3))
    assert str(caught.value) == f"[bad-destination] shop.yaml:7:3: destination 'there': {problem}"


def test_all_mistakes_of_a_destination_are_named_at_once(tmp_path: Path) -> None:
    """So that they can be mended at once."""
    with pytest.raises(InputError, match=r"'method'.*'concurrency'.*'retries'") as caught:
        make_sink("there", "http", {"url": URL, "method": "GET", "concurrency": "8", "retries": 5}, tmp_path)
    assert caught.value.place == ""


@pytest.mark.parametrize("type_name", [name for name, each in TYPES.items() if each.sink is None])
def test_the_broker_itself_delivers_to_handlers_and_subjects(type_name: str, tmp_path: Path) -> None:
    """There is no sink for them."""
    with pytest.raises(InputError, match="the broker itself delivers"):
        make_sink("there", type_name, {"subject": "a"} if type_name == "subject" else {}, tmp_path)


@pytest.mark.parametrize("type_name", ["file", "folder", "queue"])
def test_a_place_that_cannot_be_written_is_refused_when_the_sink_is_opened(type_name: str, tmp_path: Path) -> None:
    """Here a file stands where a folder is needed."""
    (tmp_path / "a").write_text("a file")
    with pytest.raises(InputError) as caught:
        deliver(make_sink("there", type_name, {"path": "a/b/c"}, tmp_path), delivery())
    assert (caught.value.code, caught.value.file) == ("bad-destination", str(tmp_path / "a" / "b" / "c"))
    assert caught.value.problem.startswith("destination 'there': the f")
    assert caught.value.problem.endswith((": Not a directory", ": File exists"))


def test_secrets_are_read_from_the_environment_and_from_files_when_the_sink_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not before: the options of the table hold their names."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    (tmp_path / "key").write_text("from-file\n")
    options = {
        "url": "https://shop.example/${SHOP_TOKEN}",
        "headers": {"authorization": "Bearer ${SHOP_TOKEN}", "x-api-key": "file:key", "x-plain": "file:key"},
    }
    assert read_options("shop", "http", options).url == "https://shop.example/${SHOP_TOKEN}"
    sink = make_sink("shop", "http", options, tmp_path)
    assert isinstance(sink, HttpSink)
    assert sink._options.url == "https://shop.example/s3cret"
    assert sink._options.headers == {
        "authorization": "Bearer s3cret",
        "x-api-key": "from-file",
        "x-plain": "file:key",
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [("${NOT_THERE}", "the environment variable 'NOT_THERE' is not set"), ("file:none", "'file:none' cannot be read")],
)
def test_a_secret_that_cannot_be_read_is_an_error_that_names_it(value: str, problem: str, tmp_path: Path) -> None:
    """With the destination and the option."""
    with pytest.raises(InputError, match=f"destination 'shop': option 'token': {re.escape(problem)}") as caught:
        make_sink("shop", "http", {"url": "https://shop.example", "headers": {"token": value}}, tmp_path)
    assert caught.value.code == "bad-secret"
