"""Relation of two sensors on one body: clock, axes and lever arm, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from strapdown.calibration._toml import plain
from strapdown.calibration.pair.signals import pose_signals
from strapdown.errors import ValueRangeError
from strapdown.geometry import BodyFrame, WorldFrame, quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray

__all__ = ["PairResiduals", "PairResult"]

Data = TypeVar("Data", ImuSeries, Trajectory)
ALL_AXES: Final = 7


@dataclass(frozen=True, eq=False)
class PairResiduals:
    """Differences of the two sensors after the alignment, averaged over 0.2 s.

    Parameters
    ----------
    t_ns : (K,)
        By the first's clock [ns].
    angular_velocity : (K, 3)
        [rad/s, axes of the first]; NaN where a sensor is not known.
    acceleration : (K, 3) or None
        [m/s^2, axes of the first, or world of a trajectory].
    """

    t_ns: IntArray
    angular_velocity: FloatArray
    acceleration: FloatArray | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PairResult:
    """Relation of a second sensor to a first one on the same body.

    All sigmas are standard deviations. What the motion did not determine is in
    ``not_observable``; its value means nothing.

    Parameters
    ----------
    offset_s, offset_sigma_s : float
        Stamp of the first minus stamp of the second for the same instant, at
        ``t_reference_ns`` [s].
    drift_ppm, drift_sigma_ppm : float
        Growth of the offset per time of the second [ppm].
    t_reference_ns : int
        Stamp of the first at the middle of the overlap [ns].
    q_first_from_second : (4,)
        Turns components in the axes of the second into those of the first, x y z w.
    rotation_covariance : (3, 3)
        Of the rotation, as a rotation vector in the axes of the first [rad^2].
    lever_arm_m : (3,) or None
        From the first to the second [m, axes of the first]; None without accelerations.
    lever_arm_covariance : (3, 3) or None
        [m^2].
    gyro_bias, gyro_bias_sigma : (3,)
        Of the first, less that of a second IMU [rad/s, axes of the first].
    accel_bias, accel_bias_sigma : (3,) or None
        The same of the accelerometer [m/s^2].
    accel_delay_s, accel_delay_sigma_s : float or None
        Delay of the first's accelerometer against its gyro, less that of a second IMU [s].
    gyro_scale, gyro_scale_sigma, accel_scale, accel_scale_sigma : (3,) or None
        Scale errors of the first relative to the second, by axis of the first; None unless
        estimated.
    gravity_world : (3,) or None
        Gravity in the world of a trajectory [m/s^2].
    gyro_rms, accel_rms : float or None
        Residuals of one axis, averaged over 0.2 s [rad/s], [m/s^2].
    correlation : float
        Of the lengths of the angular velocities at the coarse offset.
    duration_s : float
        Length of the overlap [s].
    first_body, second_body : BodyFrame
        Names of the axes of the two series.
    second_world : WorldFrame or None
        World of a trajectory; None of an IMU.
    observable, not_observable : tuple of str
        Quantities, with directions in the axes of the first.
    warnings : tuple of str
        Findings, each with the next step.
    residuals : PairResiduals or None
        Differences over time; None of a result from a file.
    """

    offset_s: float
    offset_sigma_s: float
    drift_ppm: float
    drift_sigma_ppm: float
    t_reference_ns: int
    q_first_from_second: FloatArray
    rotation_covariance: FloatArray
    lever_arm_m: FloatArray | None = None
    lever_arm_covariance: FloatArray | None = None
    gyro_bias: FloatArray
    gyro_bias_sigma: FloatArray
    accel_bias: FloatArray | None = None
    accel_bias_sigma: FloatArray | None = None
    accel_delay_s: float | None = None
    accel_delay_sigma_s: float | None = None
    gyro_scale: FloatArray | None = None
    gyro_scale_sigma: FloatArray | None = None
    accel_scale: FloatArray | None = None
    accel_scale_sigma: FloatArray | None = None
    gravity_world: FloatArray | None = None
    gyro_rms: float
    accel_rms: float | None = None
    correlation: float
    duration_s: float
    first_body: BodyFrame = BodyFrame.FLU
    second_body: BodyFrame = BodyFrame.FLU
    second_world: WorldFrame | None = None
    observable: tuple[str, ...] = ()
    not_observable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    residuals: PairResiduals | None = field(default=None, repr=False)

    @property
    def rotation_sigma_rad(self) -> FloatArray:
        """Standard deviation of the rotation about each axis of the first (3,) [rad]."""
        return np.sqrt(np.diag(self.rotation_covariance))

    @property
    def lever_arm_sigma_m(self) -> FloatArray | None:
        """Standard deviation of the lever arm (3,) [m, axes of the first]."""
        covariance = self.lever_arm_covariance
        return None if covariance is None else np.sqrt(np.diag(covariance))

    def first_ns(self, t_ns: ArrayLike) -> IntArray:
        """Return stamps (N,) of the second by the clock of the first [ns]."""
        stamps = np.asarray(t_ns, np.int64)
        offset_ns = round(self.offset_s * NS_PER_S)
        since_ns = stamps - (self.t_reference_ns - offset_ns)
        drift_ns = np.rint(self.drift_ppm * 1e-6 * since_ns).astype(np.int64)
        moved: IntArray = stamps + offset_ns + drift_ns
        return moved

    def apply(self, data: Data) -> Data:
        """Return data of the second by the clock of the first, in its axes.

        Readings of an IMU are turned and remain those at its place: neither biases nor the lever
        arm are removed. Of a trajectory, the body becomes that of the first: attitude is turned,
        and position and velocity are moved by the lever arm to the first.

        Parameters
        ----------
        data : ImuSeries or Trajectory
            From the second sensor, at any time.

        Returns
        -------
        same type

        Raises
        ------
        TypeError
            The data are of another type.
        ValueRangeError
            A trajectory has positions or velocities, and the lever arm is not observable.
        FrameError
            There is no such frame.
        """
        if not isinstance(data, ImuSeries | Trajectory):
            raise TypeError(
                f"expected ImuSeries or Trajectory of the second, got {type(data).__name__}"
            )
        data = data.in_frames(body=self.second_body)
        data = data.replace(t_ns=self.first_ns(data.t_ns))
        if isinstance(data, Trajectory):
            return self._moved(data)  # type: ignore[return-value]  # is Data
        return self._turned(data)

    def _turned(self, data: ImuSeries) -> ImuSeries:
        q = self.q_first_from_second
        R = quaternion.to_matrix(q)
        columns: dict[str, Any] = {"body": self.first_body}
        for name in ("angular_velocity", "specific_force", "magnetic_field"):
            value = getattr(data, name)
            columns[name] = None if value is None else value @ R.T
        for name in ("angular_velocity_covariance", "specific_force_covariance"):
            value = getattr(data, name)
            if value is not None:
                known = value[:, :1, :1] >= 0.0
                columns[name] = np.where(known, R @ value @ R.T, value)
        for name in ("gyro_clipping", "accel_clipping"):
            bits = getattr(data, name)
            if bits is not None:  # a clipped axis affects all axes of the first
                columns[name] = np.where(bits, ALL_AXES, 0).astype(np.uint8)
        if data.q_world_from_body is not None:
            attitude = quaternion.multiply(data.q_world_from_body, quaternion.conjugate(q))
            columns["q_world_from_body"] = attitude
        return data.replace(**columns)

    def _moved(self, data: Trajectory) -> Trajectory:
        q = quaternion.multiply(
            data.q_world_from_body, quaternion.conjugate(self.q_first_from_second)
        )
        columns: dict[str, Any] = {"body": self.first_body, "q_world_from_body": q}
        if data.position_world is None and data.velocity_world is None:
            return data.replace(**columns)
        if self.lever_arm_m is None or any("lever" in each for each in self.not_observable):
            raise ValueRangeError(
                "expected a lever arm to move positions by, got none that is observable; repeat "
                "the calibration with more rotation, or remove position and velocity first"
            )
        arm = quaternion.rotate(q, self.lever_arm_m)
        if data.position_world is not None:
            columns["position_world"] = data.position_world - arm
        if data.velocity_world is not None:
            turning = data.replace(q_world_from_body=q, position_world=None, velocity_world=None)
            signals = pose_signals(turning, "second")
            t_s = (data.t_ns - signals.start_ns) / NS_PER_S
            rate: FloatArray = signals.angular_velocity(t_s)
            known: BoolArray = signals.known(t_s)
            swing = quaternion.rotate(q, np.cross(rate, self.lever_arm_m))
            columns["velocity_world"] = np.where(
                known[:, None], data.velocity_world - swing, np.nan
            )
        return data.replace(**columns)

    def lines(self) -> list[str]:
        """Return a report for people."""
        turn = quaternion.to_rotation_vector(self.q_first_from_second)
        angle = float(np.linalg.norm(turn))
        axis = turn / angle if angle > 0.0 else turn
        worst = float(np.max(self.rotation_sigma_rad)) / RAD_PER_DEG
        clock_ms = 1e3 * self.offset_sigma_s
        clock = f"clock: first = second + {self.offset_s:.6f} s +- {clock_ms:.2g} ms"
        drift = f"drift {self.drift_ppm:.2f} +- {self.drift_sigma_ppm:.2g} ppm"
        turn_words = f"{angle / RAD_PER_DEG:.3f} deg about {_vector(axis, 4)} +- {worst:.2g} deg"
        lines = [f"{clock}, {drift}", f"rotation, first from second: {turn_words}"]
        if self.lever_arm_m is not None and self.lever_arm_sigma_m is not None:
            arm, sigma = (
                _vector(1e3 * each, 2) for each in (self.lever_arm_m, self.lever_arm_sigma_m)
            )
            lines.append(
                f"lever arm, from first to second: {arm} +- {sigma} mm, axes of the first "
                f"({self.first_body})"
            )
        bias = f"bias: gyro {_vector(self.gyro_bias / RAD_PER_DEG, 4)} deg/s"
        if self.accel_bias is not None:
            bias += f", accelerometer {_vector(self.accel_bias, 4)} m/s^2"
        lines.append(bias)
        if self.accel_delay_s is not None and self.accel_delay_sigma_s is not None:
            delay, sigma_ms = 1e3 * self.accel_delay_s, 1e3 * self.accel_delay_sigma_s
            lines.append(f"delay of accelerometer against gyro: {delay:.3f} +- {sigma_ms:.2g} ms")
        for name, scale, spread in (
            ("gyro", self.gyro_scale, self.gyro_scale_sigma),
            ("accelerometer", self.accel_scale, self.accel_scale_sigma),
        ):
            if scale is not None and spread is not None:
                percent = f"{_vector(100.0 * scale, 3)} +- {_vector(100.0 * spread, 3)} %"
                lines.append(f"scale errors, {name}: {percent}")
        if self.gravity_world is not None:
            length = float(np.linalg.norm(self.gravity_world))
            lines.append(
                f"gravity in the world: {_vector(self.gravity_world, 4)}, {length:.4f} m/s^2"
            )
        rms = f"residuals: {self.gyro_rms / RAD_PER_DEG:.3g} deg/s"
        rms += "" if self.accel_rms is None else f", {self.accel_rms:.3g} m/s^2"
        lines.append(f"{rms} RMS over {self.duration_s:.0f} s")
        if self.not_observable:
            lines.append(f"not observable: {', '.join(self.not_observable)}")
        return lines + [f"warning: {each}" for each in self.warnings]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain numbers and texts; what is None is left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "residuals"}
        for name in ("first_body", "second_body", "second_world"):
            values[name] = None if values[name] is None else str(values[name])
        content: dict[str, Any] = plain(values)
        return content


def _vector(v: FloatArray, digits: int) -> str:
    return f"[{' '.join(f'{x:.{digits}f}' for x in v)}]"
