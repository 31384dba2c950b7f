"""Exceptions with two faces: what the original interface raised, and what they mean in Python."""

from __future__ import annotations

import ctypes

__all__ = ["ArgumentError", "NullPointerError"]


class ArgumentError(ctypes.ArgumentError, TypeError):
    """An argument of a wrong type.

    Parameters
    ----------
    argument : int
        Number of the argument in the original call.
    value : object
        What came.
    """

    __module__ = "ctypes"

    def __init__(self, argument: int, value: object) -> None:
        super().__init__(
            f"argument {argument}: TypeError: Don't know how to convert parameter {argument}"
        )
        self.add_note(f"expected a whole number of milliseconds as int, got {value!r}")


class NullPointerError(SystemError, ValueError):
    """A value was asked of a device that is none, or of another kind."""

    __module__ = "builtins"

    def __init__(self) -> None:
        super().__init__("NULL pointer access")


NullPointerError.__name__ = NullPointerError.__qualname__ = "SystemError"
