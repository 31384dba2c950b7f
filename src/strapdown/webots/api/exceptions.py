"""Exceptions of the original interface, combined with the usual ones of Python."""

from __future__ import annotations

import ctypes

__all__ = ["ArgumentError", "NullPointerError"]


class ArgumentError(ctypes.ArgumentError, TypeError):
    """Argument of a wrong type.

    Parameters
    ----------
    argument : int
        Number of the argument in the original call.
    value : object
        The argument.
    """

    __module__ = "ctypes"

    def __init__(self, argument: int, value: object) -> None:
        super().__init__(
            f"argument {argument}: TypeError: Don't know how to convert parameter {argument}"
        )
        self.add_note(f"expected a whole number of milliseconds as int, got {value!r}")


class NullPointerError(SystemError, ValueError):
    """A value was requested from a missing device, or from one of another type."""

    __module__ = "builtins"

    def __init__(self) -> None:
        super().__init__("NULL pointer access")


NullPointerError.__name__ = NullPointerError.__qualname__ = "SystemError"
