"""Forces on the bodies of a world during a step: motors, damping, propellers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.motion.links import cross
from strapdown.webots.scene.joints import unit_vector
from strapdown.webots.scene.motors import MotorState
from strapdown.webots.scene.physics_joints import ROTOR

if TYPE_CHECKING:
    import mujoco

    from strapdown._typing import FloatArray
    from strapdown.motion.links import PointStates
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.mass import MassProperties
    from strapdown.webots.scene.physics_joints import Degree
    from strapdown.webots.scene.shapes import Frame

    Movement: TypeAlias = "tuple[FloatArray, PointStates]"
    """Motion of a frame in the world: axes (3, 3) and origin."""

__all__ = ["Drive", "brake", "thrust"]

_MOST_FORCE: Final = 1e12  # in place of an unlimited one


class Drive:
    """Drive of a joint axis, in basic steps.

    Parameters
    ----------
    degree : Degree
        The axis, with a rotor.
    motor : Node or None
        Motor that commands it; without one, the axis keeps its position.
    data : mujoco.MjData
        The present state.
    before : Drive, optional
        The drive of this axis in the previous model; the same motor keeps its commands.
    """

    def __init__(
        self, degree: Degree, motor: Node | None, data: mujoco.MjData, before: Drive | None
    ) -> None:
        self._degree = degree
        self._position = float(data.qpos[degree.qpos])
        self.velocity: float = before.velocity if before else 0.0
        """Present velocity of the rotor [rad/s or m/s]."""
        self.motor: MotorState | None = None
        if before and before.motor and before.motor.node is motor:
            self.motor = before.motor
            self.motor.configure()
        elif motor is not None:
            self.motor = MotorState(motor, self._position)

    def begin(self, model: mujoco.MjModel, data: mujoco.MjData, step_s: float) -> None:
        """Set velocity and forces for the next step."""
        degree, motor = self._degree, self.motor
        position = float(data.qpos[degree.qpos])
        begin = end = 0.0
        if motor is not None and motor.force is None:
            begin, end = motor.step(position, self.velocity, step_s)
        data.qvel[degree.rotor] = begin
        data.qfrc_applied[degree.rotor] = ROTOR * (end - begin) / step_s
        self._position = position + 0.5 * (begin + end) * step_s
        self.velocity = end
        if motor is not None and motor.force is not None:
            self.velocity = float(data.qvel[degree.dof])
        self.grip(model, data)

    def grip(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Set the commanded force, and the friction that couples the rotor to the joint."""
        if self.motor is None or self._degree.tendon < 0:
            return
        force, limit = self.motor.force, min(self.motor.available_force, _MOST_FORCE)
        model.tendon_frictionloss[self._degree.tendon] = limit if force is None else 0.0
        data.qfrc_applied[self._degree.dof] = force or 0.0

    def end(self, data: mujoco.MjData) -> None:
        """Set an axis without Physics exactly to its commanded state."""
        if self._degree.rotor == self._degree.dof:
            data.qpos[self._degree.qpos] = self._position
            data.qvel[self._degree.dof] = self.velocity


def brake(
    movement: Movement,
    own: MassProperties,
    point: FloatArray,
    shares: tuple[float, float],
    step_s: float,
) -> FloatArray:
    """Return force and torque (6,) that remove a share of the velocities of a body per second.

    Parameters
    ----------
    movement : Movement
        Motion of the body's frame.
    own : MassProperties
        Mass of the body, in its frame.
    point : (3,)
        Point at which the force acts.
    shares : (float, float)
        Shares of linear and angular velocity that are lost per second.
    step_s : float
        Duration of the force: a body without other forces loses exactly its share.
    """
    R, origin = movement
    linear, angular = ((1.0 - (1.0 - share) ** step_s) / step_s for share in shares)
    lever = R @ own.center
    force = -own.mass * linear * origin.velocity_at(lever)
    torque = -angular * (R @ (own.inertia @ (R.T @ origin.angular_velocity)))
    return _wrench(force, torque, origin.position + lever - point)


def thrust(
    node: Node, frame: Frame, drive: Drive, movement: Movement, point: FloatArray
) -> FloatArray:
    """Return force and torque (6,) of a Propeller.

    Thrust is ``t1 |w| w - t2 |w| V`` along its axis, and the torque against it, at most
    ``maxTorque`` of the motor, ``q1 |w| w - q2 |w| V``; V is the velocity of the centre of thrust
    along the axis, w that of the motor (Webots reference manual, Propeller).

    Parameters
    ----------
    node : Node
        A Propeller.
    frame : Frame
        Frame around the Propeller, on the Solid that it pushes.
    drive : Drive
        Drive of its motor.
    movement : Movement
        Motion of the Solid.
    point : (3,)
        Point at which the force acts.
    """
    R, origin = movement
    axis = R @ frame.R @ unit_vector(node.vector("shaftAxis"))
    lever = R @ frame.point(node.vector("centerOfThrust"))
    advance = float(axis @ origin.velocity_at(lever))
    spin = drive.velocity
    t1, t2 = node.vector("thrustConstants")
    q1, q2 = node.vector("torqueConstants")
    force = axis * abs(spin) * (t1 * spin - t2 * advance)
    torque = abs(spin) * (q1 * spin - q2 * advance)
    if drive.motor is not None:
        torque = min(max(torque, -drive.motor.max_force), drive.motor.max_force)
    return _wrench(force, -torque * axis, origin.position + lever - point)


def _wrench(force: FloatArray, torque: FloatArray, arm: FloatArray) -> FloatArray:
    """Return force and torque (6,) about a point, for a force that acts at an arm from it."""
    return np.concatenate((force, torque + cross(arm, force)))
