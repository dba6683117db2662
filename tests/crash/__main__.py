"""The long form of the crash test.

    python -m tests.crash [--rounds 300] [--broker-rounds 100] [--pipeline-rounds 25] [--seed 1] [--only pipeline]

Kills producers and consumers of a queue, then brokers, then pipelines on Spark, so many times, and says what the
promises of docs/guarantees.md came to. Exits with 1 if one was broken; the folder with the files and the journals is
then kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.crash.broker_rounds import BrokerRounds
from tests.crash.pipeline_rounds import PipelineRounds
from tests.crash.rounds import Outcome, Rounds


def main() -> int:
    """The crash test with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Kill processes and see what is lost.")
    parser.add_argument("--rounds", type=int, default=300, help="kills of producers and consumers (default: 300)")
    parser.add_argument("--broker-rounds", type=int, default=100, help="kills of brokers (default: 100)")
    parser.add_argument("--pipeline-rounds", type=int, default=25, help="kills of pipelines (default: 25)")
    parser.add_argument("--only", choices=("queue", "broker", "pipeline"), help="one of the three, instead of all")
    parser.add_argument("--seed", type=int, default=1, help="chooses who is killed when (default: 1)")
    options = parser.parse_args()
    failed = False
    for part, kind, rounds in (
        ("queue", Rounds, options.rounds),
        ("broker", BrokerRounds, options.broker_rounds),
        ("pipeline", PipelineRounds, options.pipeline_rounds),
    ):
        if rounds and options.only in (None, part):
            folder = Path(tempfile.mkdtemp(prefix="pointsman-crash-"))
            outcome = kind(folder, options.seed).run(rounds, show)
            failed = report(part, outcome, folder) or failed
    return int(failed)


def show(text: str) -> None:
    """Says how far it has come, to somebody who looks."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)


def report(part: str, outcome: Outcome, folder: Path) -> bool:
    """Prints what came of it; whether a promise was broken."""
    print(f"The {part}: " + ", ".join(f"{name} {count:,}" for name, count in outcome.counts.items()))
    for wrong in outcome.wrong[:20]:
        print(f"broken: {wrong}")
    if outcome.wrong:
        print(f"{len(outcome.wrong)} promises broken; everything is in {folder}")
        return True
    shutil.rmtree(folder)
    print("every promise was kept")
    return False


if __name__ == "__main__":
    raise SystemExit(main())
