"""The lexemes of a text: the words that partial conditions look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apsw.unicode import word_iter, word_iter_with_offsets


def lexemes(text: str) -> list[str]:
    """The segments between word boundaries (UAX #29) that hold a letter or a digit, in their order.

    >>> lexemes("Twin Sterile Neutrino, Dark Matter.")
    ['Twin', 'Sterile', 'Neutrino', 'Dark', 'Matter']
    """
    return list(word_iter(text))


def lexeme_places(text: str, begin: int = 0) -> list[int]:
    """Where each lexeme begins and ends in the UTF-8 of the text, in turns, when the text begins at ``begin``.

    >>> lexeme_places("日本 x")
    [0, 3, 3, 6, 7, 8]
    """
    places = []
    done = 0
    # Its annotation says that it gives texts; it gives begin, end and text.
    words: Iterator[Any] = word_iter_with_offsets(text)
    for start, stop, word in words:
        begin += len(text[done:start].encode())
        places.append(begin)
        begin += len(word.encode())
        places.append(begin)
        done = stop
    return places
