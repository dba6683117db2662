"""Asks every form of wildcard subscriptions the same questions and stops at the first disagreement.

    python -m tests.agree_subscriptions [--cases 100000] [--seed 1] [--forms live,columns,broadcast,partitioned]

A case is a message and up to 40 subscriptions: by their definition (each asked by itself), and by each of the forms.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping

from pointsman.store.queue import Queue
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.column_forms import broadcast, columns, partitioned
from tests.subscriptions.generated import NOW, Case, expected, make_case

Form = Callable[[list[Case]], list[list[list[str]]]]
"""For each case, and each of its messages, the ids of the subscriptions that match, in their order."""
SUBSCRIPTIONS = 40
MESSAGES = 20
AT_ONCE = 50
"""Sets of subscriptions that a form is asked about together, unless told otherwise."""


def live(cases: list[Case]) -> list[list[list[str]]]:
    """The resolver of the broker; half of the subscriptions come, and some go, after it has begun."""
    return [_live(case, page=2 + place % 3 * 500) for place, case in enumerate(cases)]


FORMS: Mapping[str, Form] = {"live": live, "columns": columns}
"""By their names."""
ON_SPARK: Mapping[str, Form] = {"broadcast": broadcast, "partitioned": partitioned}
"""Those that are not asked unless they are named, since they start Spark."""


def disagreement(cases: list[Case], form: Form) -> str | None:
    """What is wrong, if anything."""
    for case, found in zip(cases, form(cases), strict=True):
        for message, right, given in zip(case.messages, expected(case), found, strict=True):
            if right != given:
                wrong = [each for each in case.subscriptions if each.id in set(right) ^ set(given)]
                return f"{message}: {right} or {given}?\n" + "\n".join(map(repr, wrong))
    return None


def make_cases(seed: int, number: int, count: int) -> list[Case]:
    """So many, the same for the same seed and number."""
    source = random.Random(f"{seed} {number}")
    return [make_case(source, SUBSCRIPTIONS, MESSAGES) for _ in range(count)]


def _live(case: Case, page: int) -> list[list[str]]:
    with Queue(":memory:", clock=lambda: NOW) as queue:
        registry, resolving = Registry(queue.store), LiveSubscriptions(queue.store, page)
        half = len(case.subscriptions) // 2
        registry.import_many(case.subscriptions[:half])
        _ids(resolving, case, page)
        for subscription in case.subscriptions[:half:3]:
            registry.update(subscription)
        for number, subscription in enumerate(case.subscriptions[half:]):
            registry.create(subscription)
            if number % 3:
                # It takes up some changes as they are made, and others together.
                with resolving.reading():
                    pass
        return _ids(resolving, case, page)


def _ids(resolving: LiveSubscriptions, case: Case, page: int) -> list[list[str]]:
    found = []
    with resolving.reading() as resolver:
        for number, message in enumerate(case.messages):
            resolved = resolver.resolve(str(number), *message)
            ids: list[str] = []
            after = 0
            while matches := resolver.matches(resolved, page, after):
                ids += [match.id for match in matches]
                after = matches[-1].number
            found.append(ids)
            resolver.forget(resolved)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Asks for as long as it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="sets of subscriptions asked about together")
    parser.add_argument("--forms", default=",".join(FORMS), help="between commas")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    asked = number = matched = 0
    while asked < options.cases:
        cases = make_cases(options.seed, number, options.at_once)
        number += 1
        for name in options.forms.split(","):
            wrong = disagreement(cases, {**FORMS, **ON_SPARK}[name])
            if wrong is not None:
                print(f"{name}: {wrong}")
                return 1
        asked += options.at_once * MESSAGES
        matched += sum(len(ids) for case in cases for ids in expected(case))
        print(f"{asked} cases, {matched} matches, 0 disagreements", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
