"""The short form of ``python -m tests.agree_subscriptions``."""

from __future__ import annotations

import pytest

from tests.agree_subscriptions import FORMS, disagreement, make_cases
from tests.subscriptions.generated import expected


@pytest.mark.parametrize("name", FORMS)
def test_a_form_finds_what_each_subscription_says_by_itself(name: str) -> None:
    """For the same cases at each run; there are many matches among them."""
    cases = make_cases(1, 1, 40)
    assert disagreement(cases, FORMS[name]) is None
    assert sum(len(ids) for case in cases for ids in expected(case)) > 500
