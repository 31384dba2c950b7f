"""A world as a MuJoCo model.

Every Solid is a MuJoCo body; MuJoCo welds those without a joint between them. Every node with a
pose is a site. Joints and motors are added by :mod:`strapdown.webots.scene.physics_joints`,
contacts by :mod:`strapdown.webots.scene.contacts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.geometry import quaternion
from strapdown.motion.engine import backend
from strapdown.webots.scene.contacts import IMPRATIO, Surface, add_contacts, compile_model, unmapped
from strapdown.webots.scene.joints import JOINTS, JointAxis, read_joint
from strapdown.webots.scene.mass import solid_mass
from strapdown.webots.scene.physics_joints import HINGED, ROTOR, Joints
from strapdown.webots.scene.shapes import Frame, children, shapes_of

if TYPE_CHECKING:
    from mujoco import MjModel
    from mujoco._specs import MjsBody, MjsJoint, MjsSite  # its types have no other home

    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.scene.linkage import Axis
    from strapdown.webots.scene.physics_joints import Degree
    from strapdown.webots.scene.shapes import Shape

__all__ = ["Model", "build", "wxyz"]

_HOLDERS: Final = frozenset({"Connector", "VacuumGripper"})
_STATIC: Final = "<static environment>"
_SUSPENSION: Final = ("suspensionSpringConstant", "suspensionDampingConstant")


@dataclass(frozen=True)
class Model:
    """A compiled model, and the addresses of the world's nodes in it."""

    compiled: MjModel
    sites: dict[Node, int]
    bodies: dict[Node, int]
    floating: dict[Node, tuple[slice, slice]]
    """Addresses of position and velocity of floating Solids, and of ball joints."""
    around: dict[Node, Frame]
    """Parent frames: of Solids fixed to the world, in the Solid above each, and of floating
    Solids."""
    degrees: list[Degree]
    damped: dict[Node, tuple[float, float]]
    """Shares of linear and angular velocity that bodies lose per second."""
    propellers: dict[Node, tuple[Node, Frame]]
    """Propellers with the Solids that they push, and their frames on these."""
    notices: list[str]
    """Content of the world that is not simulated, one line each."""


class _Host(NamedTuple):
    """The body that a node is fixed to, and its relations."""

    body: MjsBody
    solid: Node | None = None
    assembly: Node | None = None
    neighbour: Node | None = None
    robot: Node | None = None
    moves: bool = False
    stands: bool = True
    """Whether it is fixed to the world, without a joint in between."""


def wxyz(R: FloatArray) -> FloatArray:
    """Return the quaternion (4,) of a matrix (3, 3) in MuJoCo's order w, x, y, z."""
    return quaternion.to_wxyz(quaternion.from_matrix(R))


def build(
    world: WorldFile,
    gravity_world: FloatArray,
    substep_s: float,
    references: dict[Axis, float],
) -> Model:
    """Return the model of a world.

    Parameters
    ----------
    world : WorldFile
    gravity_world : (3,)
        [m/s^2], points down.
    substep_s : float
        Time step of the model [s].
    references : dict
        Positions at which end points have the poses in their fields, by end point and number of the
        axis; missing ones are added from the parameters of the joint.

    Raises
    ------
    BackendMissingError
        MuJoCo is not installed.
    ValueRangeError
        MuJoCo refuses a size, mass or inertia; its words are in the message.
    """
    return _Builder(world, gravity_world, substep_s, references).model()


class _Builder:
    """Builds a MuJoCo specification from the nodes of a world."""

    def __init__(
        self,
        world: WorldFile,
        gravity_world: FloatArray,
        substep_s: float,
        references: dict[Axis, float],
    ) -> None:
        self._mujoco = mujoco = backend("the physics of Webots worlds")
        self._spec = mujoco.MjSpec()
        self._substep_s = substep_s
        self._joints = Joints(mujoco, self._spec, substep_s, references)
        self._info = world.world_info
        self._sites: dict[Node, MjsSite] = {}
        self._bodies: dict[Node, MjsBody] = {}
        self._floating: dict[Node, tuple[MjsJoint, int, int]] = {}
        self._around: dict[Node, Frame] = {}
        self._surfaces: list[Surface] = []
        self._hosts: dict[Node, _Host] = {}
        self._loops: list[tuple[Node, _Host, Frame]] = []
        self._damped: dict[Node, tuple[float, float]] = {}
        self._propellers: dict[Node, tuple[Node, Frame]] = {}
        self._notices: dict[str, None] = {}  # an ordered set
        self._set_options(gravity_world)
        for node in world.nodes:
            self._node(node, _Host(self._spec.worldbody), Frame())
        driven = {device for each in self._joints.freedoms for device in each.axis.devices}
        for node in world.walk():
            if node.is_a("Motor") and node not in driven:  # of a propeller or a track
                alone = JointAxis(np.zeros(3), slides=False, parameters=None, devices=[node])
                self._joints.lead((node, 0), alone)
        rules = self._info.nodes("contactProperties")
        joined = [self._close(*loop) for loop in self._loops]
        add_contacts(self._spec, self._surfaces, rules, substep_s, joined)
        for rule in rules:
            for what in unmapped(rule):
                self._leave_out(rule, what)
        if self._info.text("physics"):
            self._leave_out(self._info, "physics plugin")

    def model(self) -> Model:
        """Return the compiled model."""
        compiled = compile_model(self._spec)
        free = compiled.dof_armature < ROTOR
        if free.any():  # scale of the solver's tolerance
            compiled.stat.meaninertia = float(compiled.dof_M0[free].mean())
        qpos, dof = compiled.jnt_qposadr, compiled.jnt_dofadr
        return Model(
            compiled,
            {node: site.id for node, site in self._sites.items()},
            {node: body.id for node, body in self._bodies.items()},
            {
                node: (
                    slice(qpos[joint.id], qpos[joint.id] + nq),
                    slice(dof[joint.id], dof[joint.id] + nv),
                )
                for node, (joint, nq, nv) in self._floating.items()
            },
            self._around,
            [freedom.degree(compiled) for freedom in self._joints.freedoms],
            self._damped,
            self._propellers,
            list(self._notices),
        )

    def _set_options(self, gravity_world: FloatArray) -> None:
        mujoco = self._mujoco
        self._spec.compiler.degree = False
        self._spec.compiler.inertiafromgeom = False
        option = self._spec.option
        option.timestep = self._substep_s
        option.gravity = gravity_world
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICIT  # fast spin stays stable
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = IMPRATIO
        option.tolerance = 1e-16
        option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_DIAGEXACT)  # true mass at contacts

    def _node(self, node: Node, host: _Host, outer: Frame) -> None:
        """Add a node and its descendants; ``outer`` is the frame around it on its host."""
        if node.type in JOINTS:
            self._joint(node, host, outer)
        elif node.is_a("Solid"):
            self._solid(node, host, outer)
        elif node.type == "Propeller":
            self._propeller(node, host, outer)
        else:
            frame = outer.inner(node)
            if node.is_a("Pose"):
                self._site(node, host, frame)
            for child in children(node):
                self._node(child, host, frame)

    def _site(self, node: Node, host: _Host, frame: Frame) -> None:
        self._sites[node] = host.body.add_site(pos=frame.origin, quat=wxyz(frame.R))

    def _solid(self, solid: Node, host: _Host, outer: Frame, joint: Node | None = None) -> _Host:
        """Add a Solid and its descendants; ``joint`` holds it, if given."""
        frame = outer.inner(solid)
        body = host.body.add_body(pos=frame.origin, quat=wxyz(frame.R))
        body.name = f"body {len(self._bodies)}"
        self._bodies[solid] = body
        has_physics = solid.node("physics") is not None
        floats = has_physics and host.solid is None and joint is None
        starts = floats or joint is not None
        inner = _Host(
            body,
            solid,
            solid if starts or host.assembly is None else host.assembly,
            host.assembly if starts else host.neighbour,
            host.robot or (solid if solid.is_a("Robot") else None),
            moves=host.moves or (starts and has_physics),
            stands=host.stands and not starts,
        )
        self._hosts[solid] = inner
        if floats:
            self._floating[solid] = (body.add_freejoint(), 7, 6)
        if floats or inner.stands:
            self._around[solid] = outer
        if inner.moves:
            self._mass(solid, body)
        if starts and has_physics:
            self._damping(solid)
        if solid.type in _HOLDERS:
            self._leave_out(solid, "holding")
        for shape in shapes_of(solid):
            self._shape(solid, shape, inner)
        self._site(solid, inner, Frame())
        for child in children(solid):
            self._node(child, inner, Frame())
        return inner

    def _mass(self, solid: Node, body: MjsBody) -> None:
        body.explicitinertial = True
        own, physics = solid_mass(solid), solid.node("physics")
        if own is None or physics is None:
            return
        if not physics.vectors("inertiaMatrix") and not any(s.size for s in shapes_of(solid)):
            self._leave_out(
                solid,
                "bounding object of a body with Physics (none: its inertia is the identity)",
            )
        body.mass, body.ipos = own.mass, own.center
        body.fullinertia = own.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

    def _damping(self, solid: Node) -> None:
        physics = solid.node("physics")
        damping = (physics and physics.node("damping")) or self._info.node("defaultDamping")
        if damping:
            linear, angular = map(damping.number, ("linear", "angular"))
            self._damped[solid] = (min(max(linear, 0.0), 1.0), min(max(angular, 0.0), 1.0))

    def _shape(self, solid: Node, shape: Shape, host: _Host) -> None:
        size: tuple[float, ...]
        match shape.kind, shape.size:
            case "Box", (x, y, z):
                size = (0.5 * x, 0.5 * y, 0.5 * z)
            case "Sphere", (radius,):
                size = (radius, 0.0, 0.0)
            case "Cylinder" | "Capsule", (radius, height):
                size = (radius, 0.5 * height, 0.0)
            case "Plane", _ if host.stands:
                size = (0.0, 0.0, 1.0)  # infinite
            case _:
                self._leave_out(solid, f"{shape.kind} as bounding object")
                return
        name = f"geom {len(self._surfaces)}"
        geom = host.body.add_geom(
            name=name,
            type=getattr(self._mujoco.mjtGeom, "mjGEOM_" + shape.kind.upper()),
            size=size,
            pos=shape.frame.origin,
            quat=wxyz(shape.frame.R),
        )
        geom.contype = geom.conaffinity = 0  # only the pairs that are listed
        material = solid.text("contactMaterial")
        self._surfaces.append(
            Surface(geom, material, host.assembly, host.neighbour, host.robot, host.moves)
        )

    def _propeller(self, node: Node, host: _Host, outer: Frame) -> None:
        if host.solid is not None and host.moves:
            self._propellers[node] = (host.solid, outer)
        else:
            self._leave_out(node, "thrust on a Solid without Physics")

    def _joint(self, node: Node, host: _Host, outer: Frame) -> None:
        joint = read_joint(node)
        end = joint.end
        while end is not None and end.type == "Slot":
            end = end.node("endPoint")
        if end is None or not end.is_a("Solid"):
            if end is not None and end.type == "SolidReference" and node.type in HINGED:
                self._loops.append((node, host, outer))
            elif end is not None:
                self._leave_out(end, f"as the end of a {node.type}")
            for number, axis in enumerate(joint.axes):
                self._joints.lead((node, number), axis)
            return
        body = self._solid(end, host, outer, node).body
        floating = self._joints.hold(node, joint, end, body, outer)
        if floating is not None:
            self._floating[node] = (floating, 4, 3)
        first = joint.axes[0].parameters
        if first and first.type == "HingeJointParameters" and any(map(first.number, _SUSPENSION)):
            self._leave_out(first, "suspension")

    def _close(self, node: Node, host: _Host, outer: Frame) -> frozenset[Node | None]:
        """Close a loop: hold the Solid that a joint refers to; return the assemblies it joins."""
        joint = read_joint(node)
        name = joint.end.text("solidName") if joint.end is not None else ""
        other = _Host(self._spec.worldbody)
        if name != _STATIC:
            top = [each for each in (node, *node.ancestors()) if each.is_a("Solid")][-1:]
            solids = (each for root in top for each in root.walk() if each in self._hosts)
            found = next((each for each in solids if each.text("name") == name), None)
            if found is None:
                self._leave_out(node, f"SolidReference to {name!r}, which the Robot does not have")
                return frozenset()
            other = self._hosts[found]
        if not (host.moves or other.moves):
            return frozenset()
        self._joints.close(node, joint, outer, host.body.name, other.body.name)
        if any(axis.devices for axis in joint.axes):
            self._leave_out(node, "devices of a joint with a SolidReference")
        return frozenset({host.assembly, other.assembly})

    def _leave_out(self, node: Node, what: str) -> None:
        """Add a notice about content of the world that is not simulated."""
        named = node.fields.get("name")
        label = f" {named!r}" if isinstance(named, str) else ""
        self._notices[f"{node.type}{label}: line {node.line}: {what}: not simulated"] = None
