"""Calibration of an inertial measurement unit: one frozen object, applied to any kind of data.

References
----------
F. Ferraris, U. Grimaldi, M. Parvis: Procedure for effortless in-field calibration of three-axial
rate gyro and accelerometers, Sensors and Materials 7, 1995.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.calibration.temperature.readings import TemperatureReadings
from strapdown.calibration.triad import TriadCalibration, combined
from strapdown.errors import FrameError, ShapeError, ValueRangeError
from strapdown.geometry.frames import BodyFrame, convert_vector
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries, Increments
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import ArrayLike, FloatArray

    Temperature: TypeAlias = TemperatureReadings | ArrayLike
    At: TypeAlias = Callable[[TriadCalibration], ArrayLike | None]

__all__ = ["ImuCalibration", "Provenance"]

Data = TypeVar("Data", ImuSeries, Increments, ImuSample)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Origin of a calibration.

    Parameters
    ----------
    method : str
        Name of the procedure.
    date : str
        Of the calibration, ISO 8601.
    source : str
        Name of the recording.
    source_sha256 : str
        Digest of its bytes.
    sensor : str
        Name or serial number of the sensor.
    residuals : mapping of str to float
        Figures of quality, with the unit at the end of the name.
    notes : tuple of str
        Warnings, and what the recording did not determine.
    """

    method: str = ""
    date: str = ""
    source: str = ""
    source_sha256: str = ""
    sensor: str = ""
    residuals: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ImuCalibration:  # noqa: PLW1641 (arrays have no hash)
    """Calibration of accelerometer, gyro and magnetometer.

    ``f = A_a (s_a - b_a)``, ``w = A_g (s_g - b_g - K_ga f)``, ``m = A_m (s_m - b_m)``, where each
    ``A`` is a matrix and ``b`` a bias of :class:`TriadCalibration`.

    Parameters
    ----------
    accel : TriadCalibration
        To specific force [m/s^2, body].
    gyro : TriadCalibration
        To angular velocity [rad/s, body].
    magnetometer : TriadCalibration, optional
        To the magnetic field [T, or a multiple of its norm, body].
    g_sensitivity : (3, 3)
        ``K_ga``: reading of the gyro per specific force [unit of the gyro / (m/s^2)].
    body : BodyFrame or name
        Axes of readings and calibrated vectors.
    provenance : Provenance
        Origin and quality.

    Raises
    ------
    ShapeError, ValueRangeError, FrameError
        A field has a wrong shape or a value that is not finite; there is no such frame.

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> calibration = ImuCalibration(gyro=TriadCalibration(bias=[0.01, 0.0, 0.0]))
    >>> calibration.apply(ImuSample(0, (0.11, 0.0, 0.0), (0.0, 0.0, 9.8))).angular_velocity
    (0.1, 0.0, 0.0)
    """

    accel: TriadCalibration = field(default_factory=TriadCalibration)
    gyro: TriadCalibration = field(default_factory=TriadCalibration)
    magnetometer: TriadCalibration | None = None
    g_sensitivity: FloatArray = field(default_factory=lambda: np.zeros((3, 3)))
    body: BodyFrame = BodyFrame.FLU
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        values = as_finite(self.g_sensitivity, "g_sensitivity", (3, 3)).copy()
        values.flags.writeable = False
        object.__setattr__(self, "g_sensitivity", values)
        if self.body not in BodyFrame.__members__:
            raise FrameError(
                f"expected a body frame among {', '.join(BodyFrame.__members__)}, got {self.body!r}"
            )
        object.__setattr__(self, "body", BodyFrame(self.body))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ImuCalibration):
            return NotImplemented
        return np.array_equal(self.g_sensitivity, other.g_sensitivity) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("accel", "gyro", "magnetometer", "body", "provenance")
        )

    @property
    def needs_temperature(self) -> bool:
        """Whether a bias depends on temperature."""
        triads = (self.accel, self.gyro, self.magnetometer)
        return any(triad is not None and triad.temperature is not None for triad in triads)

    def without_temperature(self) -> ImuCalibration:
        """Return the calibration at the reference temperatures of its curves."""
        magnetometer = self.magnetometer
        return replace(
            self,
            accel=replace(self.accel, temperature=None),
            gyro=replace(self.gyro, temperature=None),
            magnetometer=None if magnetometer is None else replace(magnetometer, temperature=None),
        )

    def apply(self, data: Data, *, temperature: Temperature | None = None) -> Data:
        """Return calibrated data; stamps, attitude and clipping bits stay.

        Of increments, the bias is multiplied by the interval and the matrix is applied to the
        increment, which is exact for sums of samples; a coning correction that they contain is
        calibrated with them. Covariances of vectors are transformed where they are known.

        Parameters
        ----------
        data : ImuSeries, Increments or ImuSample
            In any body axes.
        temperature : TemperatureReadings, float or (N,), optional
            Needed where a bias depends on it. Readings of the temperature sensor, from which the
            lag of the curve is removed; or the temperature of the sensing element, of all rows
            or of each one [deg C].

        Returns
        -------
        same type
            In the same axes.

        Raises
        ------
        ValueRangeError
            A temperature is missing, or the specific force that corrects the gyro.
        ShapeError
            There is not one temperature per row.
        TypeError
            The data are of another type.
        """
        if not isinstance(data, ImuSeries | Increments | ImuSample):
            raise TypeError(
                f"expected ImuSeries, Increments or ImuSample, got {type(data).__name__}"
            )
        rows = () if isinstance(data, ImuSample) else (len(data),)
        if temperature is not None and not isinstance(temperature, TemperatureReadings):
            temperature = as_floats(temperature, "temperature", ())
            if temperature.shape not in {(), rows}:
                raise ShapeError(f"expected temperature of shape {rows}, got {temperature.shape}")
        at = partial(_element_temperature, data.t_ns, temperature)
        if isinstance(data, ImuSample):
            return _sample(self.in_frame(BodyFrame.FLU), data, at)
        here = self.in_frame(data.body)
        if isinstance(data, Increments):
            return _increments(here, data, at)  # type: ignore[return-value]  # is Data
        return _series(here, data, at)

    def inverse(self) -> ImuCalibration:
        """Return the calibration that turns calibrated data back into readings.

        It has neither covariances nor provenance; units of its input are the SI units.

        Raises
        ------
        ValueRangeError
            Gyro and accelerometer have different temperature curves, and the gyro depends on both.
        """
        A_a, A_g = self.accel.matrix, self.gyro.matrix
        # w = A_g (s_g - b_g - K_ga A_a (s_a - b_a)), solved for s_g with s_a in place of f.
        K = A_g @ self.g_sensitivity @ A_a
        back_a = combined(self.accel.inverse_matrix, (-A_a, self.accel))
        back_g = combined(self.gyro.inverse_matrix, (-A_g, self.gyro), (K, self.accel))
        back_m = None
        if self.magnetometer is not None:
            A_m = self.magnetometer.matrix
            back_m = combined(self.magnetometer.inverse_matrix, (-A_m, self.magnetometer))
        return ImuCalibration(
            accel=back_a, gyro=back_g, magnetometer=back_m, g_sensitivity=-K, body=self.body
        )

    def compose(self, other: ImuCalibration) -> ImuCalibration:
        """Return the calibration that applies this one first, then another.

        It has neither covariances nor provenance.

        Raises
        ------
        ValueRangeError
            A bias would be the sum of different temperature curves.
        """
        other = other.in_frame(self.body)
        inverse_g = self.gyro.inverse_matrix
        K = self.g_sensitivity
        gyro = combined(
            other.gyro.matrix @ self.gyro.matrix,
            (np.eye(3), self.gyro),
            (inverse_g, other.gyro),
            (K, other.accel),
        )
        magnetometer = self.magnetometer or other.magnetometer
        if self.magnetometer is not None and other.magnetometer is not None:
            magnetometer = _after(self.magnetometer, other.magnetometer)
        return ImuCalibration(
            accel=_after(self.accel, other.accel),
            gyro=replace(gyro, unit_in=self.gyro.unit_in),
            magnetometer=magnetometer,
            g_sensitivity=K @ other.accel.inverse_matrix + inverse_g @ other.g_sensitivity,
            body=self.body,
        )

    def in_frame(self, body: BodyFrame | str) -> ImuCalibration:
        """Return the calibration for readings and vectors in other body axes.

        Raises
        ------
        FrameError
            There is no such frame.
        """
        if body == self.body:
            return self
        rotation = convert_vector(np.eye(3), self.body, body).T  # columns: images of the axes
        magnetometer = self.magnetometer
        return replace(
            self,
            accel=self.accel.turned(rotation),
            gyro=self.gyro.turned(rotation),
            magnetometer=None if magnetometer is None else magnetometer.turned(rotation),
            g_sensitivity=rotation @ self.g_sensitivity @ rotation.T,
            body=BodyFrame(body),
        )


def _element_temperature(
    t_ns: ArrayLike, temperature: Temperature | None, triad: TriadCalibration
) -> ArrayLike | None:
    """Return the temperature of the sensing element of a triad at stamps."""
    if triad.temperature is None or not isinstance(temperature, TemperatureReadings):
        return temperature  # type: ignore[return-value]  # readings only where there is no curve
    return temperature.at(t_ns, lag_s=triad.temperature.lag_s)


def _sample(c: ImuCalibration, sample: ImuSample, at: At) -> ImuSample:
    """Return a calibrated sample; all axes are FLU."""
    w, f, m = sample.angular_velocity, sample.specific_force, sample.magnetic_field
    force = None if f is None else c.accel.calibrated(f, at(c.accel))
    return ImuSample(
        sample.t_ns,
        None if w is None else _rate(c, np.array(w), force, at),
        force,
        None if m is None else _field(c, np.array(m), at),
        sample.gyro_clipping,
        sample.accel_clipping,
    )


def _series(c: ImuCalibration, series: ImuSeries, at: At) -> ImuSeries:
    """Return a calibrated series in the axes of the calibration."""
    force = c.accel.calibrated(series.specific_force, at(c.accel))
    m = series.magnetic_field
    return series.replace(
        specific_force=force,
        angular_velocity=_rate(c, series.angular_velocity, force, at),
        magnetic_field=None if m is None else _field(c, m, at),
        specific_force_covariance=_moved(series.specific_force_covariance, c.accel),
        angular_velocity_covariance=_moved(series.angular_velocity_covariance, c.gyro),
    )


def _increments(c: ImuCalibration, data: Increments, at: At) -> Increments:
    """Return calibrated increments in the axes of the calibration."""
    gyro_s = data.delta_angle_dt_ns[:, None] / NS_PER_S
    accel_s = data.delta_velocity_dt_ns[:, None] / NS_PER_S
    velocity = data.delta_velocity - c.accel.bias_at(at(c.accel)) * accel_s
    velocity = velocity @ c.accel.matrix.T
    mean_force = np.divide(velocity, accel_s, out=np.zeros_like(velocity), where=accel_s > 0)
    offset = c.gyro.bias_at(at(c.gyro)) + mean_force @ c.g_sensitivity.T
    angle = (data.delta_angle - offset * gyro_s) @ c.gyro.matrix.T
    return data.replace(delta_angle=angle, delta_velocity=velocity)


def _rate(
    c: ImuCalibration,
    readings: FloatArray,
    force: FloatArray | None,
    at: At,
) -> FloatArray:
    """Return the angular velocity of readings of the gyro at a calibrated specific force."""
    if not np.any(c.g_sensitivity):
        return c.gyro.calibrated(readings, at(c.gyro))
    if force is None:
        raise ValueRangeError(
            "expected a specific force, because the gyro's bias depends on it, got none"
        )
    return c.gyro.calibrated(readings - force @ c.g_sensitivity.T, at(c.gyro))


def _field(c: ImuCalibration, readings: FloatArray, at: At) -> FloatArray:
    """Return the calibrated magnetic field, or the readings where there is no calibration."""
    if c.magnetometer is None:
        return readings
    return c.magnetometer.calibrated(readings, at(c.magnetometer))


def _after(first: TriadCalibration, second: TriadCalibration) -> TriadCalibration:
    """Return the calibration that applies one, then another."""
    A = first.matrix
    both = combined(second.matrix @ A, (np.eye(3), first), (first.inverse_matrix, second))
    return replace(both, unit_in=first.unit_in)


def _moved(covariance: FloatArray | None, triad: TriadCalibration) -> FloatArray | None:
    """Return covariances of calibrated vectors; rows that mark unknown or absent stay."""
    if covariance is None:
        return None
    matrix = triad.matrix
    known = covariance[:, 0, 0] > 0.0
    return np.where(known[:, None, None], matrix @ covariance @ matrix.T, covariance)
