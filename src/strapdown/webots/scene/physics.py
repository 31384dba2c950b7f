"""Physics by MuJoCo: bodies fall, collide and are driven. Needs the extra ``physics``.

**Mapping.** A Solid or Robot with Physics at the top level floats; one without is fixed to the
world, with everything below it that no joint holds. Solids without a joint between them form one
body. A body on a joint moves by forces if it has Physics, else as its motor commands, regardless
of the load. Motors reach their commanded velocity at once, as far as ``maxTorque`` or ``maxForce``
allows; see :mod:`strapdown.webots.scene.physics_joints`. Contacts are soft; see
:mod:`strapdown.webots.scene.contacts`. The impulse of an impact is right, its peak force is not.

**Accelerations** are those of the present state under the forces of the step that ended there, and
exact at that instant: that of gravity in free fall, zero at rest, the centripetal one of a
pendulum. They are not averages over a step. In an impact shorter than a sampling period, the
change of velocity appears in the velocities, not in the accelerations.

**Determinism.** The same world and the same commands give the same bits, regardless of the states
that are read in between.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.errors import DeviceError, ValueRangeError
from strapdown.motion.engine import Engine
from strapdown.motion.links import cross
from strapdown.webots.file.conventions import up_and_gravity
from strapdown.webots.scene.joints import JOINTS, read_joint
from strapdown.webots.scene.mass import body_mass
from strapdown.webots.scene.motors import COUPLED_COMMANDS, coupled_motors
from strapdown.webots.scene.physics_forces import Drive, brake, thrust
from strapdown.webots.scene.physics_model import build, wxyz
from strapdown.webots.scene.scene import BodyStates
from strapdown.webots.scene.shapes import fixed_nodes, shapes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import BoolArray, FloatArray
    from strapdown.webots.file.node import Node, Value
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.scene.linkage import Axis
    from strapdown.webots.scene.physics_forces import Movement

    State: TypeAlias = "tuple[FloatArray, FloatArray]"  # positions and velocities of joints

__all__ = ["PhysicsScene", "needs_physics"]

_LONGEST_S: Final = 0.002  # longest substep with stable contacts
_FEWEST: Final = 8
_ADVICE: Final = "use a shorter basicTimeStep, and check masses and what overlaps at the start"
_PLACES: Final = ("translation", "rotation", "linearVelocity", "angularVelocity")


def needs_physics(world: WorldFile) -> bool:
    """Return whether a body of a world would move other than as its motors command.

    That is the case for a Solid with Physics and a mass (a bounding object on it or on a Solid
    fixed to it, or a given ``mass``) that nothing holds: it is at the top level, or at the end of
    a joint with an axis without motor. A body held to a Solid without Physics by motors only
    moves by kinematics; and so does a Solid with an empty ``Physics { }`` and no bounding object,
    which worlds contain so that an Accelerometer works.
    """
    return any(_is_loose(node) for node in world.walk() if node.is_a("Solid"))


def _is_loose(solid: Node) -> bool:
    if solid.node("physics") is None or not _has_mass(solid):
        return False
    top = solid
    while top.parent is not None and top.parent.type == "Slot":
        top = top.parent
    if top.parent is not None and top.parent.type in JOINTS:
        axes = read_joint(top.parent).axes
        return not all(any(device.is_a("Motor") for device in axis.devices) for axis in axes)
    return not any(node.is_a("Solid") for node in solid.ancestors())


def _has_mass(solid: Node) -> bool:
    for node, _ in fixed_nodes(solid):
        physics = node.node("physics") if node.is_a("Solid") else None
        if physics and (physics.number("mass") > 0.0 or any(s.size for s in shapes_of(node))):
            return True
    return False


class PhysicsScene:
    """World with forces. It looks one step ahead, by computing that step.

    Parameters
    ----------
    world : WorldFile
        The nodes of the world.
    step_s : float
        Length of a basic step [s].
    substeps : int, optional
        Time steps of MuJoCo in a basic step; by default at least 8, and enough that none is
        longer than 2 ms.
    warn : callable, optional
        Called with a motor and a warning about a command to it.

    Attributes
    ----------
    notices : list of str
        Content of the world that is not simulated, one line each.

    Raises
    ------
    BackendMissingError
        MuJoCo is not installed.
    ValueRangeError
        MuJoCo refuses a size, mass or inertia.
    """

    lookahead = 1

    def __init__(
        self,
        world: WorldFile,
        *,
        step_s: float,
        substeps: int | None = None,
        warn: Callable[[Node, str], object] | None = None,
    ) -> None:
        self._world = world
        self._step_s = step_s
        self._substeps = substeps or max(_FEWEST, math.ceil(step_s / _LONGEST_S - 1e-6))
        self._warn = warn
        self._step = 0
        self._references: dict[Axis, float] = {}
        self._drives: dict[tuple[Axis, float], Drive] = {}
        self._thrown: dict[Node, list[Value]] = {}
        self._load({})

    def watch(self, node: Node) -> None:
        """Check that a node has states; horizons contain those of all nodes.

        Raises
        ------
        DeviceError
            The node has no place in the world.
        """
        self._site(node)

    def ahead(self, count: int) -> PhysicsScene:
        """Compute the next step, and return this scene as its horizon.

        Raises
        ------
        ValueRangeError
            ``count`` is not 1, or the simulation became unstable.
        """
        if count != 1:
            raise ValueRangeError(f"expected 1 state ahead, got {count}")
        data = self._data
        data.qfrc_applied[:] = 0.0
        for drive in self._drives.values():
            drive.begin(self._model.compiled, data, self._step_s)
        self._push()
        self._engine.step(self._substeps)
        self._step += 1
        self._engine.check_stable(self._step * self._step_s)
        for drive in self._drives.values():
            drive.end(data)
        self._engine.settle()
        return self

    def commit(self, count: int) -> None:
        """Do nothing: the step has already been computed."""

    def states(self, node: Node) -> BodyStates:
        """Return the states of a node at the step that was computed."""
        return self.present(node)

    def positions(self, joint_device: Node) -> FloatArray:
        """Return the position (1,) of the joint of a motor or PositionSensor; NaN if none."""
        return np.array([self.position(joint_device)])

    def touches(self, solid: Node) -> BoolArray:
        """Return whether a Solid touches another one at the step that was computed, (1,)."""
        body = self._model.bodies.get(solid)
        contact = self._data.contact
        bodies = self._model.compiled.geom_bodyid[contact.geom[contact.dist < 0.0]]
        return np.array([bool((bodies == body).any())])

    def load(self, solid: Node) -> FloatArray:
        """Return the force (1, 3) of a Solid with Physics on the one that holds it [N, world]."""
        body = self._model.bodies.get(solid)
        held = np.zeros(3) if body is None else self._data.cfrc_int[body, 3:]
        return -held[np.newaxis]

    def present(self, node: Node) -> BodyStates:
        """Return the present state of any node with a pose, as one row.

        Raises
        ------
        DeviceError
            The node has no place in the world.
        """
        R, origin = self._state(node)
        return BodyStates(*(array[np.newaxis] for array in (R, *origin)))

    def position(self, joint_device: Node) -> float:
        """Return the present position of the joint of a motor or PositionSensor; NaN if none."""
        address = self._positions.get(joint_device)
        return math.nan if address is None else float(self._data.qpos[address])

    def command(self, motor: Node, command: str, value: tuple[float, ...]) -> None:
        """Command a motor, and the motors coupled with it."""
        for node in self._coupled[motor] if command in COUPLED_COMMANDS else (motor,):
            drive = self._by_motor.get(node)
            warning = drive.motor.command(command, value) if drive and drive.motor else ""
            if warning and self._warn:
                self._warn(node, warning)

    def place(self, node: Node) -> None:
        """Apply fields of a node that were set: pose and velocities.

        Of a floating Solid, only fields set since they were last applied are changed; its
        ``linearVelocity`` is that of the centre of mass of the body, as in Webots. The pose of
        the end point of a joint belongs to the present joint positions.
        """
        if node in self._model.floating:
            self._throw(node)
        elif node in self._model.around:
            frame = self._model.around[node].inner(node)
            body, compiled = self._model.bodies[node], self._model.compiled
            compiled.body_pos[body], compiled.body_quat[body] = frame.origin, wxyz(frame.R)
        else:
            for degree in self._model.degrees:
                joint, number = degree.key
                if node.parent is joint and node.parent_field == "endPoint":
                    self._references[node, number] = float(self._data.qpos[degree.qpos])
            self.rebuild()
        self._engine.settle()

    def rebuild(self) -> None:
        """Apply added and removed nodes and changed fields; other bodies keep their motion.

        A position that was written to the parameters of a joint becomes the present one.
        """
        self._load(
            {
                key: (self._data.qpos[qpos].copy(), self._data.qvel[dof].copy())
                for key, (qpos, dof) in self._addresses().items()
            }
        )

    def _load(self, states: Mapping[object, State]) -> None:
        """Build the model, and restore the states that are given."""
        gravity = np.array(up_and_gravity(self._world.world_info)[1])
        substep_s = self._step_s / self._substeps
        self._model = model = build(self._world, gravity, substep_s, self._references)
        self._engine = Engine(model.compiled, _ADVICE)
        self._data = data = self._engine.data
        self.notices = model.notices
        bodies = {*model.floating, *model.damped}
        self._masses = {node: body_mass(node) for node in bodies if node.is_a("Solid")}
        for degree in model.degrees:
            data.qpos[degree.qpos] = degree.written
        self._engine.forward()
        for key, (qpos, dof) in self._addresses().items():
            if key in states:
                data.qpos[qpos], data.qvel[dof] = states[key]
        for node in model.floating:
            if node not in states and node.is_a("Solid"):
                self._thrown.pop(node, None)
                self._throw(node)
        self._load_motors()
        self._engine.settle()

    def _load_motors(self) -> None:
        """Create the drives of all motors; existing ones keep their commands."""
        degrees = self._model.degrees
        self._positions = {node: each.qpos for each in degrees for node in each.devices}
        motors = [node for node in self._positions if node.is_a("Motor")]
        self._coupled = coupled_motors(motors)
        drives, self._drives, self._by_motor = self._drives, {}, {}
        for degree in degrees:
            if degree.rotor >= 0:
                node = next((device for device in degree.devices if device in motors), None)
                key = degree.key, degree.written
                drive = self._drives[key] = Drive(degree, node, self._data, drives.get(key))
                drive.grip(self._model.compiled, self._data)
                if node is not None:
                    self._by_motor[node] = drive

    def _addresses(self) -> dict[object, tuple[slice, slice]]:
        """Return the addresses of positions and velocities of all joints."""
        addresses: dict[object, tuple[slice, slice]] = dict(self._model.floating.items())
        for key, written, _, qpos, dof, *_ in self._model.degrees:
            addresses[key, written] = slice(qpos, qpos + 1), slice(dof, dof + 1)
        return addresses

    def _site(self, node: Node) -> int:
        site = self._model.sites.get(node)
        if site is None:
            raise DeviceError(
                f"expected a node with a place in the world, got {node} (line {node.line})"
            )
        return site

    def _state(self, node: Node) -> Movement:
        """Return axes (3, 3) and origin of a node, as copies."""
        return self._engine.state(self._site(node))

    def _throw(self, solid: Node) -> None:
        """Apply pose and velocity fields of a floating Solid that were set since the last call."""
        values = [solid.fields.get(field) for field in _PLACES]
        before = self._thrown.get(solid, [...] * 4)
        new = [value is not old for value, old in zip(values, before, strict=True)]
        self._thrown[solid] = values
        frame = self._model.around[solid].inner(solid)
        center = self._masses[solid].center
        R, origin = self._state(solid)
        velocity, rate = origin.velocity_at(R @ center), origin.angular_velocity
        position = frame.origin if new[0] else origin.position
        R = frame.R if new[1] else R
        velocity = np.array(solid.vector("linearVelocity")) if new[2] else velocity
        rate = np.array(solid.vector("angularVelocity")) if new[3] else rate
        qpos, dof = self._model.floating[solid]
        self._data.qpos[qpos] = (*position, *wxyz(R))
        self._data.qvel[dof] = (*(velocity - cross(rate, R @ center)), *(R.T @ rate))

    def _push(self) -> None:
        """Apply damping and the thrust of propellers for the next step."""
        data, bodies = self._data, self._model.bodies
        wrenches = data.xfrc_applied
        wrenches[:] = 0.0
        for solid, shares in self._model.damped.items():
            own = bodies[solid]
            wrenches[own] += brake(
                self._state(solid), self._masses[solid], data.xipos[own], shares, self._step_s
            )
        for node, (solid, frame) in self._model.propellers.items():
            motor, own = node.node("device"), bodies[solid]
            if motor in self._by_motor:
                drive, movement = self._by_motor[motor], self._state(solid)
                wrenches[own] += thrust(node, frame, drive, movement, data.xipos[own])
