"""A pytest plugin: how much of a routing table the tests of an application exercise.

It does nothing until ``--pointsman-coverage=TABLE`` names a table. Tests give it decisions through the fixture
``pointsman_coverage``; what was covered is shown at the end, also when the tests ran in several processes of
pytest-xdist.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pointsman.table.decision import Decision
    from pointsman.table.tools.coverage import Coverage

DATA = "pointsman_coverage"
"""Under which a process of pytest-xdist hands over what it counted."""


class CoverageRecorder:
    """What the fixture gives: it counts decisions if a table was named, and nothing otherwise."""

    def __init__(self, coverage: Coverage | None) -> None:
        self._coverage = coverage

    def record(self, decision: Decision, sent: str | None = None) -> None:
        """Counts what a decision exercised; as ``Coverage.record``, and raises what that raises."""
        if self._coverage is not None:
            self._coverage.record(decision, sent)


RECORDER: pytest.StashKey[CoverageRecorder] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("pointsman", "coverage of routing tables")
    group.addoption("--pointsman-coverage", metavar="TABLE", help="The routing table whose coverage is shown.")
    group.addoption("--pointsman-environment", metavar="NAME", help="The environment of the table.")
    group.addoption("--pointsman-html", metavar="FILE", help="Also write a page of HTML.")
    group.addoption("--pointsman-minimum", metavar="PERCENT", type=float, help="Fail when fewer routes are covered.")


def pytest_configure(config: pytest.Config) -> None:
    """Loads the table, if one was named."""
    config.stash[RECORDER] = CoverageRecorder(None)
    table = config.getoption("--pointsman-coverage")
    if table is not None:
        from pointsman.errors import PointsmanError

        try:
            coverage = _load(table, config.getoption("--pointsman-environment"))
        except PointsmanError as error:
            raise pytest.UsageError(f"--pointsman-coverage: {error}") from None
        page = config.getoption("--pointsman-html")
        if page is not None and not Path(page).parent.is_dir():
            raise pytest.UsageError(f"--pointsman-html: there is no directory {str(Path(page).parent)!r}")
        config.stash[RECORDER] = CoverageRecorder(coverage)
        config.pluginmanager.register(_Report(config, coverage), "pointsman-report")


def _load(table: str, environment: str | None) -> Coverage:
    from pointsman.table.loading.document import places_in
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.coverage import Coverage

    return Coverage(RoutingTable.load(table, environment), places_in(Path(table), "translations", environment))


@pytest.fixture(scope="session")
def pointsman_coverage(pytestconfig: pytest.Config) -> CoverageRecorder:
    """Counts the decisions that are given to its ``record(decision, sent)``; ``sent`` is the subject as it was sent."""
    return pytestconfig.stash[RECORDER]


class _Report:
    def __init__(self, config: pytest.Config, coverage: Coverage) -> None:
        self.config = config
        self.coverage = coverage

    @property
    def too_little(self) -> bool:
        minimum = self.config.getoption("--pointsman-minimum")
        return minimum is not None and self.coverage.percent < minimum

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Of pytest-xdist: a process has ended, and hands over what it counted."""
        counted = getattr(node, "workeroutput", {}).get(DATA)
        if counted is not None:
            self.coverage.merge_data(counted)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output[DATA] = self.coverage.as_data()
            return
        if self.too_little and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        page = self.config.getoption("--pointsman-html")
        if page is not None:
            from pointsman.table.tools.coverage import write_html

            Path(page).write_text(write_html(self.coverage), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("coverage of the routing table")
        terminalreporter.line(f"{self.coverage.percent:.1f}% of the routes")
        for entry in self.coverage.uncovered:
            place = f"{entry.place}: " if entry.place else ""
            terminalreporter.line(f"{place}{entry.kind} {entry.name!r} is not covered")
        if self.too_little:
            minimum = self.config.getoption("--pointsman-minimum")
            terminalreporter.line(f"failed: fewer than {minimum:g}% of the routes are covered", red=True)
