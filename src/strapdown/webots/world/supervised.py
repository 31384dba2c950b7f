"""What supervisors ask of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from strapdown.webots.devices.device import RobotState
    from strapdown.webots.file.node import Node
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.profiles import Profile
    from strapdown.webots.scene.scene import Scene

__all__ = ["Supervised"]


class Supervised(Protocol):
    """A world that can be looked at and changed."""

    file: WorldFile
    profile: Profile
    robots: dict[str, RobotState]
    """By name, in the order of the file."""

    @property
    def scene(self) -> Scene:
        """What moves the bodies, brought to the present step."""
        ...

    def warn(self, node: Node, text: str) -> None:
        """Say on stderr what Webots says about a node."""
        ...

    def changed(self, node: Node, field: str) -> None:
        """Take over a field of a node that was set."""
        ...

    def inserted(self, node: Node) -> None:
        """Take over a node that came into the tree, with the robots and devices in it."""
        ...

    def removed(self, node: Node) -> None:
        """Take over that a node went from the tree."""
        ...

    def reset(self) -> None:
        """Begin again at time zero."""
        ...

    def quit(self, status: int = 0) -> None:
        """End the simulation at the present step."""
        ...
