"""Compiles the matching code into numba's cache, so that the many processes of the tests find it there.

Takes half a minute the first time, and a second or two when nothing changed.
"""

from __future__ import annotations

from pointsman import CompiledIndex

PATTERNS = {"nats": ["a.*", "a.>"], "amqp": ["a.#"], "zato": ["a*b.**"], "mqtt": ["a/+"]}
SUBJECTS = ["a.b", None]


def main() -> None:
    """Builds a small index and asks it in every way."""
    index = CompiledIndex.build(PATTERNS)
    index.match(SUBJECTS)
    index.count(SUBJECTS)
    index.first(SUBJECTS, range(len(index)))
    list(index.match_batches(SUBJECTS))


if __name__ == "__main__":
    main()
