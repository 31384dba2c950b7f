"""Joints and motors of a world in a MuJoCo specification.

A motor is velocity controlled with a limited force, as in the engine of Webots. MuJoCo's dry
friction does exactly that, with a target velocity of zero: so each motor has a heavy rotor that
runs at the commanded velocity, and dry friction of ``maxTorque`` couples the joint to it. It holds
any load within its force without a steady-state error, regardless of the inertia.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.webots.scene.joints import rotation_matrix

if TYPE_CHECKING:
    from types import ModuleType

    from mujoco import MjModel, MjSpec
    from mujoco._specs import MjsBody, MjsJoint, MjsTendon  # its types have no other home

    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.joints import Joint, JointAxis
    from strapdown.webots.scene.linkage import Axis
    from strapdown.webots.scene.shapes import Frame

__all__ = ["HINGED", "ROTOR", "Degree", "Freedom", "Joints"]

ROTOR: Final = 1e6
"""Inertia of axes that move as commanded, regardless of the load [kg m^2 or kg]."""

HINGED: Final = frozenset({"HingeJoint", "BallJoint", "Hinge2Joint"})
"""Joints that can close a loop: they hold a point, a HingeJoint a line."""

_MOTE: Final = 1e-9  # negligible mass for bodies that need one
_LINE: Final = 0.1  # m, between the points that hold a line
_STIFF: Final = 0.9999  # impedance of dry friction and stops: the share of a true constraint
_FIRM: Final = [_STIFF, _STIFF, 1.0, 0.5, 2.0]


class Degree(NamedTuple):
    """Axis of a joint, or of a motor without a joint."""

    key: Axis
    written: float
    """Position in its parameters [rad or m]."""
    devices: list[Node]
    qpos: int
    """Address of the position."""
    dof: int
    """Address of the velocity."""
    tendon: int
    """Tendon whose friction is the force of the motor; -1: no motor."""
    rotor: int
    """Address of the velocity of the motor's rotor; that of the axis itself, where the end point
    has no Physics and moves as commanded; -1 for an axis that nothing drives."""


class Freedom(NamedTuple):
    """Degree of freedom before its addresses are known."""

    key: Axis
    axis: JointAxis
    joint: MjsJoint
    tendon: MjsTendon | None = None
    rotor: MjsJoint | None = None

    def degree(self, model: MjModel) -> Degree:
        """Return the Degree with its addresses in a model."""
        return Degree(
            self.key,
            self.axis.position,
            self.axis.devices,
            model.jnt_qposadr[self.joint.id],
            model.jnt_dofadr[self.joint.id],
            -1 if self.tendon is None else self.tendon.id,
            -1 if self.rotor is None else model.jnt_dofadr[self.rotor.id],
        )


class Joints:
    """Adds joints and motors to a specification.

    Parameters
    ----------
    mujoco : module
    spec : mujoco.MjSpec
    substep_s : float
        Time step of the model [s].
    references : dict
        Positions at which end points have the poses in their fields, by end point and number of the
        axis; missing ones are added from the parameters of the joint.
    """

    def __init__(
        self, mujoco: ModuleType, spec: MjSpec, substep_s: float, references: dict[Axis, float]
    ) -> None:
        self.freedoms: list[Freedom] = []
        """Axes that were added."""
        self._mujoco = mujoco
        self._kinds = mujoco.mjtJoint
        self._spec = spec
        self._at_once = [0.0, -_STIFF / substep_s]  # dry friction stops a slip in one substep
        self._stop_at = [2.5 * substep_s, 1.0]
        self._references = references
        self._names = 0

    def lead(self, key: Axis, axis: JointAxis) -> None:
        """Add an axis that holds no body and moves as its motor commands."""
        rotor = self._rotor()
        self.freedoms.append(Freedom(key, axis, rotor, rotor=rotor))

    def hold(
        self, node: Node, joint: Joint, end: Node, body: MjsBody, outer: Frame
    ) -> MjsJoint | None:
        """Add a joint that holds a body.

        Parameters
        ----------
        node : Node
            The joint.
        joint : Joint
            Content of the joint node.
        end : Node
            The Solid of the body.
        body : mujoco.MjsBody
        outer : Frame
            Frame around the joint, on the body above.

        Returns
        -------
        mujoco.MjsJoint or None
            The joint, if it is a ball joint without devices: it has no separate axes.
        """
        frame = outer.inner(end)
        anchor = frame.R.T @ (outer.point(joint.anchor) - frame.origin)
        has_physics = end.node("physics") is not None
        if not has_physics:
            body.explicitinertial = True
            body.mass, body.inertia = _MOTE, [_MOTE] * 3
        passive = not any(axis.devices for axis in joint.axes)
        if node.type == "BallJoint" and has_physics and passive:
            ball = body.add_joint(type=self._kinds.mjJNT_BALL, pos=anchor)
            self._resist(ball, joint.axes[0].parameters)
            return ball
        R = frame.R.T @ outer.R
        for number, axis in enumerate(joint.axes):
            reference = self._references.setdefault((end, number), axis.position)
            own = self._add(body, R @ axis.axis, slides=axis.slides)
            own.pos, own.ref = anchor, reference
            R = R @ rotation_matrix(axis.axis, reference)
            if has_physics:
                self._resist(own, axis.parameters or joint.axes[0].parameters)
                self._stop(own, axis.parameters)
                freedom = self._motorised(Freedom((node, number), axis, own))
            else:
                own.armature = ROTOR
                freedom = Freedom((node, number), axis, own, rotor=own)
            self.freedoms.append(freedom)
        return None

    def close(self, node: Node, joint: Joint, outer: Frame, body: str, other: str) -> None:
        """Hold two bodies together at the anchor of a joint, and along the axis of a HingeJoint.

        The second axis of a Hinge2Joint is not held: it acts as a BallJoint.

        Parameters
        ----------
        node, joint
            As for :meth:`hold`.
        outer : Frame
            Frame around the joint, on ``body``.
        body, other : str
            Names of the bodies.
        """
        points = [np.array(joint.anchor)]
        if node.type == "HingeJoint":
            points.append(joint.anchor + _LINE * joint.axes[0].axis)
        for point in points:
            held = self._spec.add_equality()
            held.type, held.objtype = (
                self._mujoco.mjtEq.mjEQ_CONNECT,
                self._mujoco.mjtObj.mjOBJ_BODY,
            )
            held.name1, held.name2 = body, other
            held.data[:3] = outer.point(point)
            held.solref, held.solimp = [*self._stop_at], _FIRM

    def _add(self, body: MjsBody, direction: FloatArray, *, slides: bool) -> MjsJoint:
        self._names += 1
        return body.add_joint(
            name=f"joint {self._names}",
            type=self._kinds.mjJNT_SLIDE if slides else self._kinds.mjJNT_HINGE,
            axis=direction,
        )

    def _rotor(self) -> MjsJoint:
        body = self._spec.worldbody.add_body(mass=_MOTE, inertia=[_MOTE] * 3)
        joint = self._add(body, np.array([0.0, 0.0, 1.0]), slides=False)
        joint.armature = ROTOR
        return joint

    def _motorised(self, freedom: Freedom) -> Freedom:
        """Add the rotor of a motor, if the axis has one."""
        if not any(device.is_a("Motor") for device in freedom.axis.devices):
            return freedom
        rotor = self._rotor()
        tendon = self._spec.add_tendon(name=f"motor of {freedom.joint.name}")
        tendon.wrap_joint(freedom.joint.name, 1.0)
        tendon.wrap_joint(rotor.name, -1.0)
        tendon.frictionloss = 1.0  # replaced by the motor before the first step
        tendon.solref_friction, tendon.solimp_friction = self._at_once, _FIRM
        return freedom._replace(tendon=tendon, rotor=rotor)

    def _resist(self, joint: MjsJoint, parameters: Node | None) -> None:
        """Add spring, damper and dry friction; the spring rests at position zero."""
        if parameters is None:
            return
        joint.stiffness = [parameters.number("springConstant"), 0.0, 0.0]  # linear only
        joint.damping = [parameters.number("dampingConstant"), 0.0, 0.0]
        joint.frictionloss = parameters.number("staticFriction")
        joint.solref_friction, joint.solimp_friction = self._at_once, _FIRM

    def _stop(self, joint: MjsJoint, parameters: Node | None) -> None:
        low, high = map(parameters.number, ("minStop", "maxStop")) if parameters else (0.0, 0.0)
        if low < high:
            joint.limited, joint.range = True, [low, high]
            joint.solref_limit, joint.solimp_limit = self._stop_at, _FIRM
