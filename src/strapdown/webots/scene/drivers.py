"""Prescribed motion of a node: a motion of this library, a recording, or a function of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import DeviceError, ShapeError
from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_to_matrix
from strapdown.geometry.frames import BodyFrame, WorldFrame, convert_quaternion, convert_vector
from strapdown.geometry.products import matrix_vector
from strapdown.motion.mount import Mounted
from strapdown.motion.spline import PoseSpline
from strapdown.series import Trajectory
from strapdown.simulation import Ride, find_motion
from strapdown.webots.scene.scene import BodyStates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.kinematics import Motion
    from strapdown.webots.file.conventions import Conventions

    State: TypeAlias = Sequence[ArrayLike]

__all__ = ["Driver", "as_driver"]

_NEAR_S: Final = 1e-4  # central difference: 2e-9 of the third derivative, 2e-12 rounding error

_PARTS: Final = (
    ("position", 3),
    ("quaternion", 4),
    ("velocity", 3),
    ("angular velocity", 3),
    ("acceleration", 3),
    ("angular acceleration", 3),
)


@dataclass(frozen=True)
class Driver:
    """Prescribed states of a node's frame in the world's axes, within a span of time.

    Before the span the state is that of its beginning, after it that of its end.
    """

    at: Callable[[FloatArray], BodyStates]
    """The states at instants (N,) [s] within the span."""
    start_s: float
    end_s: float

    def states(self, t_s: FloatArray) -> BodyStates:
        """Return the states at the instants ``t_s`` (N,) [s]."""
        return self.at(np.clip(t_s, self.start_s, self.end_s))


def as_driver(motion: object, conventions: Conventions, *, era: bool) -> Driver:
    """Return a driver for a motion; time 0 is the start of the simulation.

    Parameters
    ----------
    motion : Motion, Ride, Trajectory, name or callable
        A motion of this library, its name, or a file that contains one
        (:func:`strapdown.simulation.find_motion`): its world is rotated to the axes of this one;
        its body, forward left up, is the node in an ENU world, and in a NUE or EUN world becomes
        forward up right.
        A trajectory: the same with a spline through its poses, from its first stamp on.
        A callable, or an object with a method ``state`` like it: takes a time [s], and returns
        position, quaternion (x y z w), velocity, angular velocity and, if known, acceleration and
        angular acceleration of the node, all vectors in the axes of the world file. It may have
        attributes ``start_s`` and ``end_s``; without them it begins at 0 and never ends.
    conventions : Conventions
        The axes of the world.
    era : bool
        Whether accelerations that a callable does not return stay unknown (NaN), as in Webots,
        which takes differences over a step. Otherwise they are central differences of its
        velocities.

    Raises
    ------
    TypeError
        The motion has none of these types.
    DeviceError
        The source describes sensor readings and not the motion of a body: an IMU recording, or a
        physics world.
    UnknownNameError, FormatError
        There is no such motion, or its file cannot be read.
    ShapeError, ValueRangeError
        No spline passes through a trajectory; a state has other parts, or is not finite.
    """
    if isinstance(motion, str | PathLike):
        motion = find_motion(motion)
    if isinstance(motion, Ride):
        motion = motion.source
    if isinstance(motion, Mounted):
        motion = motion.motion  # the world file defines the mounting of sensors
    if hasattr(motion, "integrals"):
        raise DeviceError(
            "expected the motion of a body, got sensor readings (an IMU recording or a physics"
            " world); pass a trajectory, or a world file whose bodies have Physics"
        )
    if isinstance(motion, Trajectory):
        motion = PoseSpline.from_trajectory(motion, mode="interpolate")
    if hasattr(motion, "at"):
        given = cast("Motion", motion)
        at = partial(_motion_states, given, conventions.coordinate_system)
        return Driver(at, given.start_s, given.end_s)
    function = getattr(motion, "state", motion)
    if not callable(function):
        raise TypeError(
            "expected a motion, a trajectory, or a function from a time to a state,"
            f" got {type(motion).__name__}"
        )
    start_s = float(getattr(motion, "start_s", 0.0))
    end_s = float(getattr(motion, "end_s", math.inf))
    at = partial(_function_states, function, (start_s, end_s), era=era)
    return Driver(at, start_s, end_s)


def _motion_states(motion: Motion, coordinate_system: str, t_s: FloatArray) -> BodyStates:
    """Return the states of a motion in the axes of a world file."""
    body = BodyFrame.FLU if coordinate_system == "ENU" else BodyFrame.FUR
    known = motion.at(t_s)
    q = convert_quaternion(
        known.q_world_from_body,
        world=(WorldFrame.ENU, coordinate_system),
        body=(BodyFrame.FLU, body),
    )
    R = np.stack(quaternion_to_matrix(*q.T)).reshape(3, 3, -1).transpose(2, 0, 1)
    position, velocity, acceleration = (
        convert_vector(v, WorldFrame.ENU, coordinate_system)
        for v in (known.position_world, known.velocity_world, known.acceleration_world)
    )
    rate, spin_up = (
        matrix_vector(R, convert_vector(v, BodyFrame.FLU, body))
        for v in (known.angular_velocity, known.angular_acceleration)
    )
    return BodyStates(R, position, velocity, rate, acceleration, spin_up)


def _function_states(
    function: Callable[[float], State], span_s: tuple[float, float], t_s: FloatArray, *, era: bool
) -> BodyStates:
    """Return the states from a function, with accelerations completed or NaN."""
    position, q, velocity, rate, *known = _asked(function, t_s)
    if known:
        acceleration, angular_acceleration = known
    elif era:
        acceleration = angular_acceleration = np.full_like(velocity, math.nan)
    else:
        before, after = np.clip([t_s - _NEAR_S, t_s + _NEAR_S], *span_s)
        gap = (after - before)[:, np.newaxis]
        early, late = (_asked(function, near) for near in (before, after))
        acceleration = (late[2] - early[2]) / gap
        angular_acceleration = (late[3] - early[3]) / gap
    R = quaternion.to_matrix(quaternion.normalize(q))
    return BodyStates(R, position, velocity, rate, acceleration, angular_acceleration)


def _asked(function: Callable[[float], State], t_s: FloatArray) -> list[FloatArray]:
    """Return the parts of a function's states, each (N, 3) or (N, 4)."""
    states = [tuple(function(instant)) for instant in t_s.tolist()]
    for state, instant in zip(states, t_s, strict=True):
        if len(state) not in {4, 6}:
            raise ShapeError(
                "expected a state of position, quaternion, velocity, angular velocity and, if"
                f" known, two accelerations, got {len(state)} parts at {instant:g} s"
            )
    return [
        as_finite(cast("ArrayLike", [s[part] for s in states]), f"{name} of a state", (size,))
        for part, (name, size) in enumerate(_PARTS[: min(map(len, states))])
    ]
