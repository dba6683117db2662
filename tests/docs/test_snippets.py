"""The documentation is true: its examples are run, its links lead somewhere, and it names every command."""

from __future__ import annotations

import doctest
import json
import logging
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command

from pointsman import Pattern, Template
from pointsman.cli.main import app
from pointsman.errors import TemplateError

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("pycon", "console")
"""Kinds of blocks that are run."""
NOT_CODE = ("json", "mermaid", "text")
"""Kinds of blocks that there is nothing to run of."""
ANY_LINES = "…"
ON_SPARK = sorted((ROOT / "docs").glob("pipeline*.md"))

FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|home|root|tmp|Users|mnt)(?:/|\b)")
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted|anaconda\.(?:org|com)|npmjs|docker\.io|ghcr\.io|maven\.org", re.IGNORECASE
)


@pytest.fixture(autouse=True)
def _other_tests_see_what_is_logged() -> Iterator[None]:
    """An example may say what is logged in its own process."""
    log = logging.getLogger("pointsman.broker")
    before = log.level
    yield
    log.setLevel(before)


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    line: int
    """The number of its first line in the page."""
    lines: list[str]


class Step(NamedTuple):
    """A command of a console block and what it prints."""

    command: str
    output: list[str]


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in their order."""
    open_block: Block | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        assert not (fence and fence[1]), f"{page.name}: the block of line {number} is indented"
        if open_block is not None and fence:
            yield open_block
            open_block = None
        elif open_block is not None:
            open_block.lines.append(line)
        elif fence:
            open_block = Block(fence[2], number + 1, [])
    assert open_block is None, f"{page.name}: the block of line {open_block.line} has no end"


def prose_of(page: Path) -> str:
    """The page without its fenced blocks and without the code in its sentences."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def name_of(path: Path) -> str:
    """The path as one calls it within the repository."""
    return str(path.relative_to(ROOT))


def pages_with(kind: str) -> list[Path]:
    """The pages that have a block of this kind."""
    return [page for page in PAGES if page.exists() and any(block.kind == kind for block in blocks_of(page))]


def steps_of(block: Block) -> list[Step]:
    """The commands of a console block, each with the lines that follow it."""
    steps: list[Step] = []
    for line in block.lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        else:
            assert steps, f"line {block.line}: a console block begins with a command"
            steps[-1].output.append(line)
    return steps


def run_in_one_shell(steps: list[Step], directory: Path) -> list[str]:
    """What each command prints, errors included; all of them run in one bash, so that ``echo $?`` works."""
    mark = f"---- {secrets.token_hex(8)} ----"
    script = "".join(
        f"{step.command}\nlast_status=$?; printf '\\n%s\\n' '{mark}'; (exit $last_status)\n" for step in steps
    )
    unwanted = ("COLUMNS", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    finished = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    *outputs, rest = finished.stdout.split(f"\n{mark}\n")
    assert len(outputs) == len(steps), f"the shell ended early:\n{finished.stdout}"
    assert not rest
    return outputs


def tidy(lines: list[str]) -> list[str]:
    """The lines without blanks at their ends and without empty lines at the end of all."""
    tidied = [line.rstrip() for line in lines]
    while tidied and not tidied[-1]:
        tidied.pop()
    return tidied


def is_as_written(got: str, written: list[str]) -> bool:
    """Whether an output is what the page says; a line ``…`` stands for any lines."""
    expression = "".join(r"(?:.*\n)*?" if line == ANY_LINES else re.escape(line) + r"\n" for line in tidy(written))
    return re.fullmatch(expression, "".join(line + "\n" for line in tidy(got.splitlines()))) is not None


def marked(page: Path) -> object:
    """The page as a parameter; one that starts Spark runs in the process that all such tests run in."""
    return pytest.param(page, marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")] if page in ON_SPARK else [])


@pytest.mark.parametrize("page", [marked(page) for page in pages_with("pycon")], ids=name_of)
def test_the_python_examples_of_a_page_give_what_it_shows(page: Path, request: pytest.FixtureRequest) -> None:
    """The blocks of one page are one session, in their order; with Spark they use the session of all tests."""
    if page in ON_SPARK:
        request.getfixturevalue("spark")
    lines = [""] * len(page.read_text(encoding="utf-8").splitlines())
    for block in blocks_of(page):
        if block.kind == "pycon":
            lines[block.line - 1 : block.line - 1 + len(block.lines)] = block.lines
    session = doctest.DocTestParser().get_doctest("\n".join(lines) + "\n", {}, name_of(page), str(page), 0)
    assert session.examples
    report: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(session, out=report.append)
    assert outcome.failed == 0, "".join(report)


@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Each block is one shell in a directory where ``tests/conformance`` holds the cases of the repository."""
    for block in blocks_of(page):
        if block.kind != "console":
            continue
        directory = tmp_path / str(block.line)
        (directory / "tests").mkdir(parents=True)
        (directory / "tests" / "conformance").symlink_to(ROOT / "tests" / "conformance")
        steps = steps_of(block)
        for step, got in zip(steps, run_in_one_shell(steps, directory), strict=True):
            assert is_as_written(got, step.output), (
                f"{name_of(page)}, block of line {block.line}: $ {step.command}\nprints\n{got}"
            )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_of_a_kind_that_is_run_or_is_no_code(page: Path) -> None:
    """No example escapes the tests by being marked as something else; what is marked as JSON can be read as such."""
    for block in blocks_of(page):
        assert block.kind in RUN + NOT_CODE, f"line {block.line}: a block of the kind {block.kind!r}"
        if block.kind == "json":
            json.loads("\n".join(block.lines))


@pytest.mark.parametrize(
    ("written", "got", "same"),
    [
        (["a", "b"], "a\nb\n", True),
        (["a"], "a  \n\n", True),
        (["a"], "b\n", False),
        (["a"], "a\nb\n", False),
        (["a", "b"], "a\n", False),
        ([" a"], "a\n", False),
        ([], "", True),
        ([], "a\n", False),
        (["a.b"], "aXb\n", False),
        (["a", "…", "d"], "a\nb\nc\nd\n", True),
        (["a", "…", "d"], "a\nd\n", True),
        (["a", "…", "d"], "a\nb\n", False),
        (["…"], "anything\nat all\n", True),
    ],
)
def test_an_output_is_compared_line_by_line(written: list[str], got: str, same: bool) -> None:
    """Only blanks at the end of lines, empty lines at the end, and what stands for ``…`` make no difference."""
    assert is_as_written(got, written) == same


def test_each_command_of_a_block_has_its_own_output_and_the_next_one_sees_its_status(tmp_path: Path) -> None:
    """Errors count as output, a missing last newline does no harm, and variables live on."""
    block = Block("console", 1, ["$ echo one; echo two >&2", "one", "two", "$ printf x; false", "x", "$ echo $?", "1"])
    steps = steps_of(block)
    assert [tidy(got.splitlines()) for got in run_in_one_shell(steps, tmp_path)] == [["one", "two"], ["x"], ["1"]]


def rows_below(heading: str, page: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head; each cell as it is written."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = re.split(r"^##+ ", text.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    rows = [line[1:-1].split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def code_in(cell: str) -> list[str]:
    """The texts that a cell shows as code."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("row", rows_below("Typical cases", "conversion.md"), ids=lambda row: " ".join(row[:3]))
def test_a_row_of_the_table_of_conversions_is_what_conversion_gives(row: list[str]) -> None:
    """The patterns and the fit are those of the table."""
    pattern, source, target, fit, result, *_ = row
    conversion = Pattern(code_in(pattern)[0], source).convert(target)
    assert (conversion.fit.value, [str(each) for each in conversion.patterns]) == (fit, code_in(result))


@pytest.mark.parametrize("row", rows_below("Functions", "templates.md"), ids=lambda row: str(row[0]))
def test_a_row_of_the_table_of_functions_is_what_the_template_gives(row: list[str]) -> None:
    """The example in the last column, applied to the subject in the one before it."""
    _, _, subject, result = row
    template, expected = code_in(result)
    assert Template(template, Pattern("*")).apply(code_in(subject)[0]) == expected


@pytest.mark.parametrize("row", rows_below("Errors", "templates.md"), ids=lambda row: str(row[0]))
def test_a_row_of_the_table_of_template_errors_names_the_right_code(row: list[str]) -> None:
    """Each template given as an example is refused with the code of its row."""
    code = code_in(row[0])[0]
    for example in re.split(r",? or |, (?=`)", row[1]):
        template, *source = code_in(example)
        with pytest.raises(TemplateError) as caught:
            Template(template, Pattern(source[0] if source else "a.*"))
        assert caught.value.code == code


def test_the_page_of_error_codes_is_the_one_written_from_the_catalogue() -> None:
    """``python scripts/error_page.py > docs/errors.md`` brings it up to date."""
    written = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "error_page.py")], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == written.stdout


class Command(NamedTuple):
    """A command as the user types it."""

    name: str
    help: str | None
    options: list[str]


def commands() -> list[Command]:
    """Every command and sub-command of the command line, the whole program first."""
    found = []
    waiting = [("pointsman", get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        options = [text for parameter in command.params for text in parameter.opts if text.startswith("-")]
        found.append(Command(name, command.help, options))
        waiting += [(f"{name} {each}", inner) for each, inner in getattr(command, "commands", {}).items()]
    return found


def section_of(command: Command) -> str:
    """What ``docs/command-line.md`` says under the heading of a command; nothing if there is no such heading."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    found = re.search(rf"^##+ `{command.name}`$\n(.*?)(?=^##+ |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("command", commands(), ids=lambda command: str(command.name))
def test_a_command_has_help_and_is_documented_with_all_its_options(command: Command) -> None:
    """Its heading in ``docs/command-line.md`` is its name, and each option is named below it."""
    assert command.help
    section = section_of(command)
    assert section, f"docs/command-line.md has no heading `{command.name}`"
    assert [option for option in command.options if f"`{option}" not in section] == []


def test_the_command_line_has_the_commands_the_documentation_test_looks_for() -> None:
    """The walk over the commands finds those one level down, too."""
    names = [command.name for command in commands()]
    assert {"pointsman", "pointsman match", "pointsman pattern compare"} <= set(names)


def anchors_of(page: Path) -> set[str]:
    """The names by which the headings of a page are linked to."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_of_a_page_leads_to_a_file_of_the_repository(page: Path) -> None:
    """A link to a heading leads to a heading that is there."""
    for link in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_no_path_of_a_machine_and_no_package_registry(page: Path) -> None:
    """What is true on one machine only has no place in the documentation."""
    text = page.read_text(encoding="utf-8")
    assert [found[0] for found in MACHINE_PATH.finditer(text)] == []
    assert [found[0] for found in REGISTRY.finditer(text)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "docs"], ids=name_of)
def test_every_page_can_be_reached_from_the_readme(page: Path) -> None:
    """The README links to each page of ``docs/``."""
    assert f"({name_of(page)})" in (ROOT / "README.md").read_text(encoding="utf-8")
