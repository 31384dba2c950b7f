"""Poses of the nodes of a world, and the motion of those on joints.

Nodes are mounted on parts. A part is moved by an axis of a joint, or by a driver; all nodes
between two joints are mounted on one part, and a node that nothing moves is mounted on the world.
States are propagated from part to part in closed form, with two derivatives
(:mod:`strapdown.motion.links`), for many instants and all parts of equal depth at once. Arrays are
planar here: vectors (3, parts, N), matrices (3, 3, parts, N).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from strapdown.geometry.rotations import skew
from strapdown.motion.links import PointStates, cross
from strapdown.webots.scene.joints import rodrigues, rotation_matrix
from strapdown.webots.scene.scene import BodyStates
from strapdown.webots.scene.shapes import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.joints import Joint

__all__ = ["Axis", "Linkage", "MovingJoint"]

Axis: TypeAlias = "tuple[Node, int]"
"""An axis of a joint: the joint's node, and the number of the axis from 0."""

AxisMotion: TypeAlias = "Callable[[Axis, FloatArray], None]"
"""Writes position and two derivatives of an axis to an array (3, N)."""


class MovingJoint(NamedTuple):
    """A joint, and the pose of its end point."""

    joint: Joint
    reference: tuple[float, ...]
    """Positions of the axes at which the end point has the pose in its fields."""
    moves: bool
    """Whether the positions may change; if not, the end point is on the part of the joint."""


class _Mount(NamedTuple):
    """Frame on a part; part 0 is the world."""

    part: int
    frame: Frame

    def moved(self, R: FloatArray, p: FloatArray) -> _Mount:
        """Return the frame with this pose relative to this one."""
        frame = self.frame
        return self._replace(frame=Frame(frame.R @ R, frame.point(p), frame.scale))


_WORLD = _Mount(0, Frame())
_DIAGONAL = np.arange(3)


class _Part(NamedTuple):
    """Frame that rotates about its axis, or slides along it."""

    parent: int
    frame: Frame
    """Frame in the parent part, with the axis at ``zero``."""
    axis: FloatArray
    slides: bool
    zero: float
    source: Axis | Node
    """The axis, or the node that a driver moves."""


class _States(NamedTuple):
    """Frames at N instants."""

    R: FloatArray
    """(3, 3, frames, N)."""
    vectors: FloatArray
    """(5, 3, frames, N), in the order of :class:`PointStates`."""

    def of(self, frames: IntArray) -> _States:
        """Return a selection of the frames."""
        return _States(self.R.take(frames, 2), self.vectors.take(frames, 2))

    def shifted(self, lever: FloatArray) -> PointStates:
        """Return the states of points of these bodies, offset by ``lever`` in body axes."""
        return PointStates(*self.vectors).shifted(_turned(self.R, lever))


class _Level:
    """Parts of one depth that are moved by axes: constants, and propagation from their parents."""

    def __init__(self, parts: Sequence[_Part], rows: IntArray) -> None:
        own = [parts[row - 1] for row in rows]
        frames = [part.frame for part in own]
        spins = [skew(part.axis) for part in own]
        pairs = list(zip(frames, spins, strict=True))
        self.axes = [part.source for part in own if isinstance(part.source, tuple)]
        self._rows = rows
        self._parents = np.array([part.parent for part in own])
        self._turns = (
            _planar([frame.R for frame in frames]),
            _planar([frame.R @ K for frame, K in pairs]),
            _planar([frame.R @ K @ K for frame, K in pairs]),
        )
        self._lever = _planar([frame.origin for frame in frames])
        self._axis = _planar([part.frame.R @ part.axis for part in own])
        self._slide = _planar([part.frame.R @ (part.frame.scale * part.axis) for part in own])
        self._slides = np.array([[part.slides] for part in own])
        self._zero = np.array([[part.zero] for part in own])

    def carry(self, states: _States, values: FloatArray) -> None:
        """Fill in the states of these parts from values (3, parts, N) of their axes.

        The values are position and two derivatives; only the last may be NaN.
        """
        values[0] -= self._zero
        angle, angular_speed, spin_up = np.where(self._slides, 0.0, values)
        way, speed, speed_up = np.where(self._slides, values, 0.0)
        parent = states.of(self._parents)
        axis = _turned(parent.R, self._axis)
        slide = _turned(parent.R, self._slide)
        moved = parent.shifted(self._lever + self._slide * way)
        moved = moved.sliding(slide * speed, slide * speed_up)
        moved = moved.turning(axis * angular_speed, axis * spin_up)
        turned = rodrigues(self._turns, np.sin(angle), np.cos(angle))
        states.R[:, :, self._rows] = _product(parent.R, turned)
        states.vectors[:, :, self._rows] = moved


class Linkage:
    """Some nodes of a world, and the parts that they are mounted on.

    Parameters
    ----------
    nodes : sequence of Node
        One or more nodes whose states are computed.
    joints : mapping
        Joints by their nodes.
    driven : container of Node
        Nodes whose pose in the world is set by drivers, regardless of their parents.
    centers : mapping, optional
        If a physics engine is emulated: the centre of mass of the body of a node, as a Solid
        and a point (3,) [m, its axes].
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        joints: Mapping[Node, MovingJoint],
        driven: Container[Node],
        centers: Mapping[Node, tuple[Node, FloatArray]] | None = None,
    ) -> None:
        self._joints, self._driven = joints, driven
        self._parts: list[_Part] = []
        self._mounts: dict[Node, _Mount] = {}
        seats, seat_of = np.unique(  # nodes with equal mounting share their states
            [self._seat(node, centers or {}) for node in nodes], axis=0, return_inverse=True
        )
        self._seat_of = seat_of.ravel()  # (N, 1) in NumPy 2.0
        self._on = seats[:, 0].astype(np.int64)
        self._has_center = seats[:, 1:2] != 0.0
        self._R = seats[:, 2:11].T.reshape(3, 3, -1, 1)
        self._lever = seats[:, 11:14].T[..., np.newaxis]
        self._apart = bool(self._lever.any())
        self._centers = seats[:, 14:].T[..., np.newaxis]
        self._driven_rows = {
            row: part.source
            for row, part in enumerate(self._parts, 1)
            if not isinstance(part.source, tuple)
        }
        self._levels = self._sorted_levels()

    def states(
        self,
        count: int,
        motion: AxisMotion,
        driver: Callable[[Node], BodyStates],
        start: AxisMotion | None = None,
    ) -> list[BodyStates]:
        """Return the states of the nodes at N instants.

        Parameters
        ----------
        count : int
            N.
        motion : callable
            Writes an axis' position and two derivatives to (3, N); accelerations may be NaN.
        driver : callable
            Returns the states of a driven node.
        start : callable, optional
            As ``motion``, with the positions one step earlier. Bodies then have the velocities
            of a semi-implicit Euler engine: the pose at the end of the step, and velocity of the
            centre of mass and angular velocity that the joints give at its start.
        """
        instants = count if self._parts else 1  # a world in which nothing moves has one state
        parts = self._forward(instants, motion, driver).of(self._on)
        R = _product(parts.R, self._R)
        vectors = parts.vectors
        if self._apart:
            vectors = np.stack(parts.shifted(self._lever))
        if start is not None:
            before = self._forward(instants, start, driver).of(self._on)
            _, velocity, rate, *_ = before.shifted(self._centers)
            swing = cross(rate, _turned(parts.R, self._lever - self._centers))
            unknown = np.full_like(swing, np.nan)
            engine = (vectors[0], velocity + swing, rate, unknown, unknown)
            vectors = np.where(self._has_center, engine, vectors)
        if instants < count:
            R, vectors = (np.repeat(array, count, -1) for array in (R, vectors))
        frames = [
            BodyStates(R[:, :, seat].transpose(2, 0, 1), *(array[:, seat].T for array in vectors))
            for seat in range(len(self._on))
        ]
        return [frames[seat] for seat in self._seat_of]

    def _forward(
        self, count: int, motion: AxisMotion, driver: Callable[[Node], BodyStates]
    ) -> _States:
        """Return the states of the world and all parts."""
        size = 1 + len(self._parts)
        states = _States(np.zeros((3, 3, size, count)), np.zeros((5, 3, size, count)))
        states.R[_DIAGONAL, _DIAGONAL] = 1.0
        for row, node in self._driven_rows.items():
            R, *vectors = driver(node)
            states.R[:, :, row] = R.transpose(1, 2, 0)
            for array, vector in zip(states.vectors, vectors, strict=True):
                array[:, row] = vector.T
        for level in self._levels:
            values = np.empty((3, len(level.axes), count))
            for number, axis in enumerate(level.axes):
                motion(axis, values[:, number])
            level.carry(states, values)
        return states

    def _seat(self, node: Node, centers: Mapping[Node, tuple[Node, FloatArray]]) -> list[float]:
        """Return part, whether a centre is given, axes, origin and centre for a node."""
        part, frame = self._mount(node)
        center = frame.origin
        if node in centers:
            solid, point = centers[node]
            center = self._mount(solid).frame.point(point)
        return [part, node in centers, *frame.R.flat, *frame.origin, *center]

    def _sorted_levels(self) -> list[_Level]:
        """Return the parts that axes move, parents before their children."""
        depths = np.zeros(1 + len(self._parts), np.int64)
        for row, part in enumerate(self._parts, 1):
            if row not in self._driven_rows:
                depths[row] = depths[part.parent] + 1
        return [
            _Level(self._parts, np.flatnonzero(depths == depth))
            for depth in range(1, int(depths.max()) + 1)
        ]

    def _mount(self, node: Node) -> _Mount:
        """Return the frame of a node on its part."""
        if node not in self._mounts:
            self._mounts[node] = self._find_mount(node)
        return self._mounts[node]

    def _find_mount(self, node: Node) -> _Mount:
        if node in self._driven:
            return self._add(_WORLD, np.zeros(3), source=node)
        parent = node.parent
        if parent is None:
            base = _WORLD
        elif parent in self._joints and node.parent_field == "endPoint":
            base = self._end_mount(parent)
        else:
            base = self._mount(parent)
        return base._replace(frame=base.frame.inner(node))

    def _end_mount(self, node: Node) -> _Mount:
        """Return the mount of the end point of a joint without its own pose."""
        base = _WORLD if node.parent is None else self._mount(node.parent)
        joint, reference, moves = self._joints[node]
        if not moves:
            return base
        mount, back = base.moved(np.eye(3), joint.anchor), np.eye(3)
        last = len(joint.axes) - 1
        for number, axis in enumerate(joint.axes):
            zero = reference[number] if number == last else 0.0
            mount = self._add(
                mount, axis.axis, slides=axis.slides, zero=zero, source=(node, number)
            )
            if number < last:
                back = rotation_matrix(axis.axis, -reference[number]) @ back
        return mount.moved(back, back @ -joint.anchor)

    def _add(
        self,
        mount: _Mount,
        axis: FloatArray,
        *,
        source: Axis | Node,
        slides: bool = False,
        zero: float = 0.0,
    ) -> _Mount:
        """Add a part, and return its frame."""
        self._parts.append(_Part(*mount, axis, slides, zero, source))
        return _Mount(len(self._parts), Frame(scale=mount.frame.scale))


def _planar(arrays: Sequence[FloatArray]) -> FloatArray:
    """Return stacked vectors or matrices of frames, constant in time."""
    side_by_side: FloatArray = np.stack(arrays, axis=-1)[..., np.newaxis]
    return side_by_side


def _turned(R: FloatArray, v: FloatArray) -> FloatArray:
    turned: FloatArray = R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2]
    return turned


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return (
        a[:, 0, np.newaxis] * b[np.newaxis, 0]
        + a[:, 1, np.newaxis] * b[np.newaxis, 1]
        + a[:, 2, np.newaxis] * b[np.newaxis, 2]
    )
