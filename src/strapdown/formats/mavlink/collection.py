"""Received messages as a recording, from a link or from a telemetry log."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.formats._coverage import Coverage
from strapdown.formats.mavlink.attitude import trajectory_from_attitude_records
from strapdown.formats.mavlink.clock import LAST_US
from strapdown.formats.mavlink.conversion import (
    ARDUPILOT_SCALE,
    SIMULATOR_RESET,
    coarseness,
    series_from_records,
)
from strapdown.formats.mavlink.increments import increments_from_records
from strapdown.formats.mavlink.messages import ATTITUDE_KINDS, Kind, records_from_messages
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from strapdown.formats.mavlink.conversion import RawScale
    from strapdown.formats.mavlink.frames import Decoder
    from strapdown.formats.mavlink.messages import WireMessage
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["Collection"]

_BLOCK: Final = 4096
_KINDS: Final = {kind.name: kind for kind in Kind}
_NUMBERED: Final = (Kind.HIL_SENSOR, Kind.HIGHRES_IMU, Kind.RAW_IMU)
_ARDUPILOT: Final = 3
"""Number of ArduPilot in a HEARTBEAT (MAV_AUTOPILOT_ARDUPILOTMEGA)."""


class _Source(NamedTuple):
    """Source of a stream of messages."""

    system: int
    component: int
    kind: Kind
    number: int

    @property
    def topic(self) -> str:
        name = f"sys{self.system}/comp{self.component}/{self.kind}"
        return f"{name}/id{self.number}" if self.number else name


class Collection:
    """Received messages, by sender and sensor.

    Topics are named ``sys1/comp1/highres_imu``, followed by ``/id1`` and so on for sensors
    other than 0.

    Parameters
    ----------
    scale : RawScale, optional
        Of RAW_IMU. Without it RAW_IMU of ArduPilot, recognised by its HEARTBEAT, has the scale
        that ArduPilot uses, and that of others is left out, and counted.
    """

    def __init__(self, *, scale: RawScale | None = None) -> None:
        self._scale = scale
        self._ardupilots: set[int] = set()
        self._skipped: Counter[str] = Counter()
        self._counts: Counter[_Source] = Counter()
        self._pending: dict[_Source, list[WireMessage]] = defaultdict(list)
        self._blocks: dict[_Source, list[NDArray[np.void]]] = defaultdict(list)

    def add(self, message: WireMessage) -> None:
        """Take a message of any kind."""
        name = message.get_type()
        kind = _KINDS.get(name)
        if kind is None:
            self._skipped[name] += 1
            if name == "HEARTBEAT" and getattr(message, "autopilot", 0) == _ARDUPILOT:
                self._ardupilots.add(message.get_srcSystem())
            return
        number = getattr(message, "id", 0) if kind in _NUMBERED else 0
        source = _Source(message.get_srcSystem(), message.get_srcComponent(), kind, number)
        self._counts[source] += 1
        pending = self._pending[source]
        pending.append(message)
        if len(pending) == _BLOCK:
            self._settle(source)

    @property
    def messages(self) -> int:
        """Messages that belong to the recording."""
        return sum(count for source, count in self._counts.items() if self._is_held(source))

    @property
    def systems(self) -> set[int]:
        """Vehicles that sent them."""
        return {source.system for source in self._counts if self._is_held(source)}

    def recording(self, decoder: Decoder, *, name: str, path: Path = Path()) -> Recording:
        """Return everything so far.

        Parameters
        ----------
        decoder : Decoder
            Whose counts go into the report.
        name : str
            Of the format, in the report.
        path : Path, optional
            Source of the message.
        """
        imu: dict[str, ImuSeries] = {}
        trajectories: dict[str, Trajectory] = {}
        notes: list[str] = []
        coverage: dict[str, float] = {}
        senseless = 0
        skipped = Counter(self._skipped)
        for source in list(self._pending):
            self._settle(source)
        for source in sorted(self._blocks):
            if not self._is_held(source):
                skipped[source.kind.name] += self._counts[source]
                continue
            came = np.concatenate(self._blocks[source])
            records = came[_is_sensible(came)]
            senseless += len(came) - len(records)
            if source.kind in ATTITUDE_KINDS:
                trajectories[source.topic] = trajectory_from_attitude_records(records)
            else:
                imu[source.topic] = series_from_records(
                    source.kind, records, scale=self._scale_of(source)
                )
            notes += (f"{source.topic}: {note}" for note in _notes(source.kind, records))
            if source.kind is Kind.HIGHRES_IMU:
                covered = _coverage(records)
                coverage[source.topic] = covered.share
                notes += covered.shortfall(source.topic, "have it sent at every window")
        if skipped[Kind.RAW_IMU.name]:
            notes.append("RAW_IMU has no scale of its own, and none was given: left out")
        report = ReadReport(
            name,
            messages=self.messages - senseless,
            lost_messages=senseless,
            lost_bytes=decoder.bad_bytes,
            skipped=dict(skipped),
            notes=tuple(notes),
            damage=tuple(decoder.losses()),
            coverage=coverage,
        )
        return Recording(path, report, imu, trajectories)

    def _scale_of(self, source: _Source) -> RawScale | None:
        """Return the scale of RAW_IMU of a sender; None where it is unknown."""
        if self._scale is None and source.system in self._ardupilots:
            return ARDUPILOT_SCALE
        return self._scale

    def _is_held(self, source: _Source) -> bool:
        """Return whether the messages of a source can be converted."""
        return source.kind is not Kind.RAW_IMU or self._scale_of(source) is not None

    def _settle(self, source: _Source) -> None:
        """Keep pending messages as records, which need less memory."""
        pending = self._pending.pop(source)
        self._blocks[source].append(records_from_messages(source.kind, pending))


def _is_sensible(records: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return which rows have a stamp that nanoseconds can hold."""
    if "time_usec" not in (records.dtype.names or ()):
        return np.ones(len(records), np.bool_)
    return np.asarray(records["time_usec"] <= LAST_US)


def _coverage(records: NDArray[np.void]) -> Coverage:
    """Return the share of time that HIGHRES_IMU covers, judged by its stamps."""
    try:
        return increments_from_records(Kind.HIGHRES_IMU, records, force=True).coverage
    except ValueRangeError:  # fewer than two messages
        return Coverage()


def _notes(kind: Kind, records: NDArray[np.void]) -> Iterator[str]:
    """Yield notes on a stream for the user."""
    if kind is Kind.HIL_SENSOR:
        resets = int((records["fields_updated"] & SIMULATOR_RESET != 0).sum())
        if resets:
            yield f"resets of the simulator: {resets}"
    elif kind is Kind.HIGHRES_IMU:
        yield "means over intervals that end at the stamps, less the biases the autopilot knows"
    elif kind not in ATTITUDE_KINDS:
        yield f"too coarse to integrate: {coarseness(kind)}"
