"""Supervisor: a robot that may change the world."""

from __future__ import annotations

import math
from typing import ClassVar

from strapdown.webots.api.device import Device
from strapdown.webots.api.node import Node
from strapdown.webots.api.robot import Robot

__all__ = ["Supervisor"]


class Supervisor(Robot):
    """A robot whose field ``supervisor`` is TRUE: it may read and change the world.

    It is made as any :class:`Robot`.
    """

    SIMULATION_MODE_PAUSE: ClassVar[int] = 0
    SIMULATION_MODE_REAL_TIME: ClassVar[int] = 1
    SIMULATION_MODE_FAST: ClassVar[int] = 2

    # -- nodes -----------------------------------------------------------------------------------

    def getRoot(self) -> Node | None:
        """Return the root of the scene tree."""
        return self._node(Node(robot=self))

    def getSelf(self) -> Node | None:
        """Return the node of this robot."""
        return self._node(Node(tag=0, robot=self))

    def getFromDef(self, d: str) -> Node | None:
        """Return a node by its ``DEF`` name; ``A.B`` is B inside A."""
        return self._node(Node(DEF=d, robot=self))

    def getFromId(self, id: int) -> Node | None:
        """Return a node by its number."""
        return self._node(Node(id=id, robot=self))

    def getFromDevice(self, tag: int | Device) -> Node | None:
        """Return the node of a device of this robot."""
        number = tag._tag if isinstance(tag, Device) else tag
        return self._node(Node(tag=number, robot=self))

    def getSelected(self) -> Node | None:
        """Return the node that a person has selected: None."""
        return self._node(Node(selected=True, robot=self))

    # -- the simulation --------------------------------------------------------------------------

    def simulationReset(self) -> None:
        """Put the world back to its beginning; controllers go on."""
        self._session.supervise("simulation_reset", "simulation_reset")

    def simulationResetPhysics(self) -> None:
        """Stop all bodies."""
        root = self.getRoot()
        if root is not None:
            root.resetPhysics()

    def simulationQuit(self, status: int) -> None:
        """End the simulation; the next step returns -1."""
        self._session.supervise("simulation_quit", "simulation_quit", status)

    def simulationGetMode(self) -> int:
        """Return the pace, such as :attr:`SIMULATION_MODE_FAST`."""
        return self.simulation_mode

    def simulationSetMode(self, mode: int) -> None:
        """Choose the pace; a world keeps the one that it was started with."""
        self.simulation_mode = mode

    def worldLoad(self, filename: str) -> None:
        """Load another world; this one stays."""
        self._session.inert("Supervisor.worldLoad")

    def worldReload(self) -> None:
        """Load the world anew: as :meth:`simulationReset`."""
        self.simulationReset()

    def worldSave(self, filename: str | None = None) -> bool:
        """Save the world, by default to where it was read from; return whether it could."""
        return bool(self._session.supervise("world_save", "world_save", filename))

    @property
    def simulation_mode(self) -> int:
        """Pace, such as :attr:`SIMULATION_MODE_FAST`."""
        return self.SIMULATION_MODE_FAST

    @simulation_mode.setter
    def simulation_mode(self, mode: int) -> None:
        if mode != self.simulation_mode:
            self._session.inert("Supervisor.simulationSetMode")

    # -- what a person would see -----------------------------------------------------------------

    def setLabel(
        self,
        id: int,
        label: str,
        x: float,
        y: float,
        size: float,
        color: int,
        transparency: float = 0,
        font: str = "Arial",
    ) -> None:
        """Show a text over the view."""

    def exportImage(self, filename: str, quality: int) -> None:
        """Save the view; there is none."""
        self._session.inert("Supervisor.exportImage")

    def movieStartRecording(
        self,
        filename: str,
        width: int,
        height: int,
        codec: int,
        quality: int,
        acceleration: int,
        caption: bool,
    ) -> None:
        """Record the view; there is none."""
        self._session.inert("Supervisor.movieStartRecording")

    def movieStopRecording(self) -> None:
        """Record the view no more."""

    def movieIsReady(self) -> bool:
        """Return whether no movie is being written."""
        return True

    def movieFailed(self) -> bool:
        """Return whether the last movie could not be written."""
        return False

    def animationStartRecording(self, filename: str) -> bool:
        """Record the view as a page; it cannot, and returns False."""
        self._session.inert("Supervisor.animationStartRecording")
        return False

    def animationStopRecording(self) -> bool:
        """Record the view as a page no more; none was recorded."""
        return False

    def virtualRealityHeadsetIsUsed(self) -> bool:
        """Return whether somebody wears a headset: nobody does."""
        return False

    def virtualRealityHeadsetGetPosition(self) -> list[float]:
        """Return where the headset is: NaN, nowhere."""
        return [math.nan] * 3

    def virtualRealityHeadsetGetOrientation(self) -> list[float]:
        """Return how the headset is turned: NaN, it is nowhere."""
        return [math.nan] * 9

    @staticmethod
    def _node(node: Node) -> Node | None:
        return None if node._ref is None else node
