"""What a pattern of a metadata condition means: the reference for one pattern and one text.

``?`` stands for exactly one character and ``*`` for any number of them, also none; a character is a Unicode code point.
Everything else stands for itself: nothing is escaped, and case matters. The pattern is a row of states kept as the bits
of one number, which moves along the text, so that no pattern can make the work grow beyond pattern times text over 64.
"""

from __future__ import annotations

from collections import defaultdict

ANY_NUMBER = "*"
ANY_ONE = "?"


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text. Safe between threads; raises nothing.

    >>> glob_matches("*el?ow", "elbow"), glob_matches("el?ow", "ellbow"), glob_matches("[a-z]*", "abc")
    (True, False, False)
    """
    takes: defaultdict[str, int] = defaultdict(int)
    any_one = loops = states = 0
    for sign in pattern:
        if sign == ANY_NUMBER:
            loops |= 1 << states
            continue
        states += 1
        if sign == ANY_ONE:
            any_one |= 1 << states
        else:
            takes[sign] |= 1 << states
    live = 1
    for character in text:
        live = (live << 1 & (takes.get(character, 0) | any_one)) | (live & loops)
        if not live:
            return False
    return bool(live >> states & 1)
