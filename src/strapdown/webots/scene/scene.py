"""Interface of the simulation of bodies, by kinematics or physics, to the world.

Time is a whole number of basic steps: state k is at ``k * step_s``. States ahead of the present
one can be requested from a scene. They are valid as long as nothing is commanded or changed;
:meth:`Scene.commit` sets the number of them that have passed, and discards the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.webots.file.vrml import Node

__all__ = ["BodyStates", "Horizon", "Scene"]


class BodyStates(NamedTuple):
    """A frame (axes and origin of a node) at N instants; all vectors in world axes.

    Accelerations are NaN where the scene does not know them.
    """

    R_world_from_body: FloatArray
    """(N, 3, 3); its columns are the axes of the frame in the world."""
    position: FloatArray
    """(N, 3), of the frame's origin [m]."""
    velocity: FloatArray
    """(N, 3), of the frame's origin, as a point of its rigid body [m/s]."""
    angular_velocity: FloatArray
    """(N, 3) [rad/s]."""
    acceleration: FloatArray
    """(N, 3), of the frame's origin [m/s^2]."""
    angular_acceleration: FloatArray
    """(N, 3) [rad/s^2]."""


class Horizon(Protocol):
    """States ahead of the present one."""

    def states(self, node: Node) -> BodyStates:
        """Return the states of a watched node at the next N steps."""
        ...

    def positions(self, joint_device: Node) -> FloatArray:
        """Return the joint positions (N,) [rad or m] that a PositionSensor or motor has."""
        ...

    def touches(self, solid: Node) -> BoolArray:
        """Return whether a Solid touched another one in the step before each state, (N,)."""
        ...

    def load(self, solid: Node) -> FloatArray:
        """Return the force (N, 3) of a Solid with Physics on the one that holds it [N, world]."""
        ...


class Scene(Protocol):
    """Moves the bodies of a world in basic steps."""

    lookahead: int
    """Largest number of states ahead: 1 for a scene that has to step to look ahead."""

    def watch(self, node: Node) -> None:
        """Include a node with a pose (a sensor, a Solid) in the states of horizons."""
        ...

    def ahead(self, count: int) -> Horizon:
        """Return the next ``count`` states (1 ... lookahead) under the current commands."""
        ...

    def commit(self, count: int) -> None:
        """Make the state ``count`` steps ahead the present one; 0 only discards the horizon.

        Called before anything is commanded or changed. ``count`` is at most that of the
        last :meth:`ahead`. A scene whose lookahead is 1 is always committed by 1.
        """
        ...

    def present(self, node: Node) -> BodyStates:
        """Return the present state of any node with a pose, as one row."""
        ...

    def position(self, joint_device: Node) -> float:
        """Return the present position of the joint of a PositionSensor or motor."""
        ...

    def command(self, motor: Node, command: str, value: tuple[float, ...]) -> None:
        """Command a motor.

        ``position`` (target; infinity: run at the target velocity), ``velocity`` (target),
        ``acceleration`` (limit), ``force`` and ``torque`` (direct), ``available_force``,
        ``pid`` (three gains).
        """
        ...

    def place(self, node: Node) -> None:
        """Apply fields of a node that were set: translation, rotation, velocities."""
        ...

    def rebuild(self) -> None:
        """Apply added and removed nodes and other changed fields; the rest keeps its state."""
        ...
