"""The page of the promises names tests that exist, and leaves none of these out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "guarantees.md"
FAILURES = TESTS / "store" / "failures"


def names_in(*files: Path) -> set[str]:
    """The names of the functions in these files."""
    trees = [ast.parse(file.read_text()) for file in files]
    return {
        node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def named() -> set[str]:
    """The tests that the page names."""
    return set(re.findall(r"`(test_\w+)`", PAGE.read_text()))


def test_every_test_that_the_page_names_exists() -> None:
    """A promise has a test that can be run."""
    found = names_in(*TESTS.rglob("test_*.py"))
    assert named() - found == set()


def test_every_test_of_a_failure_is_named_on_the_page() -> None:
    """What is tested as a failure is also promised."""
    files = [file for file in FAILURES.glob("test_*.py") if file.name != Path(__file__).name]
    found = {name for name in names_in(*files) if name.startswith("test_")}
    assert found - named() == set()


def test_every_row_of_the_page_has_a_promise_and_a_test() -> None:
    """No failure is named without saying what is left of the promises."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    promises = [row for row in rows if row[2].strip() != "tests"]
    assert len(promises) > 15
    assert all(len(row) == 3 and row[1].strip() and "`test_" in row[2] for row in promises)
