"""Asks ``RoutingTable.decide``, a broker and ``pipeline.route`` about the same messages, up to the first disagreement.

python -m tests.pipeline.agree [--tables 2000] [--seed 1]
"""

from __future__ import annotations

import argparse
import random
import sys

from pointsman.pipeline import local_session
from pointsman.pipeline.session import QUICK_START
from tests.pipeline.agreement import AT_ONCE, QUICK_PLANS, disagreement, routed
from tests.pipeline.brokered import broker_disagreement
from tests.pipeline.tables import case_of


def main(arguments: list[str] | None = None) -> int:
    """Asks for as long as it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    spark = local_session("agree", "local[2]", **QUICK_START, **QUICK_PLANS)
    rows = 0
    for start in range(0, options.tables, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, options.tables))
        cases = [case_of(random.Random(f"{options.seed} {number}")) for number in numbers]
        for number, case, found in zip(numbers, cases, routed(spark, cases), strict=True):
            wrong = disagreement(case, found) or broker_disagreement(case, number)
            if wrong is not None:
                print(f"table {number}\n{wrong}")
                return 1
            rows += found.rows.total()
        print(f"{numbers.stop} tables, {rows} rows, 0 disagreements", flush=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
