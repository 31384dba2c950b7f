"""VacuumGripper: inert."""

from __future__ import annotations

from strapdown.webots.api.device import PresenceDevice

__all__ = ["VacuumGripper"]


class VacuumGripper(PresenceDevice):
    """Gripper that holds an object by suction."""

    _function = "vacuum_gripper"
    _kinds = ("VacuumGripper",)

    def getPresence(self) -> bool:
        """Return whether an object is near."""
        return self.presence

    def turnOn(self) -> None:
        """Switch on."""
        self._keep("on", "turn_on", 1)

    def turnOff(self) -> None:
        """Switch off."""
        self._keep("on", "turn_off", 0)

    def isOn(self) -> bool:
        """Return whether it is on."""
        return self.on

    @property
    def on(self) -> bool:
        """Whether it is on."""
        return bool(self._parameter("on", "is_on", 0))

    @property
    def presence(self) -> bool:
        """Whether an object is near."""
        if self._state is None:
            self._refuse("get_presence")
        return False
