"""Interface of a world to the requests of supervisors."""

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
    """A world that can be read and changed."""

    file: WorldFile
    profile: Profile
    robots: dict[str, RobotState]
    """Robots by name, in the order of the file."""
    resets: int
    """Number of calls of :meth:`reset`."""

    @property
    def scene(self) -> Scene:
        """The scene at the present step."""
        ...

    def warn(self, node: Node, text: str) -> None:
        """Print a warning of Webots about a node on stderr."""
        ...

    def changed(self, node: Node, field: str) -> None:
        """Apply a field of a node that was set."""
        ...

    def inserted(self, node: Node) -> None:
        """Apply a node that was added to the tree, with the robots and devices in it."""
        ...

    def removed(self, node: Node) -> None:
        """Apply the removal of a node from the tree."""
        ...

    def reset(self) -> None:
        """Restart at time zero."""
        ...

    def quit(self, status: int = 0) -> None:
        """End the simulation at the present step."""
        ...
