"""Whether the last transactions were lost: the mark beside the file, and the write-ahead log."""

from __future__ import annotations

from pathlib import Path

from pointsman.store.commit_mark import Mark, mark_path, parse_mark, read_side_file
from pointsman.store.doctor.control import Control
from pointsman.store.doctor.finding import Findings
from pointsman.store.doctor.wal import Log


def read_mark(path: Path, findings: Findings | None = None) -> Mark | None:
    """The mark of a file; None if there is none, or none that can be read."""
    data = read_side_file(mark_path(path))
    mark = parse_mark(data or b"")
    if mark is None and data and findings is not None:
        findings.add("mark-unreadable")
    return mark


def check_mark(mark: Mark | None, control: Control, findings: Findings) -> None:
    """Compares the mark, which was read first, with the file."""
    if mark is None:
        return
    missing = mark.commits - control.commits
    if missing > 0:
        numbers = f"messages {control.sequence + 1:,} to {mark.sequence:,}"
        which = numbers if mark.sequence > control.sequence else "no message, but what became of some"
        findings.add("lost-tail", detail=f"{missing:,} transactions are missing: {which}", count=missing)
    elif missing == 0 and mark.sequence != control.sequence:
        findings.add("mark-differs", detail=f"{mark.sequence:,} in the mark, {control.sequence:,} in the file")


def check_log(log: Log | None, findings: Findings) -> None:
    """Says where the log breaks off, and how much lies behind that."""
    if log is None or log.broken is None:
        return
    where = f"frame {log.broken:,}" if log.header_intact else "the header"
    detail = (
        f"it breaks at {where}; {log.ignored:,} frames with {log.ignored_commits:,} transactions are ignored, "
        f"{log.damaged:,} of the frames are themselves damaged"
    )
    findings.add("log-broken", detail=detail, count=log.ignored_commits)
