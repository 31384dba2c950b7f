"""Collection of the messages of a container by topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError
from strapdown.formats._nearest_rows import left_out
from strapdown.formats.topics.decoding import decode
from strapdown.formats.topics.description import is_intact, restore
from strapdown.formats.topics.gnss import velocity_topics
from strapdown.formats.topics.kinds import TWISTS, VECTORS, can_read, modern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from strapdown.formats._coverage import Coverage
    from strapdown.formats._series_headers import Series
    from strapdown.formats.topics.decoding import Part
    from strapdown.messages.cdr import Payload

__all__ = ["Topics"]

_REMEDY: Final = "add a rate_limit for the topic, or vehicle_imu, to dds_topics.yaml of PX4"


@dataclass
class Topics:
    """Messages by topic as a reader finds them, and what its report says about them.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    salvage : bool
        Count what cannot be decoded instead of raising.
    only : frozenset of str, optional
        The only topics to collect, with what may join their series.

    Attributes
    ----------
    messages, lost : int
        Numbers of messages that were decoded, and that could not be.
    skipped : dict
        Numbers of intact messages that are not read, by topic.
    notes, damage : list of str
        For the report.
    coverage : dict of str to float
        Share of the time that the intervals of a topic cover.
    sensor_combined : dict of str to array of SensorCombined.dtype
        The messages of IMU topics that hold mean rates.
    sources : dict of str to (str, str)
        Topic and type of the messages of each series, by its name.
    declared : set of (str, str)
        Topic and type of messages that are collected, whether there are any or not.
    """

    path: Path
    salvage: bool
    only: frozenset[str] | None = None
    messages: int = 0
    lost: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    coverage: dict[str, float] = field(default_factory=dict)
    sensor_combined: dict[str, NDArray[np.void]] = field(default_factory=dict)
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    declared: set[tuple[str, str]] = field(default_factory=set)
    _others: set[str] = field(default_factory=set)
    _parts: dict[tuple[str, str], list[Part]] = field(default_factory=dict)
    _said: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    def wants(self, topic: str, kind: str, encoding: str) -> bool:
        """Return whether messages of a topic are collected."""
        wanted = self._wants(topic, kind, encoding)
        if wanted:
            self.declared.add((topic, modern(kind)))
        return wanted

    def _wants(self, topic: str, kind: str, encoding: str) -> bool:
        if self.only is None or not can_read(kind, encoding):
            return can_read(kind, encoding)
        parent = topic.rpartition("/")[0]
        if modern(kind) in VECTORS:
            return parent not in self._others
        if modern(kind) in TWISTS:
            return any(topic in velocity_topics(name) for name in self.only)
        if self.only & {topic, f"{topic} ({modern(kind)})"}:
            return True
        joined = {name.rpartition("/")[0] for name in self.only}
        self._others |= {topic, parent} - self.only - joined
        return False

    def pass_over(self, topic: str, kind: str, encoding: str, count: int) -> None:
        """Count messages that are not wanted, unless their topic could be read."""
        if count and not can_read(kind, encoding):
            self.skip(topic, count)

    def add(self, topic: str, kind: str, encoding: str, payloads: Sequence[Payload]) -> None:
        """Decode messages of one topic, in order, of a type for which ``can_read`` is true.

        Raises
        ------
        FormatError
            One of them cannot be decoded; never in salvage.
        """
        kind = modern(kind)
        try:
            part, repaired = decode(kind, encoding, payloads, lenient=self.salvage)
        except FormatError as error:
            what = f"topic {topic}: {error.message}"
            raise type(error)(what, path=self.path, topic=topic) from error
        lost = len(payloads) - len(part)
        if lost:
            self.damage.append(f"{topic}: {lost} messages that are not {kind}")
        if repaired:
            self.damage.append(f"{topic}: {repaired} impossible stamps, normalised")
        self.lost += lost
        self.messages += len(part)
        self._parts.setdefault((topic, kind), []).append(part)

    def skip(self, topic: str, count: int) -> None:
        """Count messages that are not read."""
        self.skipped[topic] = self.skipped.get(topic, 0) + count

    def drop(self, topic: str, count: int) -> None:
        """Count messages as not read that were decoded."""
        self.messages -= count
        self.skip(topic, count)

    def leave_out(self, topic: str, left: int, count: int, within_ns: int | None) -> None:
        """Account for the vectors of a topic that belong to no row.

        Parameters
        ----------
        topic : str
            Of the vectors.
        left, count : int
            Numbers of these and of all vectors.
        within_ns : int, optional
            Largest distance in time to a row [ns]; None where there are no rows for the topic.
        """
        if within_ns is None and self.only is not None:
            self.messages -= count  # of another series
        elif left:
            nowhere = f"{topic}: left out, there is no topic that it belongs to"
            line = nowhere if within_ns is None else left_out(topic, left, count, within_ns)
            self.notes.append(line)
            self.drop(topic, left)

    def cover(self, topic: str, coverage: Coverage) -> None:
        """Store the coverage of the intervals of a topic; note gaps between these."""
        self.coverage[topic] = coverage.share
        self.notes += coverage.shortfall(topic, _REMEDY)

    def describe(self, said: Mapping[str, str]) -> None:
        """Store a description of a topic, as of :mod:`strapdown.formats.topics.description`.

        Raises
        ------
        FormatError
            Its checksum does not match; never in salvage.
        """
        if is_intact(said):
            self._said[said.get("holds", ""), said.get("topic", "")] = said
        else:
            self._refuse_description(said.get("topic", ""), "its checksum does not match")

    def taken(self) -> dict[tuple[str, str], list[Part]]:
        """Remove the messages collected so far, and return them by topic and type."""
        taken, self._parts = self._parts, {}
        return taken

    def description(self, holds: str, topic: str) -> Mapping[str, str]:
        """Return the description of a series, empty where there is none."""
        return self._said.get((holds, topic), {})

    def fields_described(self) -> dict[str, str]:
        """Return the topic of the magnetometer by that of the IMU, where the file states it."""
        return {
            topic: said["magnetic_field"]
            for (holds, topic), said in self._said.items()
            if holds == "imu" and "magnetic_field" in said
        }

    def restored(self, holds: str, topic: str, series: Series) -> Series:
        """Return a series as the file describes it; in salvage unchanged if that is invalid.

        Raises
        ------
        FormatError
            The description is invalid; never in salvage.
        """
        try:
            return restore(series, self.description(holds, topic))
        except ValueError as error:
            self._refuse_description(topic, str(error))
            return series

    def _refuse_description(self, topic: str, reason: str) -> None:
        what = f"topic {topic}: expected a valid description: {reason}"
        if not self.salvage:
            raise FormatError(what, path=self.path, topic=topic)
        self.damage.append(what)
