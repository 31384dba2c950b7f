"""Received messages as a recording, from a link or from a telemetry log."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._checks import as_member
from strapdown.bridges.mavlink.attitude import trajectory_from_attitude_records
from strapdown.bridges.mavlink.conversion import SIMULATOR_RESET, coarseness, series_from_records
from strapdown.bridges.mavlink.frames import Decoder, end_of_frame
from strapdown.bridges.mavlink.increments import increments_from_records
from strapdown.bridges.mavlink.messages import Kind, records_from_messages
from strapdown.errors import ChecksumError, FormatError, TruncatedError, ValueRangeError
from strapdown.formats import OnError, ReadReport, Recording
from strapdown.formats._coverage import Coverage
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from strapdown.bridges.mavlink.conversion import RawScale
    from strapdown.bridges.mavlink.messages import WireMessage
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["Collection", "read_tlog"]

_BLOCK: Final = 4096
_KINDS: Final = {kind.name: kind for kind in Kind}
_NUMBERED: Final = (Kind.HIL_SENSOR, Kind.HIGHRES_IMU, Kind.RAW_IMU)
_LAST_US: Final = (2**63 - 1) // NS_PER_US
_STAMP: Final = 8
"""Bytes before each frame of a telemetry log: microseconds since 1970, big endian."""


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
        Of RAW_IMU, which is left out, and counted, without it.
    """

    def __init__(self, *, scale: RawScale | None = None) -> None:
        self.messages = 0
        """Messages that belong to the recording."""
        self._scale = scale
        self._skipped: Counter[str] = Counter()
        self._pending: dict[_Source, list[WireMessage]] = defaultdict(list)
        self._blocks: dict[_Source, list[NDArray[np.void]]] = defaultdict(list)

    def add(self, message: WireMessage) -> None:
        """Take a message of any kind."""
        kind = _KINDS.get(message.get_type())
        if kind is None or (kind is Kind.RAW_IMU and self._scale is None):
            self._skipped[message.get_type()] += 1
            return
        self.messages += 1
        number = getattr(message, "id", 0) if kind in _NUMBERED else 0
        source = _Source(message.get_srcSystem(), message.get_srcComponent(), kind, number)
        pending = self._pending[source]
        pending.append(message)
        if len(pending) == _BLOCK:
            self._settle(source)

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
        for source in list(self._pending):
            self._settle(source)
        for source in sorted(self._blocks):
            came = np.concatenate(self._blocks[source])
            records = came[_is_sensible(came)]
            senseless += len(came) - len(records)
            if source.kind is Kind.ATTITUDE_QUATERNION:
                trajectories[source.topic] = trajectory_from_attitude_records(records)
            else:
                imu[source.topic] = series_from_records(source.kind, records, scale=self._scale)
            notes += (f"{source.topic}: {note}" for note in _notes(source.kind, records))
            if source.kind is Kind.HIGHRES_IMU:
                covered = _coverage(records)
                coverage[source.topic] = covered.share
                notes += covered.shortfall(source.topic, "have it sent at every window")
        if self._skipped[Kind.RAW_IMU.name]:
            notes.append("RAW_IMU has no scale of its own, and none was given: left out")
        report = ReadReport(
            name,
            messages=self.messages - senseless,
            lost_messages=senseless,
            lost_bytes=decoder.bad_bytes,
            skipped=dict(self._skipped),
            notes=tuple(notes),
            damage=tuple(decoder.losses()),
            coverage=coverage,
        )
        return Recording(path, report, imu, trajectories)

    def _settle(self, source: _Source) -> None:
        """Keep pending messages as records, which need less memory."""
        pending = self._pending.pop(source)
        self._blocks[source].append(records_from_messages(source.kind, pending))


def _is_sensible(records: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return which rows have a stamp that nanoseconds can hold."""
    if "time_usec" not in (records.dtype.names or ()):
        return np.ones(len(records), np.bool_)
    return np.asarray(records["time_usec"] <= _LAST_US)


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
    elif kind is not Kind.ATTITUDE_QUATERNION:
        yield f"too coarse to integrate: {coarseness(kind)}"


def read_tlog(
    path: str | PathLike[str],
    *,
    on_error: OnError | str = OnError.STRICT,
    scale: RawScale | None = None,
) -> Recording:
    """Read a telemetry log of a ground station: a time stamp before every frame.

    Parameters
    ----------
    path : path-like
        A ``.tlog`` file.
    on_error : {"strict", "salvage"}
        Whether bytes that are no frame are raised, or counted in ``Recording.report``. Messages
        that are missing by their sequence numbers are counted in both.
    scale : RawScale, optional
        Of RAW_IMU, which is left out, and counted, without it.

    Returns
    -------
    Recording
        With the stamps of the messages themselves; those of the file say when each came.

    Raises
    ------
    FormatError
        Bytes are no frame; TruncatedError where the file ends inside one. In salvage, only
        where there is no frame at all.
    BackendMissingError
        pymavlink is not installed.
    UnknownNameError
        ``on_error`` is neither of the two.
    """
    path = Path(path)
    salvage = as_member(OnError, on_error, "way to treat damage") is OnError.SALVAGE
    decoder, collection = Decoder(), Collection(scale=scale)
    data = path.read_bytes()
    at, is_lost = 0, False
    while at < len(data):
        taken = decoder.take(data, at + _STAMP, is_lost=is_lost)
        is_lost = taken is None
        if taken is not None:
            collection.add(taken[0])
            at = taken[1]
        elif salvage:
            at += 1
        else:
            raise _no_frame(data, at, path)
    if not decoder.sources:
        raise FormatError("expected a time stamp and a MAVLink frame, got none", path=path)
    return collection.recording(decoder, name="tlog", path=path)


def _no_frame(data: bytes, at: int, path: Path) -> FormatError:
    """Return the error for bytes that are not a frame."""
    begin = at + _STAMP
    end = end_of_frame(data, begin)
    remedy = 'read with on_error="salvage" to go on'
    if begin + 3 > len(data) or (end is not None and end > len(data)):
        line = f"expected a time stamp and a whole frame, the file ends inside; {remedy}"
        return TruncatedError(line, path=path, offset=at)
    if end is None:
        line = f"expected a MAVLink frame, got {data[begin : begin + 4].hex()}; {remedy}"
        return FormatError(line, path=path, offset=begin)
    return ChecksumError(
        f"expected the checksum of a MAVLink frame, it differs; {remedy}", path=path, offset=begin
    )
