"""Conversion of DataFlash messages to series.

=========================  ===============================================================
messages                   become
=========================  ===============================================================
``IMU``, ``IMU2``,         ``imu["imu/0"]``, ``imu["imu/1"]`` ...: angular velocity and
``IMU3``                   specific force, one for each sensor
``MAG``, ``MAG2``,         the magnetic field of the IMU of the same number, on the rows
``MAG3``                   nearest in time
``GYR``, ``GYR1`` ...,     ``imu["gyr/0"]``, ``imu["acc/0"]``: the samples of one sensor at its
``ACC``, ``ACC1`` ...      rate; the other triad is NaN
``ATT``, ``AHR2``          ``trajectories["att"]``, ``["ahr2"]``: attitude
``XKF1``, ``NKF1``         ``trajectories["xkf1/0"]`` ...: attitude, velocity and position of
                           each core of the filter
``SIM``                    ``trajectories["sim/truth"]``: attitude of the simulator
=========================  ===============================================================

Frames are NED and FRD. Angles are roll, pitch and yaw, in the order of the aerospace sequence.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, left_out, on_nearest_rows
from strapdown.formats.dataflash.layouts import NUMBERS
from strapdown.geometry import BodyFrame, WorldFrame, euler
from strapdown.series import ImuSeries, SensorIdentity, Trajectory
from strapdown.units import GAUSS, NS_PER_US, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats.dataflash.records import Records

__all__ = ["LATEST_US", "Conversion"]

LATEST_US: Final = (2**63 - 1) // NS_PER_US
"""Latest stamp that nanoseconds hold [us]."""


class _Quantity(NamedTuple):
    """Factors to our unit by the unit of the log, and the unit where a log states none."""

    factors: dict[str, float]
    usual: float


_RATE: Final = _Quantity({"rad/s": 1.0, "deg/s": RAD_PER_DEG}, 1.0)
_FORCE: Final = _Quantity({"m/s/s": 1.0}, 1.0)
_FIELD: Final = _Quantity({"Gauss": GAUSS}, 1e-3 * GAUSS)
_ANGLE: Final = _Quantity({"deg": RAD_PER_DEG, "degheading": RAD_PER_DEG, "rad": 1.0}, RAD_PER_DEG)
_SPEED: Final = _Quantity({"m/s": 1.0}, 1.0)
_LENGTH: Final = _Quantity({"m": 1.0}, 1.0)

_GYRO: Final = ("GyrX", "GyrY", "GyrZ")
_ACCEL: Final = ("AccX", "AccY", "AccZ")
_MAG: Final = ("MagX", "MagY", "MagZ")
_ANGLES: Final = ("Roll", "Pitch", "Yaw")

_IMUS: Final = {"IMU": 0, "IMU2": 1, "IMU3": 2}
_MAGS: Final = {"MAG": 0, "MAG2": 1, "MAG3": 2}
_GYROS: Final = {"GYR": 0, "GYR1": 0, "GYR2": 1, "GYR3": 2}
_ACCELS: Final = {"ACC": 0, "ACC1": 0, "ACC2": 1, "ACC3": 2}
"""Number of the sensor by message, where no field gives it."""
_TRACKS: Final = {"ATT": "att", "AHR2": "ahr2", "SIM": "sim/truth"}
_CORES: Final = {"XKF1": "xkf1", "NKF1": "nkf1"}


class _UnknownUnitError(ValueError):
    """A field has a unit that is not converted."""


class _Part(NamedTuple):
    """The messages of one sensor."""

    name: str
    number: int
    rows: NDArray[np.void]
    t_ns: IntArray


class Conversion:
    """The series of a log.

    Parameters
    ----------
    records : Records
        The messages of the log.

    Attributes
    ----------
    imu : dict of str to ImuSeries
        By topic.
    trajectories : dict of str to Trajectory
        By topic.
    skipped : Counter
        Intact messages that are not read, by name.
    lost_messages : int
        Messages with a stamp that nanoseconds cannot hold.
    notes : list of str
        For the report.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self.imu: dict[str, ImuSeries] = {}
        self.trajectories: dict[str, Trajectory] = {}
        self.skipped: Counter[str] = Counter(records.counts)
        self.lost_messages = 0
        self.notes: list[str] = []
        self._device_ids = _device_ids(records)
        for part in self._parts(_IMUS, (*_GYRO, *_ACCEL)):
            self._add_imu(part, f"imu/{part.number}", (_GYRO, _ACCEL))
        for part in self._parts(_MAGS, _MAG):
            self._add_field(part)
        for part in self._parts(_GYROS, _GYRO):
            self._add_imu(part, f"gyr/{part.number}", (_GYRO, ()))
        for part in self._parts(_ACCELS, _ACCEL):
            self._add_imu(part, f"acc/{part.number}", ((), _ACCEL))
        for part in self._parts(dict.fromkeys(_TRACKS, 0), _ANGLES):
            self._add_track(part, _TRACKS[part.name])
        for part in self._parts(dict.fromkeys(_CORES, 0), _ANGLES):
            self._add_track(part, f"{_CORES[part.name]}/{part.number}")

    @property
    def messages(self) -> int:
        """Messages that were converted."""
        return sum(self._records.counts.values()) - self.skipped.total() - self.lost_messages

    def _parts(self, numbers: dict[str, int], columns: tuple[str, ...]) -> Iterator[_Part]:
        """Yield the messages of these names that have the columns, by sensor."""
        for name in filter(self._records.counts.__contains__, numbers):
            layout = self._records.layouts[name]
            stamp = "SampleUS" if "SampleUS" in layout.columns else "TimeUS"
            missing = [each for each in columns if not layout.has(NUMBERS, each)]
            missing += [] if layout.has("iu", stamp) else [stamp]
            if missing:
                self.notes.append(f"{name}: left out, it has no number {', '.join(missing)}")
                continue
            rows = self._records.rows(name)
            number = next((each for each in ("I", "C") if layout.has("iu", each)), None)
            each_row = np.full(len(rows), numbers[name]) if number is None else rows[number]
            for instance in np.unique(each_row):
                of_one = rows[each_row == instance]
                timely = (of_one[stamp] >= 0) & (of_one[stamp] <= LATEST_US)
                late = len(of_one) - int(timely.sum())
                self.lost_messages += late
                self.skipped[name] -= late
                if timely.any():
                    kept = of_one[timely]
                    t_ns = kept[stamp].astype(np.int64) * NS_PER_US
                    yield _Part(name, int(instance), kept, t_ns)

    def _vectors(self, part: _Part, columns: tuple[str, ...], quantity: _Quantity) -> FloatArray:
        """Return three fields in our unit; NaN where there are none."""
        vectors = np.full((len(part.rows), 3), np.nan)
        for axis, column in enumerate(columns):
            values, unit = self._records.column(part.name, part.rows, column)
            if unit and unit not in quantity.factors:
                known = ", ".join(quantity.factors)
                raise _UnknownUnitError(f"{column} is in {unit!r} instead of {known}")
            vectors[:, axis] = values * (quantity.factors[unit] if unit else quantity.usual)
        return vectors

    def _add_imu(
        self, part: _Part, topic: str, columns: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> None:
        try:
            rate = self._vectors(part, columns[0], _RATE)
            force = self._vectors(part, columns[1], _FORCE)
        except _UnknownUnitError as error:
            self.notes.append(f"{part.name}: left out, {error}")
            return
        if topic in self.imu:
            self.notes.append(f"{part.name}: left out, another message is {topic} already")
            return
        self.skipped[part.name] -= len(part.rows)
        accel_id, gyro_id = self._device_ids.get(part.number, (0, 0))
        self.imu[topic] = ImuSeries(
            part.t_ns,
            rate,
            force,
            body=BodyFrame.FRD,
            world=WorldFrame.NED,
            sensor=SensorIdentity(topic, accel_id, gyro_id),
        )
        self.notes += self._health(part, topic)

    def _health(self, part: _Part, topic: str) -> Iterator[str]:
        """Yield a note for each triad that the autopilot reports unhealthy."""
        for column, what in (("GH", "gyroscope"), ("AH", "accelerometer")):
            if self._records.layouts[part.name].has(NUMBERS, column):
                ill = int((part.rows[column] == 0).sum())
                if ill:
                    yield f"{topic}: {what} unhealthy in {ill} of {len(part.rows)} rows"

    def _add_field(self, part: _Part) -> None:
        """Assign magnetometer samples to the rows of the IMU of the same number."""
        topic = f"imu/{part.number}"
        series, source = self.imu.get(topic), f"{part.name.rstrip('23')}/{part.number}".lower()
        if series is None:
            self.notes.append(f"{source}: left out, the log has no {topic}")
            return
        try:
            field = self._vectors(part, _MAG, _FIELD)
        except _UnknownUnitError as error:
            self.notes.append(f"{part.name}: left out, {error}")
            return
        within_ns = MAGNETOMETER_WITHIN_NS
        values, placed = on_nearest_rows(series.t_ns, part.t_ns, field, within_ns=within_ns)
        count = int(placed.sum())
        self.skipped[part.name] -= count
        if count < len(placed):
            self.notes.append(left_out(source, len(placed) - count, len(placed), within_ns))
        if placed.any():
            self.imu[topic] = series.replace(magnetic_field=values)

    def _add_track(self, part: _Part, topic: str) -> None:
        """Add attitude, with velocity and position where the message has them."""
        layout = self._records.layouts[part.name]
        try:
            angles = self._vectors(part, _ANGLES, _ANGLE)
            velocity, position = (
                self._vectors(part, columns, quantity) if layout.has(NUMBERS, *columns) else None
                for columns, quantity in (
                    (("VN", "VE", "VD"), _SPEED),
                    (("PN", "PE", "PD"), _LENGTH),
                )
            )
        except _UnknownUnitError as error:
            self.notes.append(f"{part.name}: left out, {error}")
            return
        self.skipped[part.name] -= len(part.rows)
        self.trajectories[topic] = Trajectory(
            part.t_ns,
            euler.to_quaternion(angles, "zyx"),
            position_world=position,
            velocity_world=velocity,
            world=WorldFrame.NED,
            body=BodyFrame.FRD,
            name=topic,
        )


def _device_ids(records: Records) -> dict[int, tuple[int, int]]:
    """Return the device ids of accelerometer and gyroscope by number, from the parameters."""
    layout = records.layouts.get("PARM")
    if layout is None or not (layout.has("S", "Name") and layout.has(NUMBERS, "Value")):
        return {}
    rows = records.rows("PARM")
    values, _ = records.column("PARM", rows, "Value")
    known = dict(zip(rows["Name"].tolist(), values.tolist(), strict=True))
    ids: dict[int, tuple[int, int]] = {}
    for number, digit in enumerate(("", "2", "3")):
        pair = [known.get(f"INS_{triad}{digit}_ID".encode(), 0.0) for triad in ("ACC", "GYR")]
        accel, gyro = (int(each) if 0.0 <= each < 2**32 else 0 for each in pair)
        ids[number] = accel, gyro
    return ids
