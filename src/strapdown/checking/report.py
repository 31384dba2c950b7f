"""Findings of a check, and what was checked and could not be checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from strapdown._html import FieldsAsHtml

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CheckReport", "Finding"]

_FOUND: Final = 3


@dataclass(frozen=True)
class Finding:
    """A contradiction within a recording.

    Parameters
    ----------
    code : str
        Kind, such as ``accel_unit``.
    topic : str
        Topic with the contradiction; empty for a series without a name.
    seen : str
        What the values show.
    likely : str
        The error of convention that explains it, or the fault.
    option : str
        Options of ``strapdown import`` that mend it for a table; empty where there is none.
    python : str
        An expression that mends it, for a series ``series`` or a trajectory ``track``.
    """

    code: str
    topic: str
    seen: str
    likely: str
    option: str = ""
    python: str = ""

    def __str__(self) -> str:
        where = f"{self.topic}: " if self.topic else ""
        return f"{where}{self.seen}; {self.likely}"


@dataclass(frozen=True)
class CheckReport(FieldsAsHtml):
    """Result of :func:`~strapdown.checking.check`.

    Parameters
    ----------
    findings : tuple of Finding
        Contradictions, in the order of the checks.
    checked : tuple of str
        What was checked without a finding, a line each.
    unchecked : tuple of str
        What the recording does not show, and why, a line each.
    """

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    @property
    def exit(self) -> int:
        """Exit code of ``strapdown check``: 3 with findings, otherwise 0."""
        return _FOUND if self.findings else 0

    @classmethod
    def joined(cls, parts: Iterable[CheckReport]) -> CheckReport:
        """Return the reports of several checks as one."""
        parts = list(parts)
        return cls(
            tuple(each for part in parts for each in part.findings),
            tuple(each for part in parts for each in part.checked),
            tuple(each for part in parts for each in part.unchecked),
        )

    def lines(self) -> list[str]:
        """Return the report for people: findings, then what was and was not checked."""
        found = [str(finding) for finding in self.findings] or ["no findings"]
        good = [f"checked: {line}" for line in self.checked]
        return [*found, *good, *(f"not checked: {line}" for line in self.unchecked)]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values for JSON."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "checked": list(self.checked),
            "unchecked": list(self.unchecked),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())
