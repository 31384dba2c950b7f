"""Output of a simulated sensor: one sample, or many as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntFlag, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from strapdown._checks import as_member
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries, Increments, SensorIdentity

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, ByteArray, FloatArray, IntArray

__all__ = ["Flag", "Sample", "Samples", "Stamps"]


class Flag(IntFlag):
    """Special conditions of a sample."""

    NOT_READY = 1
    """The sample needs a predecessor, and there is none; its values are NaN."""
    OVERRUN = 2
    """The queue of the device lost samples before the host read this one."""
    DROPPED = 4
    """The sample did not reach the host."""


class Stamps(StrEnum):
    """Clock that stamps samples."""

    TRUE = "true"
    """The true instants."""
    SENSOR = "sensor"
    """The clock of the device, which never wraps here."""
    HOST = "host"
    """The clock of the host, with latency and queue."""


class Sample(NamedTuple):
    """One sample; the columns of :class:`Samples` in its order.

    Rates are None where the sensor outputs increments, and vice versa.
    """

    seq: int
    t_true_s: float
    t_ns: int
    t_sensor_ns: int
    ticks: int
    t_host_ns: int
    angular_velocity: list[float] | None
    specific_force: list[float] | None
    delta_angle: list[float] | None
    delta_velocity: list[float] | None
    magnetic_field: list[float] | None
    temperature_degC: float | None  # noqa: N815 (the unit)
    gyro_clipping: int
    accel_clipping: int
    flags: int


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """Many samples of a simulated sensor.

    Parameters
    ----------
    seq : (N,) int64
        Numbers of the samples.
    t_true_s : (N,)
        True instants, the end of the interval of a mean or an increment [s].
    t_ns, t_sensor_ns, t_host_ns : (N,) int64
        The same in nanoseconds; the stamps of the device's clock, and of the host [ns].
    ticks : (N,) int64
        The counter of the device, which wraps.
    angular_velocity, specific_force : (N, 3), optional
        [rad/s, axes of the gyro], [m/s^2, axes of the accelerometer]; None for increments.
    delta_angle, delta_velocity : (N, 3), optional
        Increments over the interval that ends at the sample [rad], [m/s].
    magnetic_field : (N, 3), optional
        [T].
    temperature_degC : (N,), optional
        None where the simulation has no temperature.
    gyro_clipping, accel_clipping : (N,) uint8
        Saturated axes: bits X=1, Y=2, Z=4.
    flags : (N,) uint8
        Bits of :class:`Flag`.
    gyro_variance, accel_variance : (N, 3)
        Of the error of a rate, or of the mean rate of an increment [rad^2/s^2], [m^2/s^4].
    interval_ns : int
        Nominal time between samples [ns].
    name : str
        Of the sensor.
    """

    seq: IntArray
    t_true_s: FloatArray
    t_ns: IntArray
    t_sensor_ns: IntArray
    ticks: IntArray
    t_host_ns: IntArray
    angular_velocity: FloatArray | None
    specific_force: FloatArray | None
    delta_angle: FloatArray | None
    delta_velocity: FloatArray | None
    magnetic_field: FloatArray | None
    temperature_degC: FloatArray | None  # noqa: N815 (the unit)
    gyro_clipping: ByteArray
    accel_clipping: ByteArray
    flags: ByteArray
    gyro_variance: FloatArray
    accel_variance: FloatArray
    interval_ns: int
    name: str

    def __len__(self) -> int:
        return len(self.seq)

    def __getitem__(self, rows: slice | BoolArray | IntArray) -> Samples:
        columns: dict[str, Any] = {
            entry.name: value[rows]
            for entry in fields(self)
            if isinstance(value := getattr(self, entry.name), np.ndarray)
        }
        return replace(self, **columns)

    def __repr__(self) -> str:
        kind = "increments" if self.angular_velocity is None else "rates"
        return f"Samples({len(self)} {kind} of {self.name!r})"

    def series(self, *, stamps: Stamps | str = Stamps.SENSOR) -> ImuSeries:
        """Return the samples that reached the host, with the covariances of their errors.

        Parameters
        ----------
        stamps : Stamps or name, optional
            Clock of the stamps.

        Raises
        ------
        ValueRangeError
            The samples are increments.
        UnknownNameError
            There are no such stamps.
        """
        own = self._received()
        if own.angular_velocity is None or own.specific_force is None:
            raise ValueRangeError("expected rates, got increments; use increments()")
        return ImuSeries(
            _stamps_of(own, stamps),
            own.angular_velocity,
            own.specific_force,
            magnetic_field=own.magnetic_field,
            angular_velocity_covariance=_covariance(own.gyro_variance),
            specific_force_covariance=_covariance(own.accel_variance),
            gyro_clipping=own.gyro_clipping,
            accel_clipping=own.accel_clipping,
            sensor=SensorIdentity(self.name),
        )

    def increments(self, *, stamps: Stamps | str = Stamps.SENSOR) -> Increments:
        """Return the increments that reached the host.

        Parameters
        ----------
        stamps : Stamps or name, optional
            Clock of the stamps.

        Raises
        ------
        ValueRangeError
            The samples are rates.
        UnknownNameError
            There are no such stamps.
        """
        own = self._received()
        if own.delta_angle is None or own.delta_velocity is None:
            raise ValueRangeError(
                "expected increments, got rates; use series() and increments_from_rates"
            )
        interval_ns = np.array(self.interval_ns)
        return Increments(
            _stamps_of(own, stamps),
            own.delta_angle,
            own.delta_velocity,
            interval_ns,
            interval_ns,
            gyro_clipping=own.gyro_clipping,
            accel_clipping=own.accel_clipping,
            sensor=SensorIdentity(self.name),
        )

    def _received(self) -> Samples:
        lost = (self.flags & Flag.DROPPED) != 0
        return self[~lost] if lost.any() else self


def _stamps_of(samples: Samples, stamps: Stamps | str) -> IntArray:
    columns = {
        Stamps.TRUE: samples.t_ns,
        Stamps.SENSOR: samples.t_sensor_ns,
        Stamps.HOST: samples.t_host_ns,
    }
    return columns[as_member(Stamps, stamps, "kind of time stamp")]


def _covariance(variance: FloatArray) -> FloatArray | None:
    if not variance.any():
        return None  # a covariance of zeros would mean unknown
    if variance.strides[0] == 0:  # the same at every sample: one matrix for all
        return np.broadcast_to(variance[0, :, None] * np.eye(3), (*variance.shape, 3))
    return variance[:, :, None] * np.eye(3)
