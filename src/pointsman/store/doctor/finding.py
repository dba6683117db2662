"""What the doctor finds, and what it did about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from pointsman.store.doctor.catalogue import ILLNESSES, Severity

SAMPLES = 5
"""Samples that are kept of each finding."""


class Sample(NamedTuple):
    """One of those that a finding is about; what is not known is None."""

    number: int | None = None
    """Of the message."""
    id: str | None = None
    key: str | None = None
    about: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """The sample for a machine; what is not known is left out."""
        return {name: value for name, value in self._asdict().items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a file."""

    code: str
    count: int
    detail: str
    samples: tuple[Sample, ...]

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return ILLNESSES[self.code].severity

    @property
    def wrong(self) -> str:
        """What is wrong."""
        return ILLNESSES[self.code].wrong

    @property
    def means(self) -> str:
        """What that means for whoever uses the queue."""
        return ILLNESSES[self.code].means

    @property
    def repair(self) -> str:
        """What a repair does about it."""
        return ILLNESSES[self.code].repair

    def as_dict(self) -> dict[str, Any]:
        """The finding for a machine."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "count": self.count,
            "wrong": self.wrong,
            "detail": self.detail,
            "means": self.means,
            "repair": self.repair,
            "samples": [sample.as_dict() for sample in self.samples],
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known of a file after all checks."""

    path: str
    readable: bool
    """Whether it could be opened as a database at all."""
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    """How much there is of what: messages, deliveries, and so on."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes are nothing wrong."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)

    def has(self, *codes: str) -> bool:
        """Whether one of these was found."""
        return any(finding.code in codes for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis for a machine."""
        return {
            "file": self.path,
            "healthy": self.healthy,
            "readable": self.readable,
            "counts": dict(self.counts),
            "findings": [finding.as_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a repair did."""

    code: str
    """Of the finding that it was done about."""
    done: str
    count: int = 1
    file: str | None = None
    """A file that it made."""
    is_salvage: bool = False
    """Whether that file is to be used in the place of the damaged one."""

    def as_dict(self) -> dict[str, Any]:
        """The action for a machine."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(slots=True)
class Findings:
    """Collects findings; of each kind the number and the first few are kept, however many there are."""

    _counts: dict[str, int] = field(default_factory=dict)
    _details: dict[str, list[str]] = field(default_factory=dict)
    _samples: dict[str, list[Sample]] = field(default_factory=dict)

    def add(self, code: str, sample: Sample | None = None, *, detail: str = "", count: int = 1) -> None:
        """Takes one more up."""
        self._counts[code] = self._counts.get(code, 0) + count
        details, samples = self._details.setdefault(code, []), self._samples.setdefault(code, [])
        if detail and detail not in details and len(details) < SAMPLES:
            details.append(detail)
        if sample is not None and len(samples) < SAMPLES:
            samples.append(sample)

    def __iter__(self) -> Iterator[Finding]:
        order = list(Severity)
        for code in sorted(self._counts, key=lambda each: order.index(ILLNESSES[each].severity)):
            yield Finding(code, self._counts[code], "; ".join(self._details[code]), tuple(self._samples[code]))
