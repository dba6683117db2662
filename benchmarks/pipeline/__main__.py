"""Measures, and prints what was found."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pipeline import measures, report
from pointsman.pipeline import local_session

PARTS = ("columns", "route", "run", "latency", "command")


def main() -> int:
    """1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=sys.modules[__package__].__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer messages and rounds: some minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it as PNG")
    chosen = parser.parse_args()
    parts = chosen.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    size = measures.QUICK if chosen.quick else measures.FULL

    def tell(what: str) -> None:
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)

    rows: list[measures.Row] = []
    with TemporaryDirectory(prefix="pointsman-bench-") as name:
        folder = Path(name)
        if "columns" in parts:
            rows += measures.columns(size, tell)
        if set(parts) & {"route", "run", "latency"}:
            spark = local_session("benchmark", "local[2]")
            measures.agreement(spark, folder, tell)
            for part in ("route", "run", "latency"):
                if part in parts:
                    rows += getattr(measures, part)(spark, folder, size, tell)
            spark.stop()
        if "command" in parts:
            rows += measures.command(folder, size, tell)
    tell("")
    asked = list(report.goals(rows))
    print(*report.lines(rows, asked), sep="\n")
    if chosen.json:
        goals = [asdict(goal) | {"held": goal.held} for goal in asked]
        chosen.json.write_text(json.dumps({"rows": [asdict(row) for row in rows], "goals": goals}, indent=1))
    if chosen.plot:
        report.draw(rows, chosen.plot)
    return int(any(not goal.held for goal in asked))


if __name__ == "__main__":
    sys.exit(main())
