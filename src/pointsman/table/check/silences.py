"""Findings that the table accepts, and ``unused-silence``: what is accepted and not found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pointsman.table.check.findings import KINDS, Finding
from pointsman.table.check.places import Places
from pointsman.table.routing_table import RoutingTable


def apply_silences(table: RoutingTable, places: Places, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that the table accepts with the reason; and one for each silence that concerns none."""
    silences = table.written.silence
    used: set[int] = set()
    told: list[Finding] = []
    for finding in findings:
        found = [
            number
            for number, silence in enumerate(silences)
            if silence.code == finding.code and silence.at in (None, finding.about)
        ]
        used.update(found)
        told.append(replace(finding, silenced=silences[found[0]].reason) if found else finding)
    for number, silence in enumerate(silences):
        if number not in used:
            at = "" if silence.at is None else f" at {silence.at!r}"
            why = f"nothing{at} is found" if silence.code in KINDS else "there is no such code"
            problem = f"the silence of {silence.code!r} has no effect: {why}"
            told.append(Finding("unused-silence", problem, silence.at or silence.code, places.find("silence", number)))
    return told
