"""LED: keeps its colour, and lights nothing."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["LED"]


class LED(Device):
    """A light of one or many colours."""

    _function = "led"
    _kinds = ("LED",)

    def set(self, v: int) -> None:
        """Switch off with 0, on with an index of the colours, or to an RGB colour."""
        self.value = v

    def get(self) -> int:
        """Return what was set last."""
        return self.value

    @property
    def value(self) -> int:
        """What was set last."""
        return int(self._parameter("value", "get", 0))

    @value.setter
    def value(self, v: int) -> None:
        self._keep("value", "set", int(v))
