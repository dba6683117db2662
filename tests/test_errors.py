"""The error tree and its catalogue."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import pointsman
from pointsman import errors
from pointsman.error_codes import CATALOGUE
from pointsman.errors import InputError, MissingExtraError, PatternError, PointsmanError, StoreError, SubjectError

TREE = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, PointsmanError)]


def test_every_error_is_drawn_in_the_tree_of_the_module() -> None:
    """The docstring is the map."""
    for each in TREE:
        assert each.__name__ in (errors.__doc__ or "")


def test_every_code_that_is_raised_is_in_the_catalogue_and_the_other_way_round() -> None:
    """No code is unknown, and none is dead."""
    source = "".join(
        path.read_text() for path in Path(pointsman.__path__[0]).rglob("*.py") if path.stem != "error_codes"
    )
    named = set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+|empty)"', source))
    assert set(CATALOGUE) <= named
    raised = set(re.findall(r'(?:(?<!MissingExtra)Error|error|_fail|_forbidden)\(\s*"([a-z0-9-]+)"', source))
    assert raised <= set(CATALOGUE)


def test_an_error_without_a_known_code_cannot_be_made() -> None:
    """So that every error has help."""
    with pytest.raises(KeyError):
        PatternError("no-such-code", "?")


def test_an_error_says_its_code_place_and_problem() -> None:
    """In the form an editor understands where there is a file."""
    assert str(SubjectError("empty", "it is empty")) == "[empty] it is empty"
    assert str(SubjectError("empty", "it is empty", column=3)) == "[empty] column 3: it is empty"
    assert str(InputError("bad-json", "no", file="a.json", line=2, column=7)) == "[bad-json] a.json:2:7: no"
    assert str(InputError("no-file", "gone", file="a.json")) == "[no-file] a.json: gone"


def test_an_error_as_a_dict_leaves_out_what_is_not_known() -> None:
    """Code, problem and help are always there."""
    assert SubjectError("empty", "it is empty", text="", column=1).as_dict() == {
        "code": "empty",
        "problem": "it is empty",
        "help": CATALOGUE["empty"].help,
        "text": "",
        "column": 1,
    }


def test_errors_about_values_are_value_errors_those_of_the_store_os_errors_and_a_missing_extra_an_import_error() -> (
    None
):
    """So that code which knows only the standard library can catch them."""
    for each in TREE:
        if each not in (PointsmanError, MissingExtraError, StoreError):
            assert issubclass(each, ValueError)
    assert issubclass(StoreError, OSError)
    error = MissingExtraError("spark", "pyspark")
    assert isinstance(error, ImportError)
    assert 'pip install "pointsman[spark]"' in str(error)


def test_the_public_names_are_these() -> None:
    """A change here is a change for users."""
    assert sorted(pointsman.__all__) == [
        "Broker", "CompiledIndex", "Message", "NamingStandard", "Pattern", "PointsmanError", "Queue", "RoutingTable",
        "Subject", "SubjectIndex", "Template", "__version__",
    ]  # fmt: skip
    assert all(hasattr(pointsman, name) for name in pointsman.__all__)
