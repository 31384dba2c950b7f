"""Connector: inert, and never near another one."""

from __future__ import annotations

from strapdown.webots.api.device import PresenceDevice

__all__ = ["Connector"]


class Connector(PresenceDevice):
    """Docks to another connector."""

    _function = "connector"
    _kinds = ("Connector",)

    def getPresence(self) -> int:
        """Return 1 if another one is near, 0 if none is, -1 if disabled."""
        return self.presence

    def lock(self) -> None:
        """Lock."""
        self._keep("locked", "lock", 1)

    def unlock(self) -> None:
        """Unlock."""
        self._keep("locked", "unlock", 0)

    def isLocked(self) -> bool:
        """Return whether it is locked."""
        return self.locked

    @property
    def locked(self) -> bool:
        """Whether it is locked."""
        return bool(self._parameter("locked", "is_locked", 0))

    @property
    def presence(self) -> int:
        """1 if another one is near, 0 if none is, -1 if disabled."""
        return 0 if self._parameter("presence", "get_presence", 0) else -1
