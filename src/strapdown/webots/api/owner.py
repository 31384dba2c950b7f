"""Robot of a device: the one that is given, or the first one of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.webots.api.session import Session

__all__ = ["Owner", "first_robot", "session_of"]


class Owner(Protocol):
    """Member of a session: a robot, or a device of it."""

    _session: Session


def _nobody() -> None:
    """Return None, for a process without a robot."""


first_robot: Callable[[], Owner | None] = _nobody
"""Returns the first robot of this process; replaced by the module of robots."""


def session_of(robot: Owner | None) -> Session:
    """Return the session of a robot, by default of the first one of this process.

    Raises
    ------
    RuntimeError
        There is no robot.
    """
    owner = first_robot() if robot is None else robot
    if owner is None:
        raise RuntimeError("expected a robot before its devices, got none; call Robot() first")
    return owner._session
