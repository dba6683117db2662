"""Two tables over one archive: Spark finds what the plain way finds."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from pointsman.cli.main import main
from pointsman.errors import InputError, TableError, TemplateError
from pointsman.pipeline.formats import read_archive
from pointsman.pipeline.table_diff import diff_archive
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.message_diff import MessageDiff
from pointsman.table.tools.messages_file import read_messages
from tests.pipeline.tables import plain_table, route_of, sent_to

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CASES = max(settings().max_examples // 50, 1)
"""Each takes seconds."""
MAIL = "routes: [{{name: mail, pattern: '{}', destinations: [{}]}}]"


def changed(random: Random, plain: dict[str, Any]) -> dict[str, Any]:
    """The table after an edit or two."""
    after = copy.deepcopy(plain)
    routes = after["routes"]
    for _ in range(random.randint(0, 3)):
        if routes and random.random() < 0.5:
            routes.pop(random.randrange(len(routes)))
        if routes and random.random() < 0.5:
            routes[0] = {**route_of(random, after["dialect"], 0), "name": routes[0]["name"]}
        routes.append(route_of(random, after["dialect"], len(routes) + 100))
    if random.random() < 0.3:
        after.pop("translations", None)
    return after


def tables(random: Random) -> tuple[RoutingTable, RoutingTable]:
    """Two tables; chance, which is another on Spark, has no part in them."""
    while True:
        plain = plain_table(random)
        both = plain, changed(random, plain)
        for each in both:
            for number, route in enumerate(each["routes"]):
                if route.get("balance") == "random":
                    route["balance"] = ("round-robin", "weighted")[number % 2]
        try:
            return RoutingTable.from_plain(both[0]), RoutingTable.from_plain(both[1])
        except TableError:
            continue


def archive_of(random: Random, path: Path, before: RoutingTable, after: RoutingTable) -> None:
    """Messages that both tables can decide about, some of them twice."""
    lines = [""]
    while len(lines) < 60:
        message = sent_to(random, before, len(lines)).message
        if message is None:
            continue
        try:
            before.translate(message.subject)
            after.translate(message.subject)
        except TemplateError:
            continue
        lines += [json.dumps(message.to_dict())] * random.choice([1, 1, 2])
    path.write_text("\n".join(lines))


def test_spark_counts_what_the_plain_way_counts(spark: SparkSession, tmp_path: Path) -> None:
    """On generated tables with every strategy, and messages of which some are refused or are there twice."""
    random, differing = Random(6), 0
    for number in range(CASES):
        before, after = tables(random)
        path = tmp_path / f"{number}.jsonl"
        archive_of(random, path, before, after)
        plain = MessageDiff(before, after)
        for line in read_messages(path):
            plain.add(line.message, line.number)
        found = diff_archive(read_archive(spark, path), before, after)
        assert found.as_dict() == plain.found.as_dict(), (before.plain, after.plain)
        differing += found.differing
    assert differing


def test_examples_of_several_files_name_the_file(spark: SparkSession, tmp_path: Path) -> None:
    """The first three, in the order of the files and lines."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text('{"subject": "mail.x.y"}\n' * 2)
    before, after = (RoutingTable.parse(MAIL.format(pattern, "post")) for pattern in ("mail.*", "mail.>"))
    [shift] = diff_archive(read_archive(spark, tmp_path), before, after).shifts
    assert (shift.effect, shift.count) == ("gained", 4)
    assert [*map(str, shift.examples)] == [
        "mail.x.y (a.jsonl line 1)",
        "mail.x.y (a.jsonl line 2)",
        "mail.x.y (b.jsonl line 1)",
    ]


def test_messages_without_lines_are_named_by_their_ids_and_access_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    """Where the archive says who published them; one that is there twice counts twice."""
    rows = [("1", "mail.x", "shop"), ("1", "mail.x", "shop"), ("2", "mail.y", "guest"), ("3", None, None)]
    spark.createDataFrame(rows, "id string, subject string, principal string").coalesce(1).write.parquet(
        str(tmp_path / "archive")
    )
    access = "\naccess: {shop: {publish: [mail.x]}}"
    before = RoutingTable.parse(MAIL.format("mail.*", "post") + access)
    after = RoutingTable.parse(MAIL.format("mail.*", "post, copy"))
    found = diff_archive(read_archive(spark, tmp_path / "archive"), before, after)
    assert (found.messages, found.differing, found.kept, found.gained, found.lost) == (4, 3, 2, 4, 0)
    assert (found.refused_before, found.refused_after) == (2, 1)
    assert [*map(str, found.shifts[0].examples)] == ["mail.x (id 1)", "mail.x (id 1)", "mail.y (id 2)"]


@pytest.mark.parametrize(("line", "code"), [('{"subject"}', "bad-json"), ('{"subject": "a.-"}', "invalid-result")])
def test_a_message_that_is_no_use_is_an_error_with_its_place(
    spark: SparkSession, tmp_path: Path, line: str, code: str
) -> None:
    """The first one, as in the plain way."""
    path = tmp_path / "archive.jsonl"
    path.write_text("\n".join(['{"subject": "b"}', line, line]))
    table = RoutingTable.parse("translations: [{from: 'a.*', to: '{{split(1,-)}}'}]")
    with pytest.raises(InputError) as caught:
        diff_archive(read_archive(spark, path), table, table)
    assert (caught.value.code, caught.value.file, caught.value.line) == (code, str(path), 2)


def test_the_command_says_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 1, and the session that was there before goes on."""
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(MAIL.format("mail.*", "post"))
    Path("new.yaml").write_text(MAIL.format("mail.>", "box"))
    Path("archive.jsonl").write_text('{"subject": "mail.x"}\n\n{"subject": "mail.x.y"}\n')
    said = []
    for way in ([], ["--spark"], ["--json"], ["--spark", "--json"]):
        with pytest.raises(SystemExit) as ended:
            main(["diff", "old.yaml", "new.yaml", "--messages", "archive.jsonl", *way])
        assert ended.value.code == 1
        said.append(capsys.readouterr().out)
    assert (said[0], said[2]) == (said[1], said[3])
    assert said[0].splitlines()[-2:] == [
        "before    1 deliveries = 0 kept + 1 lost; 0 messages refused",
        "after     2 deliveries = 0 kept + 2 gained; 0 messages refused",
    ]
    Path("archive.jsonl").write_text('{"subject": "mail.x"}\nno\n')
    with pytest.raises(SystemExit) as ended:
        main(["diff", "old.yaml", "new.yaml", "--messages", "archive.jsonl", "--spark"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("archive.jsonl:2: error[bad-json]: not JSON: ")
    assert spark.range(1).count() == 1
