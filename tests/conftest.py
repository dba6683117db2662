"""Settings for the whole test run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SLOW_MACHINE = [HealthCheck.too_slow]

settings.register_profile("default", max_examples=150, deadline=None, suppress_health_check=SLOW_MACHINE)
settings.register_profile("long", max_examples=20_000, deadline=None, suppress_health_check=SLOW_MACHINE)
# The same inputs each time: a change of the code must be found by the tests and not by luck.
settings.register_profile(
    "mutation",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("POINTSMAN_HYPOTHESIS", "default"))
