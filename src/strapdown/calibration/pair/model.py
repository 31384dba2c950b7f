"""Model of a pair: differences of the two sensors for given parameters, and their derivatives.

With R from the second's axes to the first's, r the lever arm from the first to the second, ``<>``
the averages of :class:`~strapdown.calibration.pair.grid.Grid`, and s scale errors of the first:

* gyros: ``R <w_2> - (<w_1> - b_g - s_g <w_1>)``;
* two accelerometers: ``R <f_2> - (<f_1> - b_a - s_a <f_1>) - <alpha x r + w x (w x r)>``;
* an accelerometer and a position or velocity p_2 in a world:
  ``<R_w2 R^T (f_1 - b_a - s_a f_1 + alpha x r + w x (w x r))> + g_w - <d^2 p_2/dt^2>``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.pair.signals import ImuSignals, PoseSignals
from strapdown.geometry import quaternion
from strapdown.geometry.rotations import skew

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.calibration.pair.grid import Grid

__all__ = ["PRIOR", "Difference", "Model", "State"]

PRIOR: Final[dict[str, float]] = {
    "offset": 0.5,
    "drift": 1e-3,
    "rotation": 1.0,
    "gyro_bias": 1.0,
    "first_bias": 0.05,
    "gyro_scale": 0.1,
    "accel_bias": 1.0,
    "accel_delay": 5e-3,
    "accel_scale": 0.1,
    "lever_arm": 5.0,
    "gravity": 20.0,
}
"""Standard deviations before the fit, wide enough to matter only where the data say nothing."""


def _zeros() -> FloatArray:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class State:
    """Values of the parameters.

    Parameters
    ----------
    offset : float
        Time of the first minus that of the second at the middle of the grid [s].
    drift : float
        Change of the offset per second of the second.
    rotation : (3, 3)
        Axes of the first from those of the second.
    gyro_bias, accel_bias : (3,)
        Of the first, or first less second [rad/s], [m/s^2, first].
    first_bias : (3,)
        Of the first gyro where the second is an IMU, whose gyro shows the difference only
        [rad/s]; it acts through the centripetal acceleration.
    gyro_scale, accel_scale : (3,)
        Scale error of the first relative to the second, one per axis of the first.
    accel_delay : float
        Of the first accelerometer against its gyro, less the same of the second [s].
    lever_arm : (3,)
        From the first to the second [m, first].
    gravity : (3,)
        [m/s^2, world of the second].
    """

    offset: float = 0.0
    drift: float = 0.0
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))
    gyro_bias: FloatArray = field(default_factory=_zeros)
    first_bias: FloatArray = field(default_factory=_zeros)
    gyro_scale: FloatArray = field(default_factory=_zeros)
    accel_bias: FloatArray = field(default_factory=_zeros)
    accel_scale: FloatArray = field(default_factory=_zeros)
    accel_delay: float = 0.0
    lever_arm: FloatArray = field(default_factory=_zeros)
    gravity: FloatArray = field(default_factory=_zeros)

    def moved(self, steps: dict[str, FloatArray]) -> State:
        """Return the state after steps; that of the rotation is a rotation vector in the first."""
        changes: dict[str, Any] = {}
        for name, step in steps.items():
            value = getattr(self, name)
            if name == "rotation":
                turn = quaternion.to_matrix(quaternion.from_rotation_vector(step))
                changes[name] = turn @ value
            else:
                changes[name] = value + (step if np.ndim(value) else float(step[0]))
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class Difference:
    """A difference of the two sensors on the grid, and its derivatives.

    Parameters
    ----------
    rows : (K, 3)
        [rad/s] or [m/s^2].
    known : (K,)
        Mask of the rows with samples of both sensors.
    by : dict of (K, 3, n)
        Derivatives by name of the parameter.
    """

    rows: FloatArray
    known: BoolArray
    by: dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Model:
    """Differences of two sensors as functions of the parameters.

    Parameters
    ----------
    first : ImuSignals
        The IMU whose clock and axes are kept.
    second : ImuSignals or PoseSignals
        The other sensor.
    grid : Grid
        Times by the first's clock.
    middle_s : float
        Time of the offset by the first's clock [s].
    scale : bool
        Whether scale errors are estimated.
    """

    first: ImuSignals
    second: ImuSignals | PoseSignals
    grid: Grid
    middle_s: float
    scale: bool

    @property
    def has_force(self) -> bool:
        """Whether both sensors know an acceleration."""
        second = self.second
        other = second.force if isinstance(second, ImuSignals) else second.place
        return self.first.force is not None and other is not None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that are estimated."""
        names = ["offset", "drift", "rotation", "gyro_bias"]
        names += ["gyro_scale"] if self.scale else []
        if self.has_force:
            names += ["accel_bias", "accel_delay", "lever_arm"]
            names += ["accel_scale"] if self.scale else []
            names += ["gravity"] if isinstance(self.second, PoseSignals) else ["first_bias"]
        return tuple(names)

    def second_s(self, t_s: FloatArray, state: State) -> FloatArray:
        """Return times of the first's clock by the second's."""
        return self.middle_s - state.offset + (t_s - self.middle_s) / (1.0 + state.drift)

    def differences(self, state: State) -> list[Difference]:
        """Return the differences of angular velocity and, where known, of acceleration.

        Derivatives in time are those of the readings of the first, to which the second's are
        equal but for the derivative of the lever arm's acceleration; noise of a reference would
        dominate its own.
        """
        made = [self._rates(state)]
        made += [self._forces(state)] if self.has_force else []
        since = (self.grid.t_s - self.middle_s)[:, None, None]
        return [replace(each, by={**each.by, "drift": each.by["offset"] * since}) for each in made]

    def acceleration(self, state: State) -> FloatArray:
        """Return the acceleration of a reference (K, 3) [m/s^2, its world]."""
        assert isinstance(self.second, PoseSignals)  # noqa: S101 (asked of references)
        assert self.second.place is not None  # noqa: S101 (has_force)
        at = self.second_s(self.grid.fine_s, state)
        return self.grid.mean_curvature(self.second.place.at(at))

    def _rates(self, state: State) -> Difference:
        at = self.second_s(self.grid.fine_s, state)
        turned = self.grid.mean(self.second.angular_velocity(at)) @ state.rotation.T
        reading = self._rate
        rows = turned - (reading - state.gyro_bias - state.gyro_scale * reading)
        known = self.grid.covered(self.first.known(self.grid.fine_s) & self.second.known(at))
        by = {
            "offset": -self._spin_up[:, :, None],
            "rotation": -skew(turned),
            "gyro_bias": _identity(rows),
            "gyro_scale": _diagonal(reading),
        }
        return Difference(rows, known, by)

    def _forces(self, state: State) -> Difference:
        if isinstance(self.second, ImuSignals):
            return self._two_forces(self.second, state)
        return self._force_and_place(self.second, state)

    def _two_forces(self, second: ImuSignals, state: State) -> Difference:
        assert self.first.force is not None  # noqa: S101 (has_force)
        assert second.force is not None  # noqa: S101 (has_force)
        at = self.second_s(self.grid.fine_s, state)
        turned = self.grid.mean(second.force.at(at)) @ state.rotation.T
        here = self.grid.fine_s + state.accel_delay
        reading = self.grid.mean(self.first.force.at(here))
        spin = self._rate - state.first_bias
        lever = self._lever + _centripetal(spin) - _centripetal(self._rate)
        rows = turned - (reading - state.accel_bias - state.accel_scale * reading)
        rows -= lever @ state.lever_arm
        known = self.grid.covered(
            self.first.force.known(here)
            & self.first.known(self.grid.fine_s)
            & second.force.known(at)
        )
        change = self.grid.mean(self.first.force.at(here, 1))[:, :, None]
        by = {
            "offset": -change,
            "accel_delay": -change,
            "rotation": -skew(turned),
            "accel_bias": _identity(rows),
            "accel_scale": _diagonal(reading),
            "lever_arm": -self._lever_of(second, at, state.rotation),
            "first_bias": -_by_spin(spin, state.lever_arm),
        }
        return Difference(rows, known, by)

    def _force_and_place(self, second: PoseSignals, state: State) -> Difference:
        assert self.first.force is not None  # noqa: S101 (has_force)
        assert second.place is not None  # noqa: S101 (has_force)
        grid = self.grid
        at = self.second_s(grid.fine_s, state)
        to_world = second.rotation(at) @ state.rotation.T
        here = grid.fine_s + state.accel_delay
        reading = self.first.force.at(here)
        spin = self.first.angular_velocity(grid.fine_s) - state.gyro_bias
        lever = skew(self._fine_spin_up) + _centripetal(spin)
        force = reading - state.accel_bias - state.accel_scale * reading
        force = force + lever @ state.lever_arm
        rows = (
            grid.mean(np.einsum("kij,kj->ki", to_world, force))
            + state.gravity
            - self.acceleration(state)
        )
        known = grid.covered(
            self.first.force.known(here)
            & self.first.known(grid.fine_s)
            & second.known(at)
            & second.place.known(at)
        )
        change = grid.mean(to_world @ self.first.force.at(here, 1)[:, :, None])
        by = {
            "offset": change,
            "accel_delay": change,
            "rotation": grid.mean(to_world @ skew(force)),
            "accel_bias": -grid.mean(to_world),
            "accel_scale": -grid.mean(to_world * reading[:, None, :]),
            "lever_arm": grid.mean(to_world @ lever),
            "gyro_bias": grid.mean(to_world @ _by_spin(spin, state.lever_arm)),
            "gravity": _identity(rows),
        }
        return Difference(rows, known, by)

    def _lever_of(self, second: ImuSignals, at: FloatArray, R: FloatArray) -> FloatArray:
        """Return the matrix of the lever arm by the gyro of the second.

        Its noise is independent of that in the differences: as an instrumental variable, it
        keeps noise of the angular acceleration from shortening the lever arm.
        """
        spin, spin_up = second.angular_velocity(at), second.rate.at(at, 1)
        return R @ self.grid.mean(skew(spin_up) + _centripetal(spin)) @ R.T

    @cached_property
    def _rate(self) -> FloatArray:
        return self.grid.mean(self.first.angular_velocity(self.grid.fine_s))

    @cached_property
    def _spin_up(self) -> FloatArray:
        return self.grid.mean(self._fine_spin_up)

    @cached_property
    def _fine_spin_up(self) -> FloatArray:
        """Angular acceleration on the finer grid [rad/s^2]."""
        return self.first.rate.at(self.grid.fine_s, 1)

    @cached_property
    def _lever(self) -> FloatArray:
        """Averages of ``[alpha] + [w]^2``, the matrix that multiplies a lever arm."""
        spin = self.first.angular_velocity(self.grid.fine_s)
        return self.grid.mean(skew(self._fine_spin_up) + _centripetal(spin))


def _centripetal(spin: FloatArray) -> FloatArray:
    """Return the matrices (K, 3, 3) that turn a lever arm into ``w x (w x r)``."""
    square = np.sum(spin**2, axis=1)[:, None, None]
    product: FloatArray = spin[:, :, None] * spin[:, None, :] - square * np.eye(3)
    return product


def _by_spin(spin: FloatArray, r: FloatArray) -> FloatArray:
    """Return the derivatives (K, 3, 3) of ``w x (w x r)`` with respect to -w."""
    return skew(np.cross(spin, r)) + skew(spin) @ skew(r)


def _identity(rows: FloatArray) -> FloatArray:
    return np.broadcast_to(np.eye(3), (len(rows), 3, 3))


def _diagonal(rows: FloatArray) -> FloatArray:
    return rows[:, :, None] * np.eye(3)
