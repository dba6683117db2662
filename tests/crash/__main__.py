"""The long form of the crash test.

    python -m tests.crash [--rounds 300] [--seed 1]

Kills real processes so many times, and says what the promises of docs/guarantees.md came to. Exits with 1 if one was
broken; the folder with the queue and the journals is then kept, and named.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.crash.rounds import Rounds


def main() -> int:
    """The crash test with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Kill processes and see what is lost.")
    parser.add_argument("--rounds", type=int, default=300, help="how often a process is killed (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="chooses who is killed when (default: 1)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pointsman-crash-"))
    end = "\r" if sys.stderr.isatty() else ""
    show = (lambda text: print(text, end=end, file=sys.stderr, flush=True)) if end else (lambda _: None)
    outcome = Rounds(folder, options.seed).run(options.rounds, show)
    for name, count in outcome.counts.items():
        print(f"{name}: {count:,}")
    for wrong in outcome.wrong[:20]:
        print(f"broken: {wrong}")
    if outcome.wrong:
        print(f"{len(outcome.wrong)} promises broken; everything is in {folder}")
        return 1
    shutil.rmtree(folder)
    print("every promise was kept")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
