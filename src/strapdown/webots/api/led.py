"""LED: stores its colour, without effect."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["LED"]


class LED(Device):
    """LED of one or many colours."""

    _function = "led"
    _kinds = ("LED",)

    def set(self, v: int) -> None:
        """Switch off with 0, or on with an index into the colours or an RGB colour."""
        self.value = v

    def get(self) -> int:
        """Return the value that was set last."""
        return self.value

    @property
    def value(self) -> int:
        """Value that was set last."""
        return int(self._parameter("value", "get", 0))

    @value.setter
    def value(self, v: int) -> None:
        self._keep("value", "set", int(v))
