"""Conversion of a series to topics of ROS messages in an MCAP file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.formats.mcap.messages import WORLD
from strapdown.formats.topics.description import describe
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._payloads import Payloads
from strapdown.messages.cdr import Batch, encode_rows
from strapdown.messages.conversion import (
    fluid_pressure_from_barometer,
    losses,
    navsat_from_gnss,
    ros_from_magnetic_field,
    ros_from_trajectory,
    twist_from_gnss,
    vehicle_imu_from_increments,
)
from strapdown.messages.conversion.ros import ros_payloads_from_series
from strapdown.messages.px4 import VehicleImu
from strapdown.messages.ros_types import (
    FLUID_PRESSURE,
    IMU,
    MAGNETIC_FIELD,
    NAV_SAT_FIX,
    POSE_STAMPED,
    QUATERNION_STAMPED,
    TWIST_WITH_COVARIANCE_STAMPED,
    VECTOR3_STAMPED,
    VEHICLE_IMU,
)
from strapdown.messages.uorb import encode_batch
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.messages.ros_types import RosType

__all__ = ["Part", "in_turn", "parts_of"]

_ROWS: Final = 2**14
"""Rows encoded at once."""
_REP_145: Final = {"data", "data_raw"}
"""Last parts of the name of an IMU topic whose parent is the namespace of that IMU."""
_HELD: Final = {"magnetic_field", "sensor.accel_device_id", "sensor.gyro_device_id"}
"""Fields stored on another topic or in the description."""


@dataclass(frozen=True)
class Part:
    """Source of the messages of one topic."""

    topic: str
    kind: RosType
    series: Any
    encode: Callable[[Any], Payloads]
    """From one or more rows of the series to their payloads."""


def in_turn(
    parts: Sequence[Part],
) -> Iterator[tuple[list[tuple[int, IntArray, Payloads]], IntArray]]:
    """Encode the rows of all parts in the order of their stamps, some thousand at a time.

    Each part keeps its order: a row with a decreasing stamp follows the row before it.

    Parameters
    ----------
    parts : sequence of Part
        All of them.

    Yields
    ------
    rows : list of (int, (N,) int64, Payloads)
        Number of a part, stamps of its next rows, and their payloads.
    turns : (M,) int64
        For each message, the entry of the list whose next row it is.
    """
    latest = [np.maximum.accumulate(part.series.t_ns) for part in parts if len(part.series)]
    turns = np.repeat(np.arange(len(parts)), [len(part.series) for part in parts])
    if len(latest) > 1:
        turns = turns[np.argsort(np.concatenate(latest), kind="stable")]
    done = np.zeros(len(parts), np.int64)
    for start in range(0, len(turns), _ROWS):
        numbers = turns[start : start + _ROWS]
        counts = np.bincount(numbers, minlength=len(parts))
        rows = []
        for number in np.flatnonzero(counts).tolist():
            part, first = parts[number], done[number]
            these = part.series[first : first + counts[number]]
            rows.append((number, these.t_ns, part.encode(these)))
        done += counts
        yield rows, (np.cumsum(counts > 0) - 1)[numbers]


def parts_of(
    topic: str, series: Series, taken: set[str], *, begins: bool = True
) -> tuple[list[Part], dict[str, str], list[str]]:
    """Return the topics of a series, its description, and the fields that neither can hold."""
    said, unsaid = describe(series)
    if isinstance(series, Increments):
        unsaid += [name for name in losses(series, VehicleImu) if name != "sensor.name"]
        return [Part(topic, VEHICLE_IMU, series, _encode_increments)], said, unsaid
    if isinstance(series, BarometerSeries):
        return [Part(topic, FLUID_PRESSURE, series, _encode_pressure)], said, unsaid
    if isinstance(series, GnssSeries):
        return _of_gnss(topic, series), said, _unheld_of_gnss(series)
    series = series.in_frames(body=BodyFrame.FLU, world=WorldFrame.ENU)
    if isinstance(series, Trajectory):
        kind = QUATERNION_STAMPED if series.position_world is None else POSE_STAMPED
        parts = [Part(topic, kind, series, _encode_trajectory)]
        if series.velocity_world is not None:
            parts.append(Part(topic + "/velocity", VECTOR3_STAMPED, series, _encode_velocity))
        return parts, said, unsaid
    unsaid += [name for name in losses(series, Batch) if name not in _HELD]
    parts = [Part(topic, IMU, series, ros_payloads_from_series)]
    said["magnetic_field"] = ""
    if series.magnetic_field is not None:
        parent, _, last = topic.rpartition("/")
        usual = f"{parent}/mag" if parent and last in _REP_145 else f"{topic}/mag"
        said["magnetic_field"] = f"{topic}/mag" if usual in taken else usual
        rows = series[_to_write(series.t_ns, series.magnetic_field, begins=begins)]
        parts.append(Part(said["magnetic_field"], MAGNETIC_FIELD, rows, _encode_field))
    return parts, said, unsaid


def _of_gnss(topic: str, series: GnssSeries) -> list[Part]:
    parts = [Part(topic, NAV_SAT_FIX, series, _encode_fixes)]
    if series.velocity_world is not None:
        kind = TWIST_WITH_COVARIANCE_STAMPED
        parts.append(Part(f"{topic}/velocity", kind, series, _encode_twists))
    return parts


def _unheld_of_gnss(series: GnssSeries) -> list[str]:
    known = series.heading is not None and np.isfinite(series.heading).any()
    return ["heading"] if known else []


def _to_write(t_ns: IntArray, field: FloatArray, *, begins: bool) -> BoolArray:
    """Return whether each row of a magnetic field needs a message to read back equal.

    A series that begins without any field has messages, so that it has the column.
    """
    known = np.asarray(~np.isnan(field).all(axis=1))
    if (known.any() or not begins) and len(np.unique(t_ns)) == len(t_ns):
        return known
    return np.ones_like(known)


def _encode_field(series: ImuSeries) -> Payloads:
    return encode_rows(ros_from_magnetic_field(series))


def _encode_trajectory(trajectory: Trajectory) -> Payloads:
    return encode_rows(ros_from_trajectory(trajectory, frame_id=WORLD))


def _encode_velocity(trajectory: Trajectory) -> Payloads:
    velocity = np.asarray(trajectory.velocity_world)
    rows = len(trajectory)
    return encode_rows(Batch(trajectory.t_ns, velocity, (WORLD,) * rows, np.arange(rows)))


def _encode_fixes(series: GnssSeries) -> Payloads:
    return _as_rows([fix.to_cdr() for fix in navsat_from_gnss(series)])


def _encode_twists(series: GnssSeries) -> Payloads:
    return encode_rows(twist_from_gnss(series))


def _encode_pressure(series: BarometerSeries) -> Payloads:
    return encode_rows(fluid_pressure_from_barometer(series))


def _encode_increments(increments: Increments) -> Payloads:
    return _as_rows(encode_batch(VehicleImu, vehicle_imu_from_increments(increments)))


def _as_rows(encoded: list[bytes]) -> Payloads:
    """Return messages of one length."""
    samples = np.frombuffer(b"".join(encoded), f"V{len(encoded[0])}")
    return Payloads(np.zeros((), [("sample", samples.dtype)]), {"sample": samples})
