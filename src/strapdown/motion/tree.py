"""Kinematic trees: links and joints with prescribed motion, without physics.

A joint between two links is a row of hinges and sliders, each of which carries those after it:
two hinges form a universal joint (:func:`hinge2`), three a ball joint (:func:`ball`). The state
of a link follows from that of its parent in closed form, with two derivatives
(:mod:`strapdown.motion.links`). Each hinge or slider moves by a
:data:`~strapdown.motion.joint_laws.JointLaw`.
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
from strapdown.motion.links import PointStates
from strapdown.motion.primitives import as_unit_vector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.joint_laws import JointLaw
    from strapdown.motion.kinematics import Motion

__all__ = ["Hinge", "KinematicTree", "Link", "LinkMotion", "Slider", "ball", "hinge2"]

_ORIGIN = (0.0, 0.0, 0.0)


class _State(NamedTuple):
    """A frame at N instants: attitude (N, 4) and origin."""

    q: FloatArray
    origin: PointStates

    def to_world(self, v: ArrayLike) -> FloatArray:
        """Return a vector of this frame in world axes, (3, N)."""
        return quaternion.rotate(self.q, v).T

    def shifted(self, lever: ArrayLike) -> _State:
        """Return the frame with another origin, ``lever`` away in its axes."""
        return self._replace(origin=self.origin.shifted(self.to_world(lever)))


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
        axis = frame.to_world(self.axis)
        turn = quaternion.from_rotation_vector(np.multiply.outer(angle, self.axis))
        pivot = frame.shifted(self.anchor).origin
        turned = _State(
            quaternion.multiply(frame.q, turn), pivot.turning(axis * rate, axis * acceleration)
        )
        return turned.shifted(np.negative(self.anchor))


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
        axis = frame.to_world(self.axis)
        origin = frame.origin.shifted(axis * displacement)
        return frame._replace(origin=origin.sliding(axis * speed, axis * acceleration))


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
    """A rigid link and the joints that connect it to its parent.

    Parameters
    ----------
    name : str
        Unique name.
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
        q = quaternion.multiply(parent.q, self.q_parent_from_link)
        frame = parent.shifted(self.position)._replace(q=q)
        for joint in self.joints:
            frame = joint._carry(frame, t_s)  # noqa: SLF001 (of this module)
        return frame


class KinematicTree:
    """Links on a base at rest or in motion.

    Parameters
    ----------
    links : iterable of Link
        Parents before their children.
    base : Motion, optional
        Motion of the base; by default at rest in the world's axes.

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
        """Return the motion of a link's origin and axes.

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
        Motion of the base.
    """

    chain: tuple[Link, ...]
    base: Motion | None = None

    @property
    def start_s(self) -> float:
        """First instant at which the base and all joints are defined [s]."""
        return max(getattr(part, "start_s", -math.inf) for part in self._parts())

    @property
    def end_s(self) -> float:
        """Last instant at which the base and all joints are defined [s]."""
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
        position, velocity, rate, acceleration, spin_up = (v.T for v in frame.origin)
        return Kinematics(
            t_s,
            frame.q,
            quaternion.rotate(q_link_from_world, rate),
            quaternion.rotate(q_link_from_world, spin_up),
            position,
            velocity,
            acceleration,
        )

    def _base_at(self, t_s: FloatArray) -> _State:
        if self.base is None:
            rest = PointStates(*np.zeros((5, 3, len(t_s))))
            return _State(np.tile(quaternion.IDENTITY, (len(t_s), 1)), rest)
        state = self.base.at(t_s)
        q = state.q_world_from_body
        origin = PointStates(
            state.position_world.T,
            state.velocity_world.T,
            quaternion.rotate(q, state.angular_velocity).T,
            state.acceleration_world.T,
            quaternion.rotate(q, state.angular_acceleration).T,
        )
        return _State(q, origin)

    def _parts(self) -> Iterator[object]:
        yield self.base
        for link in self.chain:
            for joint in link.joints:
                yield joint.law


def _values(law: JointLaw, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a joint's value and derivatives (N,) each; only the last may be NaN."""
    value, first, second = law(t_s)
    as_finite(value, "a joint's value", ())
    as_finite(first, "a joint's first derivative", ())
    columns = [np.asarray(item, np.float64) for item in (value, first, second)]
    for column in columns:
        if column.shape not in {(), t_s.shape}:
            raise ShapeError(
                f"expected a joint's law to give one number or {t_s.shape}, got {column.shape}"
            )
    value, first, second = (np.broadcast_to(item, t_s.shape) for item in columns)
    return value, first, second
