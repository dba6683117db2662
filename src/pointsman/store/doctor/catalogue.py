"""Every code of a finding: what is wrong, what it means, and what a repair does."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How bad a finding is; the worst first."""

    LOST = "lost"
    """Something that was put is gone, or cannot be read any more."""
    ERROR = "error"
    """The queue does not do what it should."""
    WARNING = "warning"
    """Nothing is lost and nothing goes wrong, but it should not be."""
    NOTE = "note"
    """Good to know; the file is healthy nevertheless."""


class Illness(NamedTuple):
    """One code."""

    severity: Severity
    wrong: str
    means: str
    repair: str


LOST, ERROR, WARNING = Severity.LOST, Severity.ERROR, Severity.WARNING
SALVAGE = "copies all that can be read into FILE-salvaged; the file itself is left as it is"

ILLNESSES: dict[str, Illness] = {
    "not-readable": Illness(LOST, "SQLite cannot open the file.", "No queue can be opened on it.", SALVAGE),
    "sqlite-damage": Illness(LOST, "SQLite's own check finds the file damaged.", "Parts cannot be read.", SALVAGE),
    "table-unreadable": Illness(LOST, "A table cannot be read to its end.", "Its rows may be lost.", SALVAGE),
    "unreadable-message": Illness(LOST, "Messages lie on pages that cannot be read.", "They are lost.", SALVAGE),
    "schema-differs": Illness(ERROR, "Tables or indexes are not as the queue makes them.", "It may fail.", SALVAGE),
    "index-damage": Illness(
        ERROR, "An index does not fit its table.", "Ids or keys are not found.", "builds all indexes anew"
    ),
    "header-differs": Illness(
        ERROR, "The header does not say that the file is a queue.", "It is refused.", "writes what belongs there"
    ),
    "lost-tail": Illness(
        LOST,
        "The mark says that more was committed than the file holds.",
        "Messages that were put are gone, and acknowledged ones may come again. The queue cannot be opened.",
        "keeps a copy of the log, puts back the messages that can be read in it, and takes the file as it is",
    ),
    "log-broken": Illness(
        LOST,
        "The checksum of a frame of the write-ahead log is wrong.",
        "SQLite ignores that frame and all after it without a word: those transactions are lost.",
        "keeps a copy of the log, and puts back the messages that can be read in it",
    ),
    "mark-unreadable": Illness(
        WARNING, "The mark beside the file is damaged.", "It would not show a loss.", "writes it anew"
    ),
    "mark-differs": Illness(
        ERROR, "Mark and file agree in the transactions, but not in the number of the last message.",
        "One of the two is damaged.", "sets the number to the highest that is known, and writes the mark anew",
    ),
    "damaged-message": Illness(
        LOST, "The checksum of messages is wrong.", "They are not what was put, and are not delivered.",
        "makes dead letters of their deliveries; the messages stay, to be looked at",
    ),
    "damaged-aside": Illness(
        Severity.NOTE, "Damaged messages are done, or dead letters already.", "Nobody is waiting for them.", "nothing"
    ),
    "missing-message": Illness(
        LOST, "Deliveries have no message.", "There is nothing to deliver.", "makes dead letters of them"
    ),
    "lost-deliveries": Illness(
        ERROR, "Messages are neither done nor waiting for anybody.", "Nobody would ever get them.",
        "makes them ready for the queue itself and for every subscription whose pattern matches",
    ),
    "delivery-differs": Illness(
        ERROR, "Deliveries have another key or priority than their message.", "They would be taken for damaged.",
        "gives them the key and the priority of the message",
    ),
    "unknown-subscription": Illness(
        ERROR, "Deliveries are for a subscription that does not exist.", "Nobody would ever get them.",
        "makes the message ready for the queue itself and for every subscription whose pattern matches",
    ),
    "ended-subscription": Illness(
        WARNING, "Deliveries are for a subscription that was ended.", "Nobody wants them, but they take room.",
        "ends them, as the end of the subscription would have done",
    ),
    "unknown-route": Illness(
        ERROR, "Deliveries came by a route that is not known.", "Nobody can say how to handle them.",
        "makes dead letters of them",
    ),
    "odd-delivery": Illness(
        ERROR, "Deliveries have times or numbers that cannot be.", "They might be due never.",
        "makes them ready, with all their attempts before them",
    ),
    "double-delivery": Illness(
        ERROR, "A delivery is in two places at once.", "It would be delivered twice.",
        "keeps one: leased before ready, ready before delayed, delayed before dead",
    ),
    "finished-and-open": Illness(
        ERROR, "Messages are done and yet waiting for somebody.", "Pruning would delete what was not delivered.",
        "takes them as not done, so that they are delivered",
    ),
    "wrong-pending": Illness(
        ERROR, "The number of open deliveries of a message is not what is noted.",
        "It would be done too early, or never.", "notes what is counted",
    ),
    "finished-without-message": Illness(
        WARNING, "Messages are noted as done that do not exist.", "The count of done messages is wrong.",
        "removes the notes",
    ),
    "wrong-unfinished": Illness(
        ERROR, "The number of unfinished messages is not what is noted.", "maxsize is applied wrongly.",
        "notes what is counted",
    ),
    "time-ahead": Illness(
        WARNING, "The time of the queue is ahead of the clock.", "The clock was set back, or the time is damaged.",
        "nothing: the queue goes on from its own time",
    ),
    "duplicate-key": Illness(
        ERROR, "A routing key is stored twice.", "A pattern may miss messages of one of them.",
        "gives all messages the first, and removes the others",
    ),
    "damaged-key": Illness(
        ERROR, "A routing key is not one.", "Patterns fail on it; its messages are damaged.",
        "writes it so that it can be read; its messages become dead letters",
    ),
    "damaged-subscription": Illness(
        ERROR, "A subscription, or the pattern of one, cannot be read.", "Opening or putting fails.",
        "takes its pattern away; what was delivered to it stays",
    ),
    "damaged-state": Illness(
        ERROR, "What routing remembers cannot be read.", "The saga, gathering, breaker or balance fails.",
        "sets it aside under the kind damaged:KIND, so that it begins anew",
    ),
    "unreadable-text": Illness(
        ERROR, "Notes or errors of deliveries are no text.", "Taking them fails.", "removes those texts",
    ),
}  # fmt: skip
