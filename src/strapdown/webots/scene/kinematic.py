"""Kinematics: joints follow their motors and robots their drivers, without forces."""

from __future__ import annotations

import math
from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._checks import as_member
from strapdown.errors import ValueRangeError
from strapdown.webots.scene.joints import JOINTS, read_joint
from strapdown.webots.scene.linkage import Linkage, MovingJoint
from strapdown.webots.scene.mass import body_mass
from strapdown.webots.scene.motors import COUPLED_COMMANDS, MotorState, coupled_motors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.webots.file.node import Node
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.scene.drivers import Driver
    from strapdown.webots.scene.joints import Joint
    from strapdown.webots.scene.linkage import Axis
    from strapdown.webots.scene.scene import BodyStates

__all__ = ["KinematicScene", "VelocityModel"]

_FORCES: Final = frozenset({"force", "torque"})


class VelocityModel(StrEnum):
    """Definition of the velocities of a body with Physics at the end of a step."""

    EXACT = "exact"
    """Derivatives of its pose."""
    ODE = "ode"
    """Those of a semi-implicit Euler engine, as in Webots: angular velocity and velocity of
    the centre of mass that the joints give at the start of the step."""


class _Run(NamedTuple):
    """Motion of an axis from a step on: constant velocity until the next run begins."""

    step: int
    position: float
    velocity: float
    acceleration: float
    """Acceleration during the step that ended where the run begins; NaN if the velocity jumped."""

    def at(self, step: int, step_s: float) -> float:
        """Return the position at a step [rad or m]."""
        return self.position + self.velocity * ((step - self.step) * step_s)


class _Freedom:
    """Present state of an axis of a joint, or of a motor without a joint."""

    def __init__(self, position: float) -> None:
        self.run = _Run(0, position, 0.0, 0.0)
        self.motor: MotorState | None = None
        self._written = position

    def configure(self, motor: Node | None, written: float, step: int, step_s: float) -> None:
        """Read the motor's fields, and the joint position from the parameters if it was changed."""
        if written != self._written:
            self._written = written
            self.run = _Run(step, written, 0.0, 0.0)
            self.motor = None
        if motor is None:
            self.motor = None
        elif self.motor is None or self.motor.node is not motor:
            self.motor = MotorState(motor, self.run.at(step, step_s))
        else:
            self.motor.configure()

    def ahead(self, first: int, count: int, step_s: float) -> list[_Run]:
        """Return the run at step ``first``, and those that begin in the next ``count`` steps."""
        run = self.run
        runs = [run]
        if self.motor is None:
            return runs
        for step in range(first, first + count):
            position = run.at(step, step_s)
            if self.motor.is_steady(position, run.velocity):
                break
            begin, end = self.motor.step(position, run.velocity, step_s)
            if not begin == end == run.velocity:
                acceleration = (end - begin) / step_s if begin == run.velocity else math.nan
                position += 0.5 * (begin + end) * step_s
                run = _Run(step + 1, position, end, acceleration)
                runs.append(run)
        return runs


class _Horizon:
    """States at consecutive steps, from the runs of each axis at these steps."""

    def __init__(
        self, scene: KinematicScene, steps: IntArray, runs: Mapping[Axis, list[_Run]]
    ) -> None:
        self.steps, self.runs = steps, runs
        self._scene = scene
        self._watched: dict[Node, BodyStates] = {}
        self._driven: dict[Node, BodyStates] = {}
        self._moved: dict[Axis, FloatArray] = {}

    def states(self, node: Node) -> BodyStates:
        """Return the states of a node."""
        if node in self._scene.watched and not self._watched:
            found = self.along(self._scene.linkage(*self._scene.watched))
            self._watched = dict(zip(self._scene.watched, found, strict=True))
        return self._watched.get(node) or self.along(self._scene.linkage(node))[0]

    def positions(self, joint_device: Node) -> FloatArray:
        """Return the positions (N,) of the joint of a motor or PositionSensor; NaN if none."""
        axis = self._scene.axes.get(joint_device)
        return np.full(len(self.steps), math.nan) if axis is None else self._values(axis)[0]

    def touches(self, solid: Node) -> BoolArray:  # noqa: ARG002 (as the protocol says)
        """Return False: nothing collides."""
        return np.zeros(len(self.steps), dtype=bool)

    def load(self, solid: Node) -> FloatArray:  # noqa: ARG002 (as the protocol says)
        """Return zeros: there are no forces."""
        return np.zeros((len(self.steps), 3))

    def along(self, linkage: Linkage) -> list[BodyStates]:
        """Return the states of the nodes of a linkage."""
        before = self._write_before if self._scene.ode else None
        return linkage.states(len(self.steps), self._write, self._driver_states, before)

    def _values(self, axis: Axis) -> FloatArray:
        """Return position and two derivatives of an axis, (3, N)."""
        if axis not in self._moved:
            runs = self.runs[axis]
            if runs[-1].step <= self.steps[0]:  # one run covers all steps
                begin, position, velocity, acceleration = runs[-1]
            else:
                table = np.array(runs)
                run = np.searchsorted(table[:, 0], self.steps, side="right") - 1
                begin, position, velocity, acceleration = table[run].T
            since = self.steps - begin
            self._moved[axis] = values = np.empty((3, len(self.steps)))
            values[0] = position + velocity * (since * self._scene.step_s)
            values[1] = velocity
            values[2] = np.where(since == 0, acceleration, 0.0)
        return self._moved[axis]

    def _write(self, axis: Axis, values: FloatArray) -> None:
        values[:] = self._values(axis)

    def _write_before(self, axis: Axis, values: FloatArray) -> None:
        """Write the same, but the positions one step earlier."""
        self._write(axis, values)
        _, velocity, acceleration = values
        change = np.nan_to_num(acceleration) * self._scene.step_s  # none if the velocity jumped
        values[0] -= (velocity - 0.5 * change) * self._scene.step_s

    def _driver_states(self, node: Node) -> BodyStates:
        if node not in self._driven:
            t_s = np.multiply(self.steps, self._scene.step_s, dtype=np.float64)
            self._driven[node] = self._scene.drivers[node].states(t_s)
        return self._driven[node]


class KinematicScene:
    """World without forces: motors move joints, and drivers move robots.

    Velocities and accelerations are those at the end of a step. A joint with a constant velocity
    or a limited acceleration has exact accelerations. Where a velocity jumps, at the beginning of
    a step, no acceleration exists; it is NaN at the end of that step. Passive joints keep their
    positions. A Solid that nothing moves is stationary, regardless of its velocity fields.

    Parameters
    ----------
    world : WorldFile
        The nodes of the world.
    step_s : float
        Length of a basic step [s].
    motions : mapping, optional
        Drivers of nodes: each sets the pose of its node in the world.
    velocity_model : {"exact", "ode"}
        Velocities of bodies with Physics. With ``"ode"`` their accelerations are unknown.
    warn : callable, optional
        Called with a motor and a warning about a command to it.

    Raises
    ------
    UnknownNameError
        There is no such velocity model.
    """

    lookahead = 4096

    def __init__(
        self,
        world: WorldFile,
        *,
        step_s: float,
        motions: Mapping[Node, Driver] | None = None,
        velocity_model: VelocityModel | str = VelocityModel.EXACT,
        warn: Callable[[Node, str], object] | None = None,
    ) -> None:
        self.step_s = step_s
        self.drivers = dict(motions or {})
        model = as_member(VelocityModel, velocity_model, "velocity model")
        self.ode = model is VelocityModel.ODE
        self.watched: dict[Node, None] = {}
        self.axes: dict[Node, Axis] = {}
        """Axes by their motors and position sensors."""
        self._world = world
        self._warn = warn or _say_nothing
        self._step = 0
        self._freedoms: dict[Axis, _Freedom] = {}
        self._joints: dict[Node, MovingJoint] = {}
        self._forced: set[Node] = set()
        self._horizon: _Horizon | None = None
        self._linkages: dict[tuple[Node, ...], Linkage] = {}
        self.rebuild()

    def watch(self, node: Node) -> None:
        """Include a node in the states that horizons compute."""
        self.watched[node] = None

    def ahead(self, count: int) -> _Horizon:
        """Return the next ``count`` states under the current commands."""
        if not 1 <= count <= self.lookahead:
            raise ValueRangeError(f"expected 1 ... {self.lookahead} states ahead, got {count}")
        runs = {
            axis: freedom.ahead(self._step, count, self.step_s)
            for axis, freedom in self._freedoms.items()
        }
        self._horizon = _Horizon(self, np.arange(1, count + 1) + self._step, runs)
        return self._horizon

    def commit(self, count: int) -> None:
        """Make the state ``count`` steps ahead the present one; 0 only discards the horizon."""
        horizon, self._horizon = self._horizon, None
        if count == 0:
            return
        if horizon is None or count > len(horizon.steps):
            raise ValueRangeError(f"expected {count} states ahead or more; call ahead() first")
        self._step += count
        for axis, runs in horizon.runs.items():
            now = bisect_right(runs, self._step, key=_begin) - 1
            self._freedoms[axis].run = runs[now]

    def present(self, node: Node) -> BodyStates:
        """Return the present state of any node with a pose, as one row."""
        runs = {axis: [freedom.run] for axis, freedom in self._freedoms.items()}
        return _Horizon(self, np.array([self._step]), runs).along(self.linkage(node))[0]

    def position(self, joint_device: Node) -> float:
        """Return the present position of the joint of a motor or PositionSensor; NaN if none."""
        axis = self.axes.get(joint_device)
        return math.nan if axis is None else self._position(axis)

    def command(self, motor: Node, command: str, value: tuple[float, ...]) -> None:
        """Command a motor and those coupled with it; forces and torques have no effect."""
        self._horizon = None
        if command in _FORCES and motor not in self._forced:
            self._forced.add(motor)
            self._warn(motor, "a force or torque moves nothing without physics")
        for node in self._coupled[motor] if command in COUPLED_COMMANDS else (motor,):
            state = self._freedoms[self.axes[node]].motor
            warning = state.command(command, value) if state else ""
            if warning:
                self._warn(node, warning)

    def place(self, node: Node) -> None:
        """Apply a new pose; that of an end point belongs to the present joint positions."""
        self._horizon = None
        self._linkages = {}
        if node.parent in self._joints and node.parent_field == "endPoint":
            joint = self._joints[node.parent].joint
            self._joints[node.parent] = self._standing(node.parent, joint, None)

    def rebuild(self) -> None:
        """Apply added and removed nodes and changed fields; motors keep their commands.

        A position that was written to the parameters of a joint becomes the present one.
        """
        self._horizon = None
        self._linkages = {}
        freedoms, joints = self._freedoms, self._joints
        self._freedoms, self._joints, self.axes = {}, {}, {}
        nodes = list(self._world.walk())
        for node in nodes:
            if node.type in JOINTS:
                joint = read_joint(node)
                for number, axis in enumerate(joint.axes):
                    old = freedoms.get((node, number))
                    self._add((node, number), axis.devices, axis.position, old)
                self._joints[node] = self._standing(node, joint, joints.get(node))
        motors = [node for node in nodes if node.is_a("Motor")]
        for motor in motors:
            if motor not in self.axes:  # of a propeller or a track
                self._add((motor, 0), [motor], 0.0, freedoms.get((motor, 0)))
        self._coupled = coupled_motors(motors)
        alive = set(nodes)
        self.watched = {node: None for node in self.watched if node in alive}

    def linkage(self, *nodes: Node) -> Linkage:
        """Return the linkage that computes the states of some nodes."""
        if nodes not in self._linkages:
            centers = {node: at for node in nodes if (at := self._center(node))} if self.ode else {}
            self._linkages[nodes] = Linkage(nodes, self._joints, self.drivers, centers)
        return self._linkages[nodes]

    def _add(self, axis: Axis, devices: list[Node], written: float, old: _Freedom | None) -> None:
        """Add an axis with its devices, with its state if it existed before."""
        freedom = self._freedoms[axis] = old or _Freedom(written)
        motor = next((device for device in devices if device.is_a("Motor")), None)
        freedom.configure(motor, written, self._step, self.step_s)
        self.axes.update(dict.fromkeys(devices, axis))

    def _standing(self, node: Node, joint: Joint, old: MovingJoint | None) -> MovingJoint:
        """Return a moving joint; the pose of a new end point belongs to the present positions."""
        axes = [(node, number) for number in range(len(joint.axes))]
        positions = tuple(map(self._position, axes))
        known = old is not None and old.joint.end is joint.end
        reference = old.reference if old is not None and known else positions
        moves = any(self._freedoms[axis].motor for axis in axes) or positions != reference
        return MovingJoint(joint, reference, moves)

    def _position(self, axis: Axis) -> float:
        return self._freedoms[axis].run.at(self._step, self.step_s)

    def _center(self, node: Node) -> tuple[Node, FloatArray] | None:
        """Return the centre of mass of the body that a node is part of, if it has Physics."""
        root = None
        for part in (node, *node.ancestors()):
            if part.is_a("Solid") and part.node("physics"):
                root = part
            if part.parent_field == "endPoint" and part.parent in self._joints:
                break
        return (root, body_mass(root).center) if root else None


def _begin(run: _Run) -> int:
    return run.step


def _say_nothing(_node: Node, _text: str) -> None:
    pass
