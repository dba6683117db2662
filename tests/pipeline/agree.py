"""Asks ``decide``, a broker, ``columns.route`` and ``pipeline.route`` about the same messages, up to a disagreement.

With ``--without-spark`` the last is left out, which takes a fiftieth of the time.

python -m tests.pipeline.agree [--tables 2000] [--seed 1] [--without-spark]
"""

from __future__ import annotations

import argparse
import random
import sys

from pointsman.pipeline import local_session
from pointsman.pipeline.spark.session import QUICK_START
from tests.columns.agreement import columns_disagreement
from tests.pipeline.agreement import QUICK_PLANS, disagreement, routed
from tests.pipeline.brokered import broker_disagreement, decided_once
from tests.pipeline.tables import case_of


def main(arguments: list[str] | None = None) -> int:
    """Asks for as long as it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--without-spark", action="store_true")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    spark = None if options.without_spark else local_session("agree", "local[2]", **QUICK_START, **QUICK_PLANS)
    rows = 0
    for number in range(options.tables):
        case = case_of(random.Random(f"{options.seed} {number}"))
        wrong = broker_disagreement(case, number) or columns_disagreement(case)
        wrong = wrong or (None if spark is None else disagreement(case, routed(spark, case)))
        if wrong is not None:
            print(f"table {number}\n{wrong}")
            return 1
        rows += sum(decided_once(case, number).values())
        if not (number + 1) % 100:
            print(f"{number + 1} tables, {rows} outcomes, 0 disagreements", flush=True)
    if spark is not None:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
