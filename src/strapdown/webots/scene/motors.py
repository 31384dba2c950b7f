"""Motor commands, and the velocity that a motor aims at in each step.

Physics and kinematics share this: physics uses the velocity as the target of an actuator,
kinematics as the velocity of the joint.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.motion.joint_laws import REACHED, approach, ramp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strapdown.webots.file.node import Node

__all__ = ["COUPLED_COMMANDS", "MotorState", "coupled_motors"]

COUPLED_COMMANDS: Final = frozenset({"position", "velocity", "force", "torque"})
"""Commands that one of several coupled motors passes on to the others."""

_LOOSE = math.inf  # gain of a loop that may close its error within one step


class MotorState:
    """State of a motor with its commands; positions are those of its joint [rad or m].

    Position control sets a velocity proportional to the error (``controlPID``; only the first
    gain is used), limited to the commanded velocity. An infinite target position is velocity
    control, which stops at ``minPosition`` and ``maxPosition``. Both never overshoot their stop,
    and change velocity within ``acceleration``.

    Parameters
    ----------
    node : Node
        A RotationalMotor or LinearMotor.
    position : float
        Position of its joint; the first target.
    """

    def __init__(self, node: Node, position: float) -> None:
        self.node = node
        self.configure()
        self.target_position = position
        self.target_velocity = self.max_velocity
        self.available_force = self.max_force
        """Largest force, at most ``maxForce`` [N] or ``maxTorque`` [N m]."""
        self.force: float | None = None
        """The commanded force or torque; None where position or velocity is controlled."""

    def configure(self) -> None:
        """Read the fields of the node."""
        number = self.node.number
        self.max_force = number("maxForce" if self.node.type == "LinearMotor" else "maxTorque")
        self.max_velocity = abs(number("maxVelocity"))
        limit = number("acceleration")
        self.max_acceleration = limit if limit >= 0.0 else math.inf
        self.gain = self.node.vector("controlPID")[0]
        self.multiplier = number("multiplier")
        low, high = number("minPosition"), number("maxPosition")
        self.limits = (-math.inf, math.inf) if low == high else (low, high)

    def command(self, command: str, value: tuple[float, ...]) -> str:
        """Execute a command of ``Scene.command``; return a warning, or an empty text.

        Webots limits a target velocity to ``maxVelocity``, and a target position to
        ``minPosition`` ... ``maxPosition``. The warnings have Webots' wording.
        """
        number = value[0]
        match command:
            case "position":
                return self._aim(number)
            case "velocity":
                return self._run(number * self.multiplier)
            case "acceleration":
                self.node.set("acceleration", number)
                self.configure()
            case "pid":
                self.node.set("controlPID", value)
                self.configure()
            case "available_force":
                self.available_force = min(max(number, 0.0), self.max_force)
            case _:  # force, torque
                limit = self.available_force
                self.force = min(max(number * self.multiplier, -limit), limit)
        return ""

    def step(self, position: float, velocity: float, step_s: float) -> tuple[float, float]:
        """Return the velocity at the start and end of the next step; it is linear in between."""
        goal, gain = self._goal()
        wanted = self.target_velocity
        if math.isfinite(goal):
            wanted = approach(
                goal - position,
                velocity,
                step_s,
                gain=gain,
                max_velocity=abs(wanted),
                max_acceleration=self.max_acceleration,
            )
        return ramp(velocity, wanted, self.max_acceleration * step_s)

    def is_steady(self, position: float, velocity: float) -> bool:
        """Return whether the velocity stays constant in all steps until the next command."""
        goal, _ = self._goal()
        if math.isinf(goal):
            return velocity == self.target_velocity
        return velocity == 0.0 and (self.target_velocity == 0.0 or abs(goal - position) <= REACHED)

    def _goal(self) -> tuple[float, float]:
        """Return the position at which the motor stops, or infinity, and the gain toward it."""
        if math.isfinite(self.target_position):
            return self.target_position, self.gain
        return self.limits[self.target_velocity >= 0.0], _LOOSE

    def _aim(self, position: float) -> str:
        self.force = None
        self.target_position = position
        if math.isinf(position):
            return ""
        wanted = position * self.multiplier
        low, high = self.limits
        self.target_position = min(max(wanted, low), high)
        if wanted > high:
            return f"too big requested position: {position:g} > {high:g}"
        if wanted < low:
            return f"too low requested position: {position:g} < {low:g}"
        return ""

    def _run(self, velocity: float) -> str:
        limit = self.max_velocity
        self.target_velocity = min(max(velocity, -limit), limit)
        if abs(velocity) > limit:
            return f"The requested velocity {velocity:g} exceeds 'maxVelocity' = {limit:g}."
        return ""


def coupled_motors(motors: Iterable[Node]) -> dict[Node, list[Node]]:
    """Return for each motor all motors that follow its commands, in order, including itself.

    Motors of one robot are coupled if their names are ``name::specifier`` with the same name.
    """
    groups: dict[tuple[Node | None, str | Node], list[Node]] = {}
    keys: dict[Node, tuple[Node | None, str | Node]] = {}
    for motor in motors:
        robot = next((node for node in motor.ancestors() if node.is_a("Robot")), None)
        name, *specifier = motor.text("name").split("::")
        keys[motor] = key = (robot, name if len(specifier) == 1 else motor)
        groups.setdefault(key, []).append(motor)
    return {motor: groups[key] for motor, key in keys.items()}
