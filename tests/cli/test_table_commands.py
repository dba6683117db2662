"""The commands about routing tables, run as a user runs them."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_command_line import POINTSMAN, run

SHOP = str(Path(__file__).parents[2] / "examples" / "shop.yaml")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    """A table with three mistakes."""
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "routes:\n- {name: a, patern: x, destinations: [b]}\n- {name: b, pattern: x..y, destinations: [b]}\n"
    )
    return str(file)


def test_explain_shows_a_tree_and_who_gets_the_message() -> None:
    """It ends with 0 when somebody does."""
    result = run("explain", SHOP, '{"subject": "orders.eu", "body": {"amount": 1500}}', "--principal", "shop")
    assert result.returncode == 0
    assert "└── deliver: 2 deliveries" in result.stdout
    assert "other-orders: not taken: 'large-orders' comes first in the table, and its predicate holds" in result.stdout
    assert result.stdout.splitlines()[-2:] == ["audit -> audit", "large-orders -> premium-desk"]


def test_explain_as_json_holds_the_trace() -> None:
    """Stage by stage."""
    said = json.loads(run("explain", SHOP, "alerts.critical.fire", "--json").stdout)
    assert [step["stage"] for step in said["trace"]][-3:] == ["resolve", "select", "deliver"]
    assert said["deliveries"][1] == {"route": "critical", "destination": "on-call", "subject": "alerts.critical.fire"}


def test_explain_ends_with_1_when_nobody_gets_the_message() -> None:
    """Because access refuses it."""
    result = run("explain", SHOP, "orders.returned", "-p", "shop")
    assert result.returncode == 1
    assert "refused: 'shop' may not publish to 'orders.returned'" in result.stdout


def test_explain_reads_the_message_from_the_standard_input() -> None:
    """With - in its place."""
    done = subprocess.run(
        [POINTSMAN, "explain", SHOP, "-"], input='{"subject": "mail.x"}', capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].startswith("mail -> mailer-")


def test_explain_reads_the_message_from_a_file(tmp_path: Path) -> None:
    """A file that is there wins over a subject of that name."""
    file = tmp_path / "message.json"
    file.write_text('{"subject": "alerts.critical.fire"}\n')
    assert run("explain", SHOP, str(file)).stdout.splitlines()[-1] == "critical -> on-call"
    file.write_bytes(b"\xff")
    assert run("explain", SHOP, str(file)).returncode == 2


def test_every_mistake_of_a_table_is_shown_with_its_place(wrong: str) -> None:
    """Status 2, no traceback; and as JSON for machines."""
    result = run("explain", wrong, "x")
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if "error[" in line]
    assert [line.split(": ")[0].removeprefix(wrong) for line in lines] == [":2:3", ":2:13", ":3:22"]
    said = json.loads(run("explain", wrong, "x", "--json").stderr)
    assert [error["code"] for error in said["errors"]] == ["missing-key", "unknown-key", "empty-token"]


def test_a_message_that_is_none_is_refused() -> None:
    """Status 2."""
    for message in ('{"subject": ', '{"body": 1}', '{"subject": "a", "colour": "red"}'):
        result = run("explain", SHOP, message)
        assert (result.returncode, "Traceback" in result.stderr) == (2, False)


def test_access_explain_says_which_rule_decides() -> None:
    """0 for yes, 1 for no."""
    assert run("access", "explain", SHOP, "shop", "orders.new").returncode == 0
    result = run("access", "explain", SHOP, "courier", "orders.new", "-o", "publish", "--json")
    assert (result.returncode, json.loads(result.stdout)["allowed"]) == (1, False)


def test_access_list_gives_topics_or_principals(tmp_path: Path) -> None:
    """And nothing else."""
    topics = tmp_path / "topics"
    topics.write_text("orders.new\norders.returned\n\nelsewhere\n")
    result = run("access", "list", SHOP, "--principal", "shop", "--topics", str(topics))
    assert result.stdout.split() == ["orders.new"]
    assert run("access", "list", SHOP, "--topic", "orders.new", "-o", "subscribe").stdout.split() == ["shop", "courier"]
    assert run("access", "list", SHOP).returncode == 2


def test_the_schema_is_json_schema_and_knows_the_sections() -> None:
    """For editors."""
    schema = json.loads(run("table", "schema").stdout)
    assert {"routes", "destinations", "sagas", "environments"} <= schema["properties"].keys()
    assert schema["properties"]["routes"]["items"]["$ref"] in {f"#/$defs/{name}" for name in schema["$defs"]}


def test_a_hostile_table_takes_bounded_memory() -> None:
    """Ten megabytes of nesting, of values and of one text, in a process that may have 2 GB."""
    script = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from pointsman import PointsmanError, RoutingTable
for text in ("[" * 10_000_000, "a: {" * 2_500_000, "- a\\n" * 2_500_000, "x: " + "y" * 10_000_000):
    try:
        RoutingTable.parse(text)
    except PointsmanError as error:
        print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["yaml-limit", "yaml-limit", "bad-table", "yaml-limit"], done.stderr[-2_000:]
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20
