"""Kinematic trees: links and joints that move as they are told, without physics.

A joint between two links is a row of hinges and sliders, each of which carries those behind it:
two hinges make a universal joint (:func:`hinge2`), three a ball (:func:`ball`). The state of a
link follows from that of its parent in closed form, with two derivatives. How each hinge or
slider moves is any :data:`~strapdown.motion.joint_laws.JointLaw`.

References
----------
J. J. Craig, "Introduction to Robotics", chapters 5 and 6: velocities and accelerations from
link to link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion.kinematics import Kinematics, as_vector, instants
from strapdown.motion.primitives import as_unit_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.joint_laws import JointLaw
    from strapdown.motion.kinematics import Motion

__all__ = ["Hinge", "KinematicTree", "Link", "LinkMotion", "Slider", "ball", "hinge2"]

_ORIGIN = (0.0, 0.0, 0.0)


class _State(NamedTuple):
    """A frame at N instants: attitude (N, 4), and the rest (N, 3) in world axes."""

    q: FloatArray
    rate: FloatArray
    angular_acceleration: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    def to_world(self, v: FloatArray) -> FloatArray:
        """Return a vector of this frame in world axes."""
        return quaternion.rotate(self.q, v)

    def shifted(self, lever: FloatArray) -> _State:
        """Return the state of a point of this rigid frame, ``lever`` (N, 3) [world] away."""
        swing = np.cross(self.rate, lever)
        return self._replace(
            position=self.position + lever,
            velocity=self.velocity + swing,
            acceleration=self.acceleration
            + np.cross(self.angular_acceleration, lever)
            + np.cross(self.rate, swing),
        )


@dataclass(frozen=True, eq=False)
class Hinge:
    """A rotation about an axis.

    Parameters
    ----------
    axis : (3,)
        Direction, of any length [axes of the link].
    law : JointLaw
        Angle over time [rad].
    anchor : (3,), optional
        A point on the axis [m, axes of the link].

    Raises
    ------
    ShapeError, ValueRangeError
        A vector is not three finite numbers, or the axis is zero.
    """

    axis: ArrayLike
    law: JointLaw
    anchor: ArrayLike = _ORIGIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_unit_vector(self.axis, "axis"))
        object.__setattr__(self, "anchor", as_vector(self.anchor, "anchor", 3))

    def _carry(self, frame: _State, t_s: FloatArray) -> _State:
        angle, rate, acceleration = _values(self.law, t_s)
        axis, anchor = np.asarray(self.axis), np.asarray(self.anchor)
        axis_world = frame.to_world(axis)
        pivot = frame.shifted(frame.to_world(anchor))
        spin = axis_world * rate
        turned = pivot._replace(
            q=quaternion.multiply(frame.q, quaternion.from_rotation_vector(axis * angle)),
            rate=frame.rate + spin,
            angular_acceleration=frame.angular_acceleration
            + axis_world * acceleration
            + np.cross(frame.rate, spin),
        )
        return turned.shifted(turned.to_world(-anchor))


@dataclass(frozen=True, eq=False)
class Slider:
    """A translation along an axis.

    Parameters
    ----------
    axis : (3,)
        Direction, of any length [axes of the link].
    law : JointLaw
        Displacement over time [m].

    Raises
    ------
    ShapeError, ValueRangeError
        The axis is not three finite numbers, or zero.
    """

    axis: ArrayLike
    law: JointLaw

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_unit_vector(self.axis, "axis"))

    def _carry(self, frame: _State, t_s: FloatArray) -> _State:
        displacement, speed, acceleration = _values(self.law, t_s)
        axis_world = frame.to_world(np.asarray(self.axis))
        moved = frame.shifted(axis_world * displacement)
        glide = axis_world * speed
        return moved._replace(
            velocity=moved.velocity + glide,
            acceleration=moved.acceleration
            + axis_world * acceleration
            + 2.0 * np.cross(frame.rate, glide),  # Coriolis
        )


def hinge2(
    axes: tuple[ArrayLike, ArrayLike],
    laws: tuple[JointLaw, JointLaw],
    *,
    anchor: ArrayLike = _ORIGIN,
) -> tuple[Hinge, Hinge]:
    """Return two hinges through one anchor, the second carried by the first."""
    first, second = (Hinge(axis, law, anchor) for axis, law in zip(axes, laws, strict=True))
    return first, second


def ball(
    yaw: JointLaw, pitch: JointLaw, roll: JointLaw, *, anchor: ArrayLike = _ORIGIN
) -> tuple[Hinge, Hinge, Hinge]:
    """Return three hinges through one anchor: about z, then the new y, then the new x axis."""
    return (
        Hinge((0.0, 0.0, 1.0), yaw, anchor),
        Hinge((0.0, 1.0, 0.0), pitch, anchor),
        Hinge((1.0, 0.0, 0.0), roll, anchor),
    )


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link and the joints by which it hangs on its parent.

    Parameters
    ----------
    name : str
        A name of its own.
    joints : sequence of Hinge and Slider, optional
        In the order from the parent to the link; none fixes the link to the parent.
    parent : str, optional
        A link before this one; by default the base of the tree.
    position : (3,), optional
        The link's origin where all joints are at zero [m, axes of the parent].
    q_parent_from_link : (4,), optional
        The link's attitude where all joints are at zero, x y z w.

    Raises
    ------
    ShapeError, ValueRangeError
        Position or attitude are not finite numbers of their shape, or the attitude is zero.
    """

    name: str
    joints: Sequence[Hinge | Slider] = ()
    parent: str | None = None
    position: ArrayLike = _ORIGIN
    q_parent_from_link: ArrayLike = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        q = quaternion.normalize(as_vector(self.q_parent_from_link, "q_parent_from_link", 4))
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "position", as_vector(self.position, "position", 3))
        object.__setattr__(self, "q_parent_from_link", q)

    def _carry(self, parent: _State, t_s: FloatArray) -> _State:
        frame = parent.shifted(parent.to_world(np.asarray(self.position)))
        frame = frame._replace(q=quaternion.multiply(parent.q, self.q_parent_from_link))
        for joint in self.joints:
            frame = joint._carry(frame, t_s)  # noqa: SLF001 (of this module)
        return frame


class KinematicTree:
    """Links on a base that stands still or moves.

    Parameters
    ----------
    links : iterable of Link
        Parents before their children.
    base : Motion, optional
        How the base moves; by default it rests in the world's axes.

    Raises
    ------
    ValueRangeError
        Two links have one name.
    UnknownNameError
        A parent is not among the links before.
    """

    def __init__(self, links: Iterable[Link], *, base: Motion | None = None) -> None:
        self._base = base
        self._chains: dict[str, tuple[Link, ...]] = {}
        for link in links:
            if link.name in self._chains:
                raise ValueRangeError(f"expected links of different names, got {link.name!r} twice")
            chain = () if link.parent is None else self._chain(link.parent)
            self._chains[link.name] = (*chain, link)

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links."""
        return tuple(self._chains)

    def motion(self, link: str) -> LinkMotion:
        """Return how a link's origin and axes move.

        Raises
        ------
        UnknownNameError
            There is no such link.
        """
        return LinkMotion(self._chain(link), self._base)

    def _chain(self, link: str) -> tuple[Link, ...]:
        if link not in self._chains:
            raise UnknownNameError("link", link, self._chains)
        return self._chains[link]


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """The :class:`Motion` of a link, from :meth:`KinematicTree.motion`.

    Parameters
    ----------
    chain : tuple of Link
        From the base to the link.
    base : Motion, optional
        How the base moves.
    """

    chain: tuple[Link, ...]
    base: Motion | None = None

    @property
    def start_s(self) -> float:
        """First instant that the base and all joints know [s]."""
        return max(getattr(part, "start_s", -math.inf) for part in self._parts())

    @property
    def end_s(self) -> float:
        """Last instant that the base and all joints know [s]."""
        return min(getattr(part, "end_s", math.inf) for part in self._parts())

    @property
    def breaks_s(self) -> FloatArray:
        """Breaks of the base and of all joints, ascending [s]."""
        return np.unique(np.concatenate([getattr(part, "breaks_s", ()) for part in self._parts()]))

    @property
    def has_acceleration(self) -> bool:
        """Whether all accelerations exist; one that does not is NaN, the rest is exact."""
        return all(getattr(part, "has_acceleration", True) for part in self._parts())

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError
            The instants, or the values of a joint's law, are not one-dimensional.
        ValueRangeError
            An instant is not finite or outside the motion, or a law's value is not finite.
        """
        t_s = instants(t_s, self)
        frame = self._base_at(t_s)
        for link in self.chain:
            frame = link._carry(frame, t_s)  # noqa: SLF001 (of this module)
        q_link_from_world = quaternion.conjugate(frame.q)
        return Kinematics(
            t_s,
            frame.q,
            quaternion.rotate(q_link_from_world, frame.rate),
            quaternion.rotate(q_link_from_world, frame.angular_acceleration),
            frame.position,
            frame.velocity,
            frame.acceleration,
        )

    def _base_at(self, t_s: FloatArray) -> _State:
        if self.base is None:
            rest = np.zeros((5, len(t_s), 3))
            return _State(np.tile(quaternion.IDENTITY, (len(t_s), 1)), *rest)
        state = self.base.at(t_s)
        q = state.q_world_from_body
        return _State(
            q,
            quaternion.rotate(q, state.angular_velocity),
            quaternion.rotate(q, state.angular_acceleration),
            state.position_world,
            state.velocity_world,
            state.acceleration_world,
        )

    def _parts(self) -> Iterator[object]:
        yield self.base
        for link in self.chain:
            for joint in link.joints:
                yield joint.law


def _values(law: JointLaw, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a joint's value and derivatives as columns (N, 1); only the last may be NaN."""
    value, first, second = law(t_s)
    as_finite(value, "a joint's value", ())
    as_finite(first, "a joint's first derivative", ())
    columns = [np.asarray(item, np.float64) for item in (value, first, second)]
    for column in columns:
        if column.shape not in {(), t_s.shape}:
            raise ShapeError(
                f"expected a joint's law to give one number or {t_s.shape}, got {column.shape}"
            )
    value, first, second = (np.broadcast_to(item, t_s.shape)[:, np.newaxis] for item in columns)
    return value, first, second
