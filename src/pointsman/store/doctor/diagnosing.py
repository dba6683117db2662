"""All checks, one after the other, on a file that is only read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw

from pointsman.errors import StoreError
from pointsman.store.commit_mark import Mark
from pointsman.store.doctor import questions
from pointsman.store.doctor.control import Control, check_control, read_control
from pointsman.store.doctor.faults import Fault, faults_of
from pointsman.store.doctor.finding import Diagnosis, Findings, Sample
from pointsman.store.doctor.names import check_names, read_names
from pointsman.store.doctor.reading import Asked
from pointsman.store.doctor.standing import Survey
from pointsman.store.doctor.structure import check_header, check_integrity, check_schema
from pointsman.store.doctor.tail import check_log, check_mark, read_mark
from pointsman.store.doctor.texts import check_texts
from pointsman.store.doctor.wal import Log, read_log
from pointsman.store.migrate.source import opened

Progress = Callable[[int, int], None]
"""Is told how many messages of how many were looked at."""
ATTEMPTS = 3
"""How often a file is looked at that is written to in between."""


LOOKS = 20
PAUSE = 0.05
"""Seconds between two looks at a log that seems to break."""


def diagnose(
    path: str | Path, *, clock: Callable[[], float] = time.time, progress: Progress | None = None
) -> Diagnosis:
    """What is wrong with a queue's file.

    The file is opened to be read only and nothing is changed, neither in it nor beside it; other processes may use it.
    What cannot be read becomes a finding. Raises ``StoreError``: ``no-file`` if there is no file that can be opened,
    and ``store-busy`` if another process keeps everybody out.
    """
    # The log and the mark are beside the file itself, not beside a link to it.
    database, attempts = Path(path).resolve(), 0
    while True:
        attempts += 1
        try:
            return replace(_diagnose(database, clock, progress), path=str(path))
        except StoreError as error:
            if error.code == "source-changed" and attempts < ATTEMPTS:
                continue
            if error.code == "no-file":
                raise
            if error.code in ("source-locked", "source-changed"):
                raise StoreError("store-busy", error.problem, file=str(path)) from error
            findings = Findings()
            findings.add("not-readable", detail=error.problem)
            read_mark(database, findings)
            return Diagnosis(str(path), False, tuple(findings), {})


def _diagnose(path: Path, clock: Callable[[], float], progress: Progress | None) -> Diagnosis:
    findings, counts = Findings(), dict[str, int]()
    mark = read_mark(path, findings)
    with opened(path) as source:
        connection = source.connection
        # The first question is what a damaged file fails at; whoever calls then says that it cannot be read.
        page_size = int(next(iter(connection.execute(questions.PAGE_SIZE)))[0])
        next(iter(connection.execute(questions.SCHEMA)), None)
        check_integrity(connection, findings)
        check_schema(connection, findings)
        check_header(connection, findings)
        check_log(_steady_log(Path(f"{path}-wal"), page_size), findings)
        control = read_control(connection)
        if control is None:
            findings.add("table-unreadable", Sample(about="control"))
        else:
            _look_through(connection, control, mark, findings, counts, clock, progress)
        source.check()
    return Diagnosis(str(path), True, tuple(findings), counts)


def _steady_log(path: Path, page_size: int) -> Log | None:
    """The log as it stands: one that seems to break, while somebody writes to it, is looked at again."""
    log = read_log(path, page_size)
    for _ in range(LOOKS):
        if log is None or log.broken is None:
            return log
        time.sleep(PAUSE)
        again = read_log(path, page_size)
        if again == log:
            return log
        log = again
    return None


def _look_through(
    connection: Asked,
    control: Control,
    mark: Mark | None,
    findings: Findings,
    counts: dict[str, int],
    clock: Callable[[], float],
    progress: Progress | None,
) -> None:
    check_mark(mark, control, findings)
    with _within("key and subscription", findings):
        check_names(connection, control, findings)
    with _within("deliveries and state", findings):
        check_texts(connection, findings)
    with _within("message and deliveries", findings):
        _count(connection, control, findings, counts, progress)
        check_control(control, counts["unfinished"], clock(), findings)


def _count(
    connection: Asked,
    control: Control,
    findings: Findings,
    counts: dict[str, int],
    progress: Progress | None,
) -> None:
    counts.update(dict.fromkeys(("messages", "ready", "leased", "delayed", "dead", "finished", "unfinished"), 0))
    names = read_names(connection, control)
    survey = Survey(connection, control)
    report = None if progress is None else lambda number: progress(number, control.sequence)
    for standing in survey.standings(progress=report):
        counts["messages"] += standing.message is not None
        counts["finished"] += standing.finished
        for each in standing.deliveries:
            counts[each.place] += 1
        counts["unfinished"] += bool(standing.open)
        for fault in faults_of(standing, names):
            findings.add(fault.code, _sample(fault), count=len(fault.deliveries) or 1)
    for first, last in survey.lost:
        about = f"messages {first:,} to {last:,}" if last > first else f"message {first:,}"
        findings.add("unreadable-message", Sample(first, about=about), count=last - first + 1)


def _sample(fault: Fault) -> Sample:
    message = fault.standing.message
    about = ", ".join(f"{each.place} for subscription {each.subscription}" for each in fault.deliveries[:2])
    if message is None:
        return Sample(fault.standing.sequence, about=about)
    key = message.text if isinstance(message.text, str) else None
    return Sample(fault.standing.sequence, None if message.id is None else str(message.id), key, about)


@contextmanager
def _within(what: str, findings: Findings) -> Iterator[None]:
    """What fails within the block is a finding, and the other checks go on."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError, TypeError, ValueError, AttributeError) as error:
        findings.add("table-unreadable", Sample(about=f"{what}: {error}"))
