"""The file of a pipeline, and the versions of its table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointsman.errors import InputError, TableError
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.crossing import part_of
from pointsman.pipeline.destinations.choice import Destinations
from pointsman.pipeline.destinations.http import Http
from pointsman.pipeline.run import run
from pointsman.pipeline.versions import Tables
from pointsman.table.routing_table import RoutingTable

TABLE = "routes: [{name: all, pattern: '>', destinations: [audit]}]"
OTHER = "routes: [{name: all, pattern: 'orders.>', destinations: [audit]}]"


def test_a_pipeline_needs_a_table_and_a_source(tmp_path: Path) -> None:
    """Everything else has a default; paths are relative to the file."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("table: shop.yaml\nsource: {path: in}\n")
    file = PipelineFile.load(path)
    assert (file.written.source.format, file.written.trigger.kind) == ("json", "available-now")
    assert file.at(file.written.table) == str(tmp_path / "shop.yaml")
    assert file.at("s3a://bucket/x") == "s3a://bucket/x"


def test_a_mistake_in_a_pipeline_is_told_with_its_place(tmp_path: Path) -> None:
    """As in a table; all of them at once."""
    path = tmp_path / "pipeline.yaml"
    path.write_text("table: shop.yaml\nsource: {path: in, pth: x}\ntrigger: {kind: soon}\n")
    with pytest.raises(TableError) as caught:
        PipelineFile.load(path)
    assert [(each.line, each.code) for each in caught.value.failures] == [(2, "unknown-key"), (3, "bad-table")]


def test_a_new_version_of_the_table_is_taken_up_and_a_broken_one_is_told(tmp_path: Path) -> None:
    """The old one stays until there is one that can be used, and can be asked for later by its hash."""
    told: list[tuple[str, dict[str, Any]]] = []
    path = tmp_path / "table.yaml"
    path.write_text(TABLE)
    tables = Tables(path, None, tmp_path / "checkpoint", lambda what, **fields: told.append((what, fields)))
    first = tables.current()
    path.write_text("routes: [{name: all}]   # broken")
    assert tables.current() is first
    assert tables.current() is first
    path.write_text(OTHER)
    second = tables.current()
    assert second.hash != first.hash
    assert [what for what, _ in told] == ["table-refused", "table-taken-up"]
    again = Tables(path, None, tmp_path / "checkpoint", lambda *_, **__: None)
    assert again.of(first.hash).hash == first.hash
    with pytest.raises(InputError) as caught:
        again.of("0" * 64)
    assert caught.value.code == "bad-state"


def test_real_time_is_refused_with_each_stage_that_is_in_the_way(tmp_path: Path) -> None:
    """Before Spark is started; a batch that is shorter than Spark has is a mistake in the file."""
    path = tmp_path / "pipeline.yaml"
    (tmp_path / "table.yaml").write_text(
        "destinations: {audit: {breaker: {failures: 2}}, desk: }\n"
        "routes: [{name: all, pattern: '>', strategy: balanced, balance: round-robin, destinations: [audit, desk]}]\n"
        "sagas: {order: {starts: [{on: a, to: done}], states: {done: {final: true}}}}\n"
    )
    path.write_text("table: table.yaml\nsource: {path: in}\ntrigger: {kind: real-time, every: 1m}\n")
    with pytest.raises(InputError) as caught:
        run(PipelineFile.load(path), lambda *_, **__: None)
    stages = [part.split(":")[0].strip() for part in caught.value.problem.partition("pipeline: ")[2].split(";")]
    assert stages == ["receive", "resolve", "select", "select", "follow", "deliver"]

    (tmp_path / "table.yaml").write_text(TABLE)
    path.write_text(
        "table: table.yaml\nsource: {format: kafka}\n"
        "trigger: {kind: real-time}\ndestinations: {audit: {format: kafka}}\n"
    )
    with pytest.raises(InputError, match=r"pipeline: resolve: it asks Python which routes match[^;]*$"):
        run(PipelineFile.load(path), lambda *_, **__: None)
    path.write_text("table: table.yaml\nsource: {path: in}\ntrigger: {kind: real-time, every: 4s}\n")
    with pytest.raises(TableError, match="5 seconds or longer"):
        PipelineFile.load(path)


@pytest.mark.parametrize(
    ("table", "destinations", "problem"),
    [
        ("{type: smoke-signal}", "{}", "there is no type 'smoke-signal'"),
        ("{type: subject, options: {subject: late}}", "{}", "come from no queue"),
        ("{}", "{other: {path: x}}", "'other' goes, which is no destination"),
        ("{}", "{audit: {path: x}, desk: {path: x}}", "'audit' and .*'desk' have one path"),
        ("{}", "{audit: {path: x}, desk: {path: ./y/../x/}}", "'audit' and .*'desk' have one path"),
        ("{}", "{audit: {path: real/x}, desk: {path: link/x}}", "'audit' and .*'desk' have one path"),
        ("{}", "{audit: {path: x}, desk: {path: x/batch=1}}", "'audit' and .*'desk' have one path"),
        ("{}", "{audit: {path: 's3a://b/x'}, desk: {path: 's3a://b/y/../x'}}", "'audit' and .*'desk' have one path"),
        ("{}", "{audit: {path: out/deliveries}}", "'out' and .*'audit' have one path"),
        ("{}", "{audit: {path: link/../out/dead/desk}}", "'out' and .*'audit' have one path"),
        ("{}", "{audit: {path: checkpoint/route}}", "the checkpoint and .*'audit' have one path"),
    ],
)
def test_what_cannot_be_delivered_to_is_refused_when_the_pipeline_starts(
    tmp_path: Path, table: str, destinations: str, problem: str
) -> None:
    """Nothing falls silently into some folder, or into that of another, however it is spelled."""
    path = tmp_path / "pipeline.yaml"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "table.yaml").write_text(
        f"destinations: {{audit: {table}, desk: }}\nroutes: [{{name: all, pattern: '>', destinations: [audit, desk]}}]"
    )
    path.write_text(f"table: table.yaml\nsource: {{path: in}}\ndestinations: {destinations}\n")
    with pytest.raises(InputError, match=problem) as caught:
        run(PipelineFile.load(path), lambda *_, **__: None)
    assert caught.value.code == "bad-destination"


@pytest.mark.parametrize(
    "key", ["table", "out", "checkpoint", "subscriptions", "source.path", "destinations.audit.path"]
)
def test_a_path_that_no_file_can_have_is_a_mistake_in_the_file(tmp_path: Path, key: str) -> None:
    """With its place, as any other."""
    data: dict[str, Any] = {"table": "table.yaml", "source": {"path": "in"}, "destinations": {"audit": {"path": "x"}}}
    *above, last = key.split(".")
    held = data
    for step in above:
        held = held[step]
    held[last] = "a\0b"
    (tmp_path / "pipeline.yaml").write_text(json.dumps(data))
    with pytest.raises(TableError, match=key):
        PipelineFile.load(tmp_path / "pipeline.yaml")


@pytest.mark.parametrize("setting", ["{'spark.x': 'a\\0b'}", "{'master': 'a\\0b'}"])
def test_a_setting_that_spark_cannot_be_given_is_an_error_of_the_project(setting: str) -> None:
    """Before any Java is started."""
    code = (
        "from pointsman.errors import PointsmanError\n"
        "from pointsman.pipeline import local_session\n"
        f"try: local_session(**{setting})\n"
        "except PointsmanError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("[spark-failed] it cannot begin with these settings")


def test_the_secrets_of_destinations_are_read_when_the_pipeline_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the environment or a file beside the pipeline; one that is not there is an error that names it."""
    (tmp_path / "key").write_text("from-file\n")
    options = {"url": "https://shop.example/${SHOP_PATH}", "headers": {"authorization": "file:key"}}
    plain = {
        "destinations": {"shop": {"type": "http", "options": options}},
        "routes": [{"name": "r", "pattern": "a", "destinations": ["shop"]}],
    }
    table = RoutingTable.from_plain(plain)
    destinations = Destinations({}, str(tmp_path / "out"), "json", lambda text: str(tmp_path / text))
    with pytest.raises(InputError, match="'SHOP_PATH' is not set") as caught:
        destinations.check(table)
    assert caught.value.code == "bad-secret"
    monkeypatch.setenv("SHOP_PATH", "in")
    place = destinations.of("shop", table)
    assert isinstance(place, Http)
    assert (place._options.url, place._options.headers) == (
        "https://shop.example/in",
        {"authorization": "from-file"},
    )


def test_a_table_with_python_functions_is_refused_on_spark() -> None:
    """With the reason, by every stage that would need them."""
    table = RoutingTable.parse(
        "routes: [{name: r, pattern: a, when: {function: f}, destinations: [d]}]", functions={"f": bool}
    )
    with pytest.raises(InputError, match="the table calls 'f', and Spark's workers have no Python functions") as caught:
        part_of(table)
    assert caught.value.code == "function-on-spark"
