"""A glob within one token, such as ``ord*``, as a test of that token."""

from __future__ import annotations

from collections.abc import Callable

from pointsman.patterns.nodes import Glob


def make_glob_test(glob: Glob) -> Callable[[str], bool]:
    """Whether a token is one that the glob describes. The glob must not cross separators.

    Each text between two wildcards is taken at the first place where it stands: what is left is then the longest, so
    that no other choice could do better, and none is tried.

    >>> from pointsman.patterns.nodes import Run
    >>> test = make_glob_test(Glob(("ord", Run.WITHIN, "s", Run.WITHIN)))
    >>> test("orders"), test("order")
    (True, False)
    """
    texts = [part if isinstance(part, str) else "" for part in glob.parts]
    first, last, middle = texts[0], texts[-1], [text for text in texts[1:-1] if text]
    least = len(first) + len(last)

    def test(token: str) -> bool:
        if len(token) < least or not token.startswith(first) or not token.endswith(last):
            return False
        place, end = len(first), len(token) - len(last)
        for text in middle:
            place = token.find(text, place, end)
            if place < 0:
                return False
            place += len(text)
        return True

    return test
