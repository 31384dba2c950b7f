"""Supervisor: a robot that can change the world."""

from __future__ import annotations

import math
from typing import ClassVar

from strapdown.webots.api.device import Device
from strapdown.webots.api.node import Node
from strapdown.webots.api.robot import Robot

__all__ = ["Supervisor"]


class Supervisor(Robot):
    """Robot whose field ``supervisor`` is TRUE: it can read and change the world.

    It is created like any :class:`Robot`.
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
        """Return a node by its ``DEF`` name; ``A.B`` is the first B below A."""
        return self._node(Node(DEF=d, robot=self))

    def getFromId(self, id: int) -> Node | None:
        """Return a node by its number."""
        return self._node(Node(id=id, robot=self))

    def getFromDevice(self, tag: int | Device) -> Node | None:
        """Return the node of a device of this robot."""
        number = tag._tag if isinstance(tag, Device) else tag
        return self._node(Node(tag=number, robot=self))

    def getSelected(self) -> Node | None:
        """Return the node that a user has selected: None."""
        return self._node(Node(selected=True, robot=self))

    # -- the simulation --------------------------------------------------------------------------

    def simulationReset(self) -> None:
        """Restore the initial state of the world; controllers continue."""
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
        """Return the simulation mode, such as :attr:`SIMULATION_MODE_FAST`."""
        return self.simulation_mode

    def simulationSetMode(self, mode: int) -> None:
        """Set the simulation mode; without effect."""
        self.simulation_mode = mode

    def worldLoad(self, filename: str) -> None:
        """Load another world; without effect."""
        self._session.inert("Supervisor.worldLoad")

    def worldReload(self) -> None:
        """Reload the world: as :meth:`simulationReset`."""
        self.simulationReset()

    def worldSave(self, filename: str | None = None) -> bool:
        """Save the world, by default to its file; return whether that succeeded."""
        return bool(self._session.supervise("world_save", "world_save", filename))

    @property
    def simulation_mode(self) -> int:
        """Simulation mode, such as :attr:`SIMULATION_MODE_FAST`."""
        return self.SIMULATION_MODE_FAST

    @simulation_mode.setter
    def simulation_mode(self, mode: int) -> None:
        if mode != self.simulation_mode:
            self._session.inert("Supervisor.simulationSetMode")

    # -- view ------------------------------------------------------------------------------------

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
        """Show a text in the view; without effect."""

    def exportImage(self, filename: str, quality: int) -> None:
        """Save an image of the view; without effect."""
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
        """Record a movie of the view; without effect."""
        self._session.inert("Supervisor.movieStartRecording")

    def movieStopRecording(self) -> None:
        """Stop recording a movie."""

    def movieIsReady(self) -> bool:
        """Return whether no movie is being written."""
        return True

    def movieFailed(self) -> bool:
        """Return whether the last movie could not be written."""
        return False

    def animationStartRecording(self, filename: str) -> bool:
        """Return False: no animation can be recorded."""
        self._session.inert("Supervisor.animationStartRecording")
        return False

    def animationStopRecording(self) -> bool:
        """Return False: no animation is being recorded."""
        return False

    def virtualRealityHeadsetIsUsed(self) -> bool:
        """Return whether a virtual reality headset is used: False."""
        return False

    def virtualRealityHeadsetGetPosition(self) -> list[float]:
        """Return the position of the headset: NaN, there is none."""
        return [math.nan] * 3

    def virtualRealityHeadsetGetOrientation(self) -> list[float]:
        """Return the orientation of the headset: NaN, there is none."""
        return [math.nan] * 9

    @staticmethod
    def _node(node: Node) -> Node | None:
        return None if node._ref is None else node
