"""Keyboard: inert, without pressed keys."""

from __future__ import annotations

from typing import ClassVar

from strapdown.webots.api.user_input import UserInput

__all__ = ["Keyboard"]


class Keyboard(UserInput):
    """Keyboard of the user of a simulation."""

    END: ClassVar[int] = 312
    HOME: ClassVar[int] = 313
    LEFT: ClassVar[int] = 314
    UP: ClassVar[int] = 315
    RIGHT: ClassVar[int] = 316
    DOWN: ClassVar[int] = 317
    PAGEUP: ClassVar[int] = 366
    PAGEDOWN: ClassVar[int] = 367
    NUMPAD_HOME: ClassVar[int] = 375
    NUMPAD_LEFT: ClassVar[int] = 376
    NUMPAD_UP: ClassVar[int] = 377
    NUMPAD_RIGHT: ClassVar[int] = 378
    NUMPAD_DOWN: ClassVar[int] = 379
    NUMPAD_END: ClassVar[int] = 382
    KEY: ClassVar[int] = 0xFFFF
    SHIFT: ClassVar[int] = 0x10000
    CONTROL: ClassVar[int] = 0x20000
    ALT: ClassVar[int] = 0x40000

    _function = "keyboard"

    def getKey(self) -> int:
        """Return the next pressed key: -1, none."""
        self._check("get_key")
        return -1

    def getKeyCode(self) -> int:
        """Return the next pressed key: -1, none."""
        return self.getKey()

    def get_key(self) -> str:
        """Return the name of the next pressed key: empty, none."""
        self._check("get_key")
        return ""
