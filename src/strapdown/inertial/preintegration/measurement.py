"""Preintegrated measurement between two poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._checks import as_finite
from strapdown._html import FieldsAsHtml
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry.gravity import gravity_world
from strapdown.geometry.rotations import skew
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["NavigationState", "PreintegratedImu", "PreintegrationReport", "compose"]


class NavigationState(NamedTuple):
    """Pose and velocity of a body.

    Parameters
    ----------
    q_world_from_body : (4,)
        x y z w.
    velocity_world, position_world : (3,)
        [m/s], [m].
    """

    q_world_from_body: ArrayLike
    velocity_world: ArrayLike
    position_world: ArrayLike


@dataclass(frozen=True)
class PreintegrationReport(FieldsAsHtml):
    """Counts of the samples, and of bridged time.

    Parameters
    ----------
    steps : int
        Number of steps, each between two usable samples.
    unusable, repeated, backward : int
        Samples left out: a value was NaN, or not below 1e4 rad/s or 1e5 m/s^2, or the stamp was
        that of the sample before, or earlier. The steps around them are longer.
    gaps : int
        Steps longer than the longest allowed, bridged with additional noise.
    longest_gap_ns, bridged_ns : int
        The longest of these steps, and their sum [ns].
    """

    steps: int
    unusable: int
    repeated: int
    backward: int
    gaps: int
    longest_gap_ns: int
    bridged_ns: int


@dataclass(frozen=True, eq=False)
class PreintegratedImu:
    """The motion between two samples, in the body axes at the first and without gravity.

    Errors are a rotation about body axes at the end, then velocity and position: the true
    rotation is ``delta_rotation * Exp(error)``.

    Parameters
    ----------
    t_start_ns, t_end_ns : int
        First and last sample [ns].
    delta_rotation : (4,)
        ``q_start_from_end``, x y z w.
    delta_velocity, delta_position : (3,)
        Integral and double integral of the specific force [m/s], [m].
    jacobian : (9, 15)
        Derivatives of rotation, velocity and position by gyro bias, accelerometer bias and the
        elements of M, row by row.
    combined_covariance : (15, 15)
        Of rotation, velocity, position, and of the random walk of the two biases.
    gyro_bias, accel_bias : (3,)
        Biases that were subtracted [rad/s], [m/s^2].
    scale_misalignment : (3, 3)
        M: the rate is ``(I + M) reading - gyro_bias``.
    report : PreintegrationReport
        Counts of samples left out, and of gaps.

    References
    ----------
    C. Forster, L. Carlone, F. Dellaert, D. Scaramuzza, IEEE Transactions on Robotics 33(1), 2017.
    """

    t_start_ns: int
    t_end_ns: int
    delta_rotation: FloatArray
    delta_velocity: FloatArray
    delta_position: FloatArray
    jacobian: FloatArray
    combined_covariance: FloatArray
    gyro_bias: FloatArray
    accel_bias: FloatArray
    scale_misalignment: FloatArray
    report: PreintegrationReport

    @property
    def dt(self) -> float:
        """Time between the two samples [s]."""
        return (self.t_end_ns - self.t_start_ns) / NS_PER_S

    @property
    def covariance(self) -> FloatArray:
        """Covariance of rotation, velocity and position, (9, 9) [rad, m/s, m]."""
        return self.combined_covariance[:9, :9]

    @property
    def gyro_bias_jacobian(self) -> FloatArray:
        """Derivatives of rotation, velocity and position by the gyro bias, (9, 3)."""
        return self.jacobian[:, :3]

    @property
    def accel_bias_jacobian(self) -> FloatArray:
        """Derivatives of rotation, velocity and position by the accelerometer bias, (9, 3)."""
        return self.jacobian[:, 3:6]

    @property
    def scale_misalignment_jacobian(self) -> FloatArray:
        """Derivatives of rotation, velocity and position by M, row by row, (9, 9)."""
        return self.jacobian[:, 6:]

    def correct(
        self,
        gyro_bias_change: ArrayLike = (0.0, 0.0, 0.0),
        accel_bias_change: ArrayLike = (0.0, 0.0, 0.0),
        scale_misalignment_change: ArrayLike | None = None,
    ) -> PreintegratedImu:
        """Correct the measurement for other biases, to first order in their change.

        Parameters
        ----------
        gyro_bias_change, accel_bias_change : (3,)
            New bias less that of this measurement [rad/s], [m/s^2].
        scale_misalignment_change : (3, 3), optional
            New M less that of this measurement.

        Returns
        -------
        PreintegratedImu
            With the new biases; Jacobian and covariance are unchanged.

        Raises
        ------
        ShapeError, ValueRangeError
            A change has another shape, or is not finite.
        """
        gyro = as_vector(gyro_bias_change, "gyro_bias_change")
        accel = as_vector(accel_bias_change, "accel_bias_change")
        scale = as_matrix(scale_misalignment_change, "scale_misalignment_change")
        moved = self.jacobian @ np.concatenate([gyro, accel, scale.ravel()])
        turn = quaternion.from_rotation_vector(moved[:3])
        return replace(
            self,
            delta_rotation=quaternion.multiply(self.delta_rotation, turn),
            delta_velocity=self.delta_velocity + moved[3:6],
            delta_position=self.delta_position + moved[6:],
            gyro_bias=self.gyro_bias + gyro,
            accel_bias=self.accel_bias + accel,
            scale_misalignment=self.scale_misalignment + scale,
        )

    def predict(self, state: NavigationState, gravity: ArrayLike | None = None) -> NavigationState:
        """Predict the state at the end from that at the start.

        Parameters
        ----------
        state : NavigationState
            At the start.
        gravity : (3,), optional
            Gravity vector in the world of ``state`` [m/s^2]; by default standard gravity in ENU.

        Returns
        -------
        NavigationState
        """
        q, v, p, g = *_unpacked(state), _gravity(gravity)
        dt = self.dt
        return NavigationState(
            quaternion.multiply(q, self.delta_rotation),
            v + g * dt + quaternion.rotate(q, self.delta_velocity),
            p + v * dt + 0.5 * g * dt**2 + quaternion.rotate(q, self.delta_position),
        )

    def residual(
        self, start: NavigationState, end: NavigationState, gravity: ArrayLike | None = None
    ) -> FloatArray:
        """Return the residual of two states, whose covariance is :attr:`covariance`.

        Parameters
        ----------
        start, end : NavigationState
            At the two samples.
        gravity : (3,), optional
            As in :meth:`predict`.

        Returns
        -------
        ndarray, shape (9,)
            Of rotation (about body axes at the end) [rad], velocity [m/s] and position [m] (in
            body axes at the start): states less measurement.
        """
        (q, v, p), (q_end, v_end, p_end) = _unpacked(start), _unpacked(end)
        g, dt = _gravity(gravity), self.dt
        back = quaternion.conjugate(q)
        turn = quaternion.multiply(back, q_end)
        missed = quaternion.multiply(quaternion.conjugate(self.delta_rotation), turn)
        return np.concatenate(
            [
                quaternion.to_rotation_vector(missed),
                quaternion.rotate(back, v_end - v - g * dt) - self.delta_velocity,
                quaternion.rotate(back, p_end - p - v * dt - 0.5 * g * dt**2) - self.delta_position,
            ]
        )


def compose(a: PreintegratedImu, b: PreintegratedImu) -> PreintegratedImu:
    """Return the motion of two consecutive pieces, as if preintegrated together.

    Parameters
    ----------
    a, b : PreintegratedImu
        With the same biases; ``b`` begins at the end of ``a``.

    Returns
    -------
    PreintegratedImu

    Raises
    ------
    ValueRangeError
        The pieces do not meet, or their biases differ (:meth:`PreintegratedImu.correct` one).
    """
    if b.t_start_ns != a.t_end_ns:
        raise ValueRangeError(
            f"expected the second piece from {a.t_end_ns} ns on, got one from {b.t_start_ns} ns: "
            "let pieces share a sample"
        )
    for name in ("gyro_bias", "accel_bias", "scale_misalignment"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            raise ValueRangeError(
                f"expected pieces of the same {name}, got {getattr(a, name).tolist()} and "
                f"{getattr(b, name).tolist()}: correct one of them first"
            )
    R, dt = quaternion.to_matrix(a.delta_rotation), b.dt
    first, second = np.eye(9), np.eye(9)
    first[:3, :3] = quaternion.to_matrix(b.delta_rotation).T
    first[3:6, :3] = -R @ skew(b.delta_velocity)
    first[6:, :3] = -R @ skew(b.delta_position)
    first[6:, 3:6] = dt * np.eye(3)
    second[3:6, 3:6] = second[6:, 6:] = R
    first_all, second_all = np.eye(15), np.eye(15)
    first_all[:9, :9], first_all[:9, 9:] = first, second @ b.jacobian[:, :6]
    second_all[:9, :9] = second
    report = PreintegrationReport(
        *(
            max(x, y) if name == "longest_gap_ns" else x + y
            for (name, x), y in zip(vars(a.report).items(), vars(b.report).values(), strict=True)
        )
    )
    return replace(
        a,
        t_end_ns=b.t_end_ns,
        delta_rotation=quaternion.multiply(a.delta_rotation, b.delta_rotation),
        delta_velocity=a.delta_velocity + R @ b.delta_velocity,
        delta_position=a.delta_position + a.delta_velocity * dt + R @ b.delta_position,
        jacobian=first @ a.jacobian + second @ b.jacobian,
        combined_covariance=first_all @ a.combined_covariance @ first_all.T
        + second_all @ b.combined_covariance @ second_all.T,
        report=report,
    )


def as_vector(value: ArrayLike, name: str) -> FloatArray:
    """Return a finite, read-only vector of three."""
    return _fixed(as_finite(value, name, (3,)), name, 1)


def as_matrix(value: ArrayLike | None, name: str) -> FloatArray:
    """Return a finite, read-only matrix, by default 0."""
    return _fixed(as_finite(np.zeros((3, 3)) if value is None else value, name, (3, 3)), name, 2)


def _fixed(array: FloatArray, name: str, dimensions: int) -> FloatArray:
    if array.ndim != dimensions:
        raise ShapeError(f"expected one {name}, got an array of shape {array.shape}")
    array = array.copy()
    array.flags.writeable = False
    return array


def _unpacked(state: NavigationState) -> tuple[FloatArray, FloatArray, FloatArray]:
    q, v, p = state
    return (
        as_finite(q, "q_world_from_body", (4,)),
        as_finite(v, "velocity_world", (3,)),
        as_finite(p, "position_world", (3,)),
    )


def _gravity(gravity: ArrayLike | None) -> FloatArray:
    return gravity_world("ENU") if gravity is None else as_finite(gravity, "gravity", (3,))
