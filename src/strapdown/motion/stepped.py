"""Motion in steps: poses and velocities at the states of a simulator.

A simulator advances in steps of one length and knows its state only between them. Here each
step is filled with constant acceleration in the world and constant angular velocity in the
body, chosen so that the states at both ends are met. Increments of attitude and velocity over
any partition of the steps then sum to those between the states, regardless of the integrator of
the simulator and of the place of the sensor. (A cubic through positions and velocities fails:
fitted to a semi-implicit integrator, its acceleration sweeps from four times the true value to
minus twice within each step.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion._steps import as_steps, split
from strapdown.series import Trajectory
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = ["Between", "StepValue", "SteppedSource"]


class StepValue(StrEnum):
    """Angular velocity and acceleration that represent a step in samples at an instant."""

    DIFFERENCE = "difference"
    """The mean of the step, which leads from the state before it to the state after it."""
    REPORTED = "reported"
    """The value that the simulator reports at the state before the step."""


class Between(StrEnum):
    """Interpolation of samples within a step from the values of the steps."""

    HOLD = "hold"
    """The value of the step throughout."""
    LINEAR = "linear"
    """A straight line between neighbouring values. A difference belongs to the end of its
    step, where it becomes known, so that these samples are one step late; a reported value
    belongs to its state."""


@dataclass(frozen=True, eq=False, repr=False)
class SteppedSource:
    """Readings of a sensor whose pose and velocity are known at N + 1 states, N >= 1.

    State k is at ``(first_step + k) step_s``. An :class:`InertialSource`; the sensor turns
    by less than half a turn in a step. The options ``value`` and ``between`` concern samples at
    an instant only, never increments; ``dataclasses.replace`` changes them.

    Parameters
    ----------
    step_s : float
        Length of a step [s].
    q_world_from_sensor : (N + 1, 4)
        Attitude at the states, x y z w.
    position_world, velocity_world : (N + 1, 3)
        Of the sensor [m], [m/s].
    gravity_world : (3,)
        Gravity, pointing down [m/s^2, world].
    first_step : int, optional
        Number of the first state.
    angular_velocity, specific_force : (N + 1, 3), optional
        Values that the simulator reports at the states [rad/s], [m/s^2], axes of the sensor.
    value : StepValue or name, optional
        Values for a sample at an instant.
    between : Between or name, optional
        Their interpolation within a step.

    Raises
    ------
    ShapeError, ValueRangeError
        Arrays of other shapes or with values that are not finite, less than two states, a step
        that is not positive, or ``value="reported"`` without the reported arrays.
    UnknownNameError
        There is no such option.
    """

    step_s: float
    q_world_from_sensor: FloatArray
    position_world: FloatArray
    velocity_world: FloatArray
    gravity_world: FloatArray
    first_step: int = 0
    angular_velocity: FloatArray | None = None
    specific_force: FloatArray | None = None
    value: StepValue = StepValue.DIFFERENCE
    between: Between = Between.HOLD

    def __post_init__(self) -> None:
        if not 0.0 < self.step_s < np.inf:
            raise ValueRangeError(f"expected a positive step_s, got {self.step_s}")
        states = len(self.q_world_from_sensor)
        if states < 2:
            raise ShapeError(f"expected at least 2 states, got {states}: simulate a step")
        width = {"q_world_from_sensor": 4, "position_world": 3, "velocity_world": 3}
        reported = {"angular_velocity": 3, "specific_force": 3}
        width |= {name: 3 for name in reported if getattr(self, name) is not None}
        for name, columns in width.items():
            array = as_finite(getattr(self, name), name, (columns,))
            if array.shape != (states, columns):
                raise ShapeError(f"expected {name} of shape {(states, columns)}, got {array.shape}")
            object.__setattr__(self, name, array)
        gravity = as_finite(self.gravity_world, "gravity_world", (3,)).copy()
        object.__setattr__(self, "gravity_world", gravity)
        object.__setattr__(self, "value", as_member(StepValue, self.value, "step value"))
        object.__setattr__(self, "between", as_member(Between, self.between, "interpolation"))
        if self.value is StepValue.REPORTED and not reported.keys() <= width.keys():
            raise ValueRangeError(
                'expected angular_velocity and specific_force for value="reported", got None;'
                " let the simulator report them"
            )

    @property
    def steps(self) -> int:
        """Number of steps between the states."""
        return len(self.q_world_from_sensor) - 1

    @property
    def start_s(self) -> float:
        """First instant [s]."""
        return self.first_step * self.step_s

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return (self.first_step + self.steps) * self.step_s

    @property
    def has_pose(self) -> bool:
        """Pose and velocity are known."""
        return True

    @property
    def has_acceleration(self) -> bool:
        """Each step has an acceleration."""
        return True

    def inputs(self, t_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return angular velocity and specific force at the instants (N,) [s].

        An instant on a state belongs to the step that begins there.

        Returns
        -------
        angular_velocity, specific_force : (N, 3)
            [rad/s], [m/s^2], axes of the sensor.

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array within the states.
        """
        step, fraction = self._split(t_s)
        if self.between is Between.HOLD:
            rate, force_world = self._values(step + (fraction == 1.0))
        else:
            late = 0 if self.value is StepValue.REPORTED else 1
            rate, force_world = self._values(np.maximum(step - late, 0))
            next_rate, next_force_world = self._values(step + 1 - late)
            part = fraction[:, np.newaxis]
            rate = rate + part * (next_rate - rate)
            force_world = force_world + part * (next_force_world - force_world)
        q_sensor_from_world = quaternion.conjugate(self._attitude(step, fraction))
        return rate, quaternion.rotate(q_sensor_from_world, force_world)

    def integrals(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Integrate angular velocity and specific force in the turning axes of the sensor.

        Closed form: within a step the angular velocity is constant and the specific force
        turns about it.

        Parameters
        ----------
        edges_s : (N + 1,)
            Ends of the intervals, ascending [s].

        Returns
        -------
        delta_angle, delta_velocity : (N, 3)
            [rad], [m/s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array within the states, or not
            ascending.
        """
        edges = self._edges(edges_s)
        inner = np.arange(np.floor(edges[0]) + 1.0, edges[-1]) if len(edges) else edges
        cuts = np.union1d(edges, inner)
        if len(cuts) < 2:
            return np.empty((0, 3)), np.empty((0, 3))
        step, fraction = split(cuts[:-1], self.steps)
        length = np.diff(cuts)[:, np.newaxis]
        angle = self._turn(step) * length
        force_world = self._mean_acceleration(step) - self.gravity_world
        q_sensor_from_world = quaternion.conjugate(self._attitude(step, fraction))
        force = quaternion.rotate(q_sensor_from_world, force_world)
        velocity = _mean_while_turning(-angle, force) * (length * self.step_s)
        starts = np.searchsorted(cuts, edges[:-1])
        return np.add.reduceat(angle, starts), np.add.reduceat(velocity, starts)

    def preintegrated(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return increments between instants from the states there, in the axes at each start.

        ``Log(R_0^T R_1)`` and ``R_0^T (v_1 - v_0 - g dt)``.

        Parameters, returns and errors as :meth:`integrals`.
        """
        attitude, velocity_world = self._increments_world(edges_s)
        q_before_from_world = quaternion.conjugate(attitude[:-1])
        return (
            quaternion.to_rotation_vector(quaternion.multiply(q_before_from_world, attitude[1:])),
            quaternion.rotate(q_before_from_world, velocity_world),
        )

    def velocity_change(self, edges_s: ArrayLike) -> FloatArray:
        """Return ``R_1^T (v_1 - v_0 - g dt)`` (N, 3) between instants, in the axes at each end.

        Parameters and errors as :meth:`integrals`.
        """
        attitude, velocity_world = self._increments_world(edges_s)
        return quaternion.rotate(quaternion.conjugate(attitude[1:]), velocity_world)

    def truth(self, t_s: ArrayLike, *, start_ns: int = 0) -> Trajectory:
        """Return pose and velocity of the sensor at the instants (N,) [s].

        ``start_ns`` is the stamp of the instant 0 [ns]. Errors as :meth:`inputs`.
        """
        step, fraction = self._split(t_s)
        part = fraction[:, np.newaxis]
        # the parabola of constant acceleration, sheared so that it meets the next position
        bow = 0.5 * self.step_s**2 * self._mean_acceleration(step) * part * (1.0 - part)
        return Trajectory(
            start_ns + np.rint(np.asarray(t_s, np.float64) * NS_PER_S).astype(np.int64),
            self._attitude(step, fraction),
            position_world=_between(self.position_world, step, fraction) - bow,
            velocity_world=_between(self.velocity_world, step, fraction),
            name="truth",
        )

    def _split(self, t_s: ArrayLike) -> tuple[IntArray, FloatArray]:
        return split(as_steps(t_s, self.step_s, self.first_step, self.steps), self.steps)

    def _edges(self, edges_s: ArrayLike) -> FloatArray:
        """Return ascending instants in steps from the first state."""
        edges = as_steps(edges_s, self.step_s, self.first_step, self.steps)
        back = np.flatnonzero(np.diff(edges) <= 0.0)
        if back.size:
            raise ValueRangeError(
                f"expected ascending edges_s, got edges_s[{back[0] + 1}] at or before its"
                " neighbour; sort them and drop repetitions"
            )
        return edges

    def _turn(self, step: IntArray) -> FloatArray:
        """Return the rotation vector of each step."""
        q = self.q_world_from_sensor
        return quaternion.to_rotation_vector(
            quaternion.multiply(quaternion.conjugate(q[step]), q[step + 1])
        )

    def _mean_acceleration(self, step: IntArray) -> FloatArray:
        return (self.velocity_world[step + 1] - self.velocity_world[step]) / self.step_s

    def _attitude(self, step: IntArray, fraction: FloatArray) -> FloatArray:
        part = quaternion.from_rotation_vector(fraction[:, np.newaxis] * self._turn(step))
        return quaternion.multiply(self.q_world_from_sensor[step], part)

    def _values(self, step: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return angular velocity [sensor] and specific force [world] that represent steps."""
        if (
            self.value is StepValue.REPORTED
            and self.angular_velocity is not None
            and self.specific_force is not None
        ):
            force = quaternion.rotate(self.q_world_from_sensor[step], self.specific_force[step])
            return self.angular_velocity[step], force
        step = np.minimum(step, self.steps - 1)
        return (
            self._turn(step) / self.step_s,
            self._mean_acceleration(step) - self.gravity_world,
        )

    def _increments_world(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return attitudes at the edges, and changes of velocity less gravity between them."""
        edges = self._edges(edges_s)
        step, fraction = split(edges, self.steps)
        velocity = _between(self.velocity_world, step, fraction)
        duration = np.diff(edges)[:, np.newaxis] * self.step_s
        return (
            self._attitude(step, fraction),
            np.diff(velocity, axis=0) - self.gravity_world * duration,
        )


def _between(states: FloatArray, step: IntArray, fraction: FloatArray) -> FloatArray:
    """Return the point on the straight line between the states around a step."""
    before = states[step]
    line: FloatArray = before + fraction[:, np.newaxis] * (states[step + 1] - before)
    return line


def _mean_while_turning(angle: FloatArray, v: FloatArray) -> FloatArray:
    """Return the mean of Exp(s angle) v over s in 0 ... 1.

    ``v + (1 - cos x)/x^2 angle x v + (x - sin x)/x^3 angle x (angle x v)``, x = abs(angle): the
    integral of Rodrigues' formula.
    """
    length = np.linalg.norm(angle, axis=-1, keepdims=True)
    sinc = np.sinc(length / np.pi)
    first = 0.5 * np.sinc(0.5 * length / np.pi) ** 2
    second = np.where(length < 1e-4, 1.0 / 6.0, (1.0 - sinc) / np.maximum(length, 1e-4) ** 2)
    turned = np.cross(angle, v)
    mean: FloatArray = v + first * turned + second * np.cross(angle, turned)
    return mean
