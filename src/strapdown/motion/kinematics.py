"""The state of a moving body at many instants, and what can give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from strapdown.geometry import quaternion
from strapdown.series import Trajectory
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["Kinematics", "Motion"]


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Attitude and position with two derivatives each, at N instants.

    Parameters
    ----------
    t_s : (N,)
        Time since the start of the motion [s].
    q_world_from_body : (N, 4)
        Attitude, x y z w; body FLU, world ENU.
    angular_velocity : (N, 3)
        [rad/s, body].
    angular_acceleration : (N, 3)
        Its time derivative [rad/s^2, body].
    position_world, velocity_world, acceleration_world : (N, 3)
        [m], [m/s], [m/s^2], world.
    """

    t_s: FloatArray
    q_world_from_body: FloatArray
    angular_velocity: FloatArray
    angular_acceleration: FloatArray
    position_world: FloatArray
    velocity_world: FloatArray
    acceleration_world: FloatArray

    def specific_force(self, gravity_world: FloatArray) -> FloatArray:
        """Return what an ideal accelerometer at the body's origin reads.

        Parameters
        ----------
        gravity_world : (3,)
            Gravity, pointing down [m/s^2, world].

        Returns
        -------
        (N, 3)
            ``R(q_world_from_body)^T (acceleration_world - gravity_world)`` [m/s^2, body].
        """
        q_body_from_world = quaternion.conjugate(self.q_world_from_body)
        return quaternion.rotate(q_body_from_world, self.acceleration_world - gravity_world)

    def trajectory(self, *, start_ns: int = 0, name: str = "truth") -> Trajectory:
        """Return attitude, position and velocity as a trajectory.

        Parameters
        ----------
        start_ns : int, optional
            The stamp of ``t_s`` = 0 [ns].
        name : str, optional
            What the trajectory is called.
        """
        return Trajectory(
            start_ns + np.rint(self.t_s * NS_PER_S).astype(np.int64),
            self.q_world_from_body,
            position_world=self.position_world,
            velocity_world=self.velocity_world,
            name=name,
        )


class Motion(Protocol):
    """Anything that gives the truth as a pure function of time."""

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s], in any order."""
        ...
