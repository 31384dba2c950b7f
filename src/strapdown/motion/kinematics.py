"""The state of a moving body at many instants, and the protocol of its sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.series import Trajectory
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "NO_BREAKS",
    "Endless",
    "Kinematics",
    "Motion",
    "Spanned",
    "as_vector",
    "ascending",
    "columns",
    "instants",
    "trajectory",
]


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
        """Return the reading of an ideal accelerometer at the body's origin.

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
            Name of the trajectory.
        """
        states = self.q_world_from_body, self.position_world, self.velocity_world
        return trajectory(self.t_s, *states, start_ns=start_ns, name=name)


class Spanned(Protocol):
    """An object that is defined between two instants."""

    @property
    def start_s(self) -> float:
        """First instant [s]; minus infinity where there is none."""
        ...

    @property
    def end_s(self) -> float:
        """Last instant [s]; infinity where there is none."""
        ...


class Motion(Spanned, Protocol):
    """A source of the truth as a pure function of time."""

    @property
    def breaks_s(self) -> FloatArray:
        """Instants (B,) [s], ascending, where a derivative of the state jumps."""
        ...

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s], in any order.

        Raises
        ------
        ShapeError
            The instants have more than one dimension.
        ValueRangeError
            An instant is not finite, or outside ``start_s`` ... ``end_s``.
        """
        ...


NO_BREAKS: Final = np.empty(0)
"""The breaks of a motion that has none (read-only)."""
NO_BREAKS.flags.writeable = False


class Endless:
    """The span of a motion without beginning, end and breaks, for its class to inherit."""

    start_s: ClassVar[float] = -math.inf
    end_s: ClassVar[float] = math.inf
    breaks_s: ClassVar[FloatArray] = NO_BREAKS


def instants(t_s: ArrayLike, motion: Spanned) -> FloatArray:
    """Return instants as a float64 array (N,), and require them to be within the motion.

    Raises
    ------
    ShapeError
        The instants are not one-dimensional.
    ValueRangeError
        An instant is not finite, or outside ``motion.start_s`` ... ``motion.end_s``.
    """
    array = as_finite(t_s, "t_s", ())
    if array.ndim != 1:
        raise ShapeError(f"expected t_s of shape (N,), got {array.shape}")
    outside = np.flatnonzero((array < motion.start_s) | (array > motion.end_s))
    if outside.size:
        first = int(outside[0])
        raise ValueRangeError(
            f"expected t_s within {motion.start_s} ... {motion.end_s} s, got t_s[{first}] ="
            f" {array[first]}; ask for a time within the motion, or make the motion longer"
        )
    return array


def ascending(edges_s: ArrayLike, motion: Spanned) -> FloatArray:
    """Return the ends of intervals as :func:`instants` does, and require them to ascend.

    Raises
    ------
    ShapeError, ValueRangeError
        As :func:`instants`, or the edges do not ascend.
    """
    edges = instants(edges_s, motion)
    back = np.flatnonzero(np.diff(edges) <= 0.0)
    if back.size:
        row = int(back[0]) + 1
        raise ValueRangeError(
            f"expected ascending edges_s, got edges_s[{row}] = {edges[row]} after"
            f" {edges[row - 1]}; sort the instants and drop repeated ones"
        )
    return edges


def as_vector(value: ArrayLike, name: str, size: int) -> FloatArray:
    """Return a read-only copy of one vector of ``size`` finite numbers.

    Raises
    ------
    ShapeError, ValueRangeError
        It is no such vector.
    """
    vector = as_finite(value, name, (size,)).copy()
    if vector.ndim != 1:
        raise ShapeError(f"expected {name} of shape ({size},), got {vector.shape}")
    vector.flags.writeable = False
    return vector


def columns(rows: int, *components: FloatArray | float) -> FloatArray:
    """Return the components (N,), or numbers, side by side as (N, K).

    Each component is contiguous in memory, so that arithmetic on components stays fast.
    """
    planar = np.empty((len(components), rows))
    for row, component in zip(planar, components, strict=True):
        row[:] = component
    return planar.T


def trajectory(  # noqa: PLR0913 (three states, and the other fields of a trajectory)
    t_s: FloatArray,
    q_world_from_body: FloatArray,
    position_world: FloatArray,
    velocity_world: FloatArray,
    *,
    start_ns: int = 0,
    name: str = "truth",
) -> Trajectory:
    """Return states at instants ``t_s`` [s] as a trajectory; ``start_ns`` is the stamp of 0."""
    return Trajectory(
        start_ns + np.rint(t_s * NS_PER_S).astype(np.int64),
        q_world_from_body,
        position_world=position_world,
        velocity_world=velocity_world,
        name=name,
    )
