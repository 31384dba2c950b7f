"""Readings of a sensor at any place on a moving body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError
from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_rotate
from strapdown.motion.earth import FlatEarth, Wgs84
from strapdown.motion.formulas import cross, lever_acceleration
from strapdown.motion.kinematics import (
    Kinematics,
    as_vector,
    ascending,
    columns,
    instants,
    trajectory,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.motion.kinematics import Motion
    from strapdown.series import Trajectory

__all__ = ["Mount", "Mounted"]

_PANEL_S: Final = 2.5e-3
_PORTION_S: Final = 100.0  # intervals that are integrated at once, so that memory stays small
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, eq=False)
class Mount:
    """Position and orientation of a sensor on a body.

    Parameters
    ----------
    lever_arm : (3,) or (3, 3)
        From the body's origin to the accelerometer [m, body]; or one row for each axis of the
        accelerometer, where the size of the sensor matters.
    q_body_from_gyro, q_body_from_accel : (4,)
        Axes of the two triads, x y z w.

    Raises
    ------
    ShapeError, ValueRangeError
        An array has another shape or holds something that is not finite, or a quaternion is
        zero.
    """

    lever_arm: ArrayLike = (0.0, 0.0, 0.0)
    q_body_from_gyro: ArrayLike = (0.0, 0.0, 0.0, 1.0)
    q_body_from_accel: ArrayLike = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        lever_arm = as_finite(self.lever_arm, "lever_arm", (3,)).copy()
        if lever_arm.shape not in {(3,), (3, 3)}:
            raise ShapeError(f"expected lever_arm of shape (3,) or (3, 3), got {lever_arm.shape}")
        lever_arm.flags.writeable = False
        object.__setattr__(self, "lever_arm", lever_arm)
        for name in ("q_body_from_gyro", "q_body_from_accel"):
            q = as_vector(getattr(self, name), name, 4)
            object.__setattr__(self, name, quaternion.normalize(q))


class _Panels(NamedTuple):
    """Nodes of a quadrature over intervals, those of one interval side by side."""

    t_s: FloatArray
    weights: FloatArray
    interval: IntArray
    first: IntArray

    def integral(self, values: FloatArray) -> FloatArray:
        """Integrate values (M, 3) at the nodes over each interval, as (N, 3)."""
        return np.add.reduceat(values.T * self.weights, self.first, axis=-1).T


@dataclass(frozen=True)
class Mounted:
    """Readings of perfect sensors at their place on a moving body.

    Kinematics at the accelerometer are those of a rigid body. With ``Wgs84`` the world rotates:
    the gyro measures the Earth's rate and the accelerometer the Coriolis acceleration.

    :meth:`integrals` uses Gauss-Legendre quadrature with four nodes on panels of at most
    2.5 ms, which never extend over a break of the motion: within 1e-13 of the integrand's
    amplitude where nothing in it is faster than 20 Hz, 2e-8 at 100 Hz.

    Parameters
    ----------
    motion : Motion
        Motion of the body.
    mount : Mount, optional
        Mounting of the sensor; by default at the body's origin, along its axes.
    earth : FlatEarth or Wgs84, optional
        The world around it.
    """

    motion: Motion
    mount: Mount = Mount()
    earth: FlatEarth | Wgs84 = FlatEarth()  # noqa: RUF009 (it is frozen)

    has_pose: ClassVar[bool] = True

    @property
    def start_s(self) -> float:
        """First instant [s]; minus infinity where there is none."""
        return self.motion.start_s

    @property
    def end_s(self) -> float:
        """Last instant [s]; infinity where there is none."""
        return self.motion.end_s

    @property
    def pointwise(self) -> bool:
        """Whether the bits of :meth:`inputs` are independent of the other instants of a call."""
        return hasattr(self.motion, "law") and not self._turning

    @property
    def has_acceleration(self) -> bool:
        """Whether the motion has accelerations; a joint whose velocity jumps has none."""
        return getattr(self.motion, "has_acceleration", True)

    def inputs(self, t_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the readings of perfect sensors at the instants ``t_s`` (N,) [s].

        Returns
        -------
        angular_velocity : (N, 3)
            [rad/s, axes of the gyro].
        specific_force : (N, 3)
            [m/s^2, axes of the accelerometer]; each axis at its own place.

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`Motion.at`.
        """
        law = getattr(self.motion, "law", None)
        if law is not None and not self._turning:
            felt: tuple[FloatArray, FloatArray] = law.felt(instants(t_s, self), self._place)
            return felt
        body = self.motion.at(t_s)
        rate = body.angular_velocity
        if self._turning:
            rate = rate + _turned_back(body.q_world_from_body, self.earth.rate_world)
        angular_velocity = _turned_back(np.asarray(self.mount.q_body_from_gyro), rate)
        return angular_velocity, self._each_axis(lambda arm: self._specific_force(body, arm))

    def integrals(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Integrate :meth:`inputs` between neighbouring instants ``edges_s`` (N + 1,) [s].

        Each is integrated in the turning axes of its sensor, component by component, as an
        integrating sensor does.

        Returns
        -------
        delta_angle : (N, 3)
            [rad, axes of the gyro].
        delta_velocity : (N, 3)
            [m/s, axes of the accelerometer].

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`Motion.at`, or the edges do not ascend.
        """
        edges_s = ascending(edges_s, self)
        found = [np.empty((2, 0, 3))]
        for portion in _portions(edges_s):
            panels = _panels(portion, self.motion.breaks_s)
            found.append(np.stack([panels.integral(each) for each in self.inputs(panels.t_s)]))
        delta_angle, delta_velocity = np.concatenate(found, axis=1)
        return delta_angle, delta_velocity

    def preintegrated(self, edges_s: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the exact increments between neighbouring instants ``edges_s`` (N + 1,) [s].

        Rotation vectors, and changes of velocity less gravity, in the sensor's axes at the
        start of each interval, kept fixed in inertial space; from the states at both ends. Only
        the small part that gravity and the Earth's rate contribute under ``Wgs84`` depends on
        the path between, and is integrated as :meth:`integrals` does.

        Returns
        -------
        delta_angle : (N, 3)
            The rotation of the interval, of less than half a turn [rad].
        delta_velocity : (N, 3)
            [m/s]; each axis of the accelerometer at its own place.

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`integrals`.
        """
        edges_s = ascending(edges_s, self)
        body = self.motion.at(edges_s)
        q = quaternion.multiply(body.q_world_from_body, self.mount.q_body_from_gyro)
        ends = quaternion.multiply(self._world_turns(np.diff(edges_s)), q[1:])
        return (
            quaternion.to_rotation_vector(quaternion.multiply(quaternion.conjugate(q[:-1]), ends)),
            self._each_axis(
                lambda arm: _turned_back(
                    self._q_world_from_accel(body)[:-1], self._impulse(body, arm)
                )
            ),
        )

    def velocity_change(self, edges_s: ArrayLike) -> FloatArray:
        """Return changes of velocity less gravity, in the axes at the END of each interval.

        Returns
        -------
        (N, 3)
            Between neighbouring instants ``edges_s`` (N + 1,) [m/s, axes of the accelerometer].

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`integrals`.
        """
        edges_s = ascending(edges_s, self)
        body = self.motion.at(edges_s)
        ends = quaternion.multiply(
            self._world_turns(np.diff(edges_s)), self._q_world_from_accel(body)[1:]
        )
        return self._each_axis(lambda arm: _turned_back(ends, self._impulse(body, arm)))

    def truth(self, t_s: ArrayLike, *, start_ns: int = 0) -> Trajectory:
        """Return pose and velocity of the accelerometer at ``t_s`` (N,) [s].

        Parameters
        ----------
        t_s : (N,)
            [s].
        start_ns : int, optional
            The stamp of ``t_s`` = 0 [ns].

        Returns
        -------
        Trajectory
            Of the accelerometer's axes; of the mean of the three places where each axis has
            its own. Velocity is relative to the world.

        Raises
        ------
        ShapeError, ValueRangeError
            As :meth:`Motion.at`.
        """
        arm = np.mean(self._lever_arms, axis=0)
        law = getattr(self.motion, "law", None)
        if law is not None:
            t_s = instants(t_s, self)
            states = law.carried(t_s, (arm, np.asarray(self.mount.q_body_from_accel)))
            return trajectory(t_s, *states, start_ns=start_ns)
        body = self.motion.at(t_s)
        point = _carried(body, arm)
        return replace(point, q_world_from_body=self._q_world_from_accel(body)).trajectory(
            start_ns=start_ns
        )

    @property
    def _turning(self) -> bool:
        return isinstance(self.earth, Wgs84)

    @cached_property
    def _place(self) -> tuple[FloatArray, ...]:
        """Lever arms, attitudes of the triads and gravity, for a world that does not rotate."""
        attitudes = self.mount.q_body_from_gyro, self.mount.q_body_from_accel
        gravity = self.earth.gravity_world(np.zeros(3))
        return (self._lever_arms, *map(np.ascontiguousarray, (*attitudes, gravity)))

    @property
    def _lever_arms(self) -> FloatArray:
        return np.atleast_2d(np.asarray(self.mount.lever_arm))

    def _each_axis(self, at_lever_arm: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return (N, 3), each column from the lever arm of its axis."""
        found = [at_lever_arm(arm) for arm in self._lever_arms]
        if len(found) == 1:
            return found[0]
        return columns(len(found[0]), *(found[axis][:, axis] for axis in range(3)))

    def _q_world_from_accel(self, body: Kinematics) -> FloatArray:
        return quaternion.multiply(body.q_world_from_body, self.mount.q_body_from_accel)

    def _specific_force(self, body: Kinematics, arm: FloatArray) -> FloatArray:
        point = _carried(body, arm)
        force = point.acceleration_world - self.earth.gravity_world(point.position_world)
        if self._turning:
            force += 2.0 * np.cross(self.earth.rate_world, point.velocity_world)
        force = _turned_back(body.q_world_from_body, force)
        return _turned_back(np.asarray(self.mount.q_body_from_accel), force)

    def _world_turns(self, duration_s: FloatArray) -> FloatArray:
        """Return the rotation of the world in durations (N,), as quaternions in its axes."""
        return quaternion.from_rotation_vector(duration_s[:, None] * self.earth.rate_world)

    def _impulse(self, body: Kinematics, arm: FloatArray) -> FloatArray:
        """Integrate specific force between states, in world axes at the start of each interval.

        These axes do not rotate with the world. With its rate w, the distance d from the start
        and the turn E since then, ``d/dt E (v + w x d) = E (a + 2 w x v + w x (w x d))``.
        """
        point = _carried(body, arm)
        velocity, rate = point.velocity_world, self.earth.rate_world
        duration_s = np.diff(point.t_s)
        if not self._turning:
            gravity = self.earth.gravity_world(velocity[1:])
            return np.diff(velocity, axis=0) - gravity * duration_s[:, None]
        panels = _panels(point.t_s, self.motion.breaks_s)
        along = _carried(self.motion.at(panels.t_s), arm)
        moved = along.position_world - point.position_world[panels.interval]
        pull = self.earth.gravity_world(along.position_world)
        pull += np.cross(rate, np.cross(rate, moved))
        since_s = panels.t_s - point.t_s[panels.interval]
        end = velocity[1:] + np.cross(rate, np.diff(point.position_world, axis=0))
        return (
            quaternion.rotate(self._world_turns(duration_s), end)
            - velocity[:-1]
            - panels.integral(quaternion.rotate(self._world_turns(since_s), pull))
        )


def _carried(body: Kinematics, arm: FloatArray) -> Kinematics:
    """Return the state of a point of a rigid body; its attitude stays that of the body."""
    if not arm.any():
        return body
    q, rate = body.q_world_from_body.T, body.angular_velocity.T
    spin_up = body.angular_acceleration.T
    velocity: tuple[FloatArray, ...] = cross(*rate, *arm)
    acceleration: tuple[FloatArray, ...] = lever_acceleration(*rate, *spin_up, *arm)
    rows = len(body.t_s)
    return replace(
        body,
        position_world=body.position_world + columns(rows, *quaternion_rotate(*q, *arm)),
        velocity_world=body.velocity_world + columns(rows, *quaternion_rotate(*q, *velocity)),
        acceleration_world=body.acceleration_world
        + columns(rows, *quaternion_rotate(*q, *acceleration)),
    )


def _turned_back(q_a_from_b: FloatArray, v_a: FloatArray) -> FloatArray:
    """Return vectors (N, 3) or (3,) in the axes b of quaternions (N, 4) or (4,)."""
    x, y, z, w = q_a_from_b.T
    turned = quaternion_rotate(-x, -y, -z, w, *v_a.T)
    return columns(len(turned[0]), *turned)


def _portions(edges_s: FloatArray) -> list[FloatArray]:
    """Return runs of edges, each of one interval or of no more than ``_PORTION_S``."""
    portions, first = [], 0
    while first < len(edges_s) - 1:
        last = int(np.searchsorted(edges_s, edges_s[first] + _PORTION_S, side="right")) - 1
        last = max(last, first + 1)
        portions.append(edges_s[first : last + 1])
        first = last
    return portions


def _panels(edges_s: FloatArray, breaks_s: FloatArray) -> _Panels:
    """Cut the intervals between edges at the breaks, and the pieces into panels."""
    inside = (breaks_s > edges_s.min(initial=np.inf)) & (breaks_s < edges_s.max(initial=-np.inf))
    cuts = np.union1d(edges_s, breaks_s[inside])
    pieces = np.diff(cuts)
    panels = np.maximum(np.ceil(pieces / _PANEL_S - 1e-6), 1.0).astype(np.int64)
    half = np.repeat(0.5 * pieces / panels, panels)
    before = np.cumsum(panels) - panels  # panels before each piece
    number = np.arange(len(half)) - np.repeat(before, panels)
    middle = np.repeat(cuts[:-1], panels) + (2 * number + 1) * half
    first = before[np.searchsorted(cuts, edges_s[:-1])]
    in_interval = np.diff(np.append(first, len(half)))
    nodes = len(_NODES)
    return _Panels(
        np.ravel(middle[:, None] + half[:, None] * _NODES),
        np.ravel(half[:, None] * _WEIGHTS),
        np.repeat(np.arange(len(first)), in_interval * nodes),
        first * nodes,
    )
