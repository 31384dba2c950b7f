"""Summary of a ULog: firmware, hardware, parameters and messages."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown.messages.px4_versions import release
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.ulog.message_formats import Value
    from strapdown.formats.ulog.metadata import LogText

__all__ = ["ChangedParameter", "LogSummary", "summary_of"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LEVELS: Final = (
    "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug",
)  # fmt: skip
"""Names of the levels of messages, by number."""
_FIRMWARE: Final = {
    "branch": "ver_sw_branch",
    "hash": "ver_sw",
    "built": "ver_sw_build",
    "vendor": "ver_vendor_sw_release",
}
_HARDWARE: Final = {
    "board": "ver_hw",
    "subtype": "ver_hw_subtype",
    "MCU": "sys_mcu",
    "UUID": "sys_uuid",
    "OS": "sys_os_name",
}
_WARNING: Final = LEVELS.index("warning")
_LAST: Final = 5
"""Number of errors and warnings that the text shows."""
_NAMED: Final = 8
"""Number of parameters that the text names."""


class ChangedParameter(NamedTuple):
    """A parameter with a value other than its default."""

    name: str
    value: float
    default: float


@dataclass(frozen=True)
class LogSummary:
    """Summary of a log.

    Parameters
    ----------
    firmware, hardware : mapping of str to str
        Entries that the log has, by name.
    start_us : int
        Start of the log on the clock of its stamps, usually since boot [us].
    start_utc : str or None
        The same as a date, where the log knows the time since 1970.
    parameters : int
        Number of parameters at the start.
    has_defaults : bool
        Whether the log has default values.
    changed : tuple of ChangedParameter
        Parameters whose value differs from the default of the system, or in a log without that,
        of its setup.
    changes_in_flight : int
        Changes of parameters during logging.
    levels : mapping of str to int
        Number of messages by level, the most severe first.
    problems : tuple of LogText
        Warnings and more severe messages, in the order of the log.
    """

    firmware: Mapping[str, str]
    hardware: Mapping[str, str]
    start_us: int
    start_utc: str | None
    parameters: int
    has_defaults: bool
    changed: tuple[ChangedParameter, ...]
    changes_in_flight: int
    levels: Mapping[str, int]
    problems: tuple[LogText, ...]

    def lines(self) -> Iterator[str]:
        """Yield the summary as text, one line a subject."""
        for what, entries in (("firmware", self.firmware), ("hardware", self.hardware)):
            if entries:
                yield f"{what}: " + ", ".join(f"{name} {text}" for name, text in entries.items())
        begun = f"{self.start_us * 1e-6:.3f} s on its clock"
        yield f"start: {begun if self.start_utc is None else f'{self.start_utc}, {begun}'}"
        if self.parameters:
            yield self._parameters()
        if self.levels:
            counts = ", ".join(f"{level} {number}" for level, number in self.levels.items())
            yield f"logged texts: {counts}"
        for text in self.problems[-_LAST:]:
            yield f"{text.t_us * 1e-6:.3f} s {level_name(text.level)}: {text.text.strip()}"

    def data(self) -> dict[str, Any]:
        """Return the summary ready for JSON, with every changed parameter and every problem."""
        problems = [{**each._asdict(), "level": level_name(each.level)} for each in self.problems]
        changed = [each._asdict() for each in self.changed]
        return {**vars(self), "changed": changed, "problems": problems}

    def _parameters(self) -> str:
        line = f"parameters: {self.parameters}"
        if self.changes_in_flight:
            line += f", changes in flight: {self.changes_in_flight}"
        if not self.has_defaults:
            return f"{line}; the log has no defaults"
        line += f", other than the default: {len(self.changed)}"
        named = [
            f"{name} {_number(value)} ({_number(usual)})" for name, value, usual in self.changed
        ]
        if len(named) > _NAMED:
            named[_NAMED:] = [f"and {len(named) - _NAMED} more, see --json"]
        return f"{line}: {', '.join(named)}" if named else line


def summary_of(log: Px4Log, *, epoch_offset_ns: int | None = None) -> LogSummary:
    """Return the summary of a log.

    Parameters
    ----------
    log : Px4Log
        The log.
    epoch_offset_ns : int, optional
        Time since 1970 at the zero of its stamps [ns].

    Returns
    -------
    LogSummary
    """
    offered = log.default_parameters.get("system", {}) or log.default_parameters.get("setup", {})
    counts = Counter(text.level for text in log.texts)
    return LogSummary(
        firmware=dict(_firmware(log.info)),
        hardware=dict(_present(log.info, _HARDWARE)),
        start_us=log.start_us,
        start_utc=_date(log.start_us, epoch_offset_ns),
        parameters=len(log.parameters),
        has_defaults=bool(log.default_parameters),
        changed=tuple(
            ChangedParameter(name, log.parameters[name], default)
            for name, default in sorted(offered.items())
            if not _same(log.parameters.get(name, default), default)
        ),
        changes_in_flight=len(log.parameter_changes),
        levels={level_name(level): counts[level] for level in sorted(counts)},
        problems=tuple(text for text in log.texts if text.level <= _WARNING),
    )


def level_name(level: int) -> str:
    """Return the name of a level of messages."""
    return LEVELS[level] if 0 <= level < len(LEVELS) else f"level {level}"


def _firmware(info: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    stated = info.get("ver_sw_release")
    name = str(info.get("sys_name", "")) or "version"
    if isinstance(stated, int):
        major, minor, patch, stage = release(stated)
        yield name, f"{major}.{minor}.{patch} ({stage})"
    elif "sys_name" in info:
        yield "system", name
    yield from _present(info, _FIRMWARE)


def _present(info: Mapping[str, Value], keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((name, str(info[key])) for name, key in keys.items() if key in info and info[key] != "")


def _same(value: float, default: float) -> bool:
    return value == default or (math.isnan(value) and math.isnan(default))


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _date(t_us: int, epoch_offset_ns: int | None) -> str | None:
    """Return a stamp as a date; None where its zero, or a calendar for it, is unknown."""
    if epoch_offset_ns is None:
        return None
    try:
        since = timedelta(microseconds=t_us + epoch_offset_ns // NS_PER_US)
        return f"{_EPOCH + since:%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return None
