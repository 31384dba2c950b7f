"""Whose a device is: the robot that is given, or the first of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.webots.api.session import Session

__all__ = ["Owner", "first_robot", "session_of"]


class Owner(Protocol):
    """What belongs to a session: a robot, and each device of it."""

    _session: Session


def _nobody() -> None:
    """Give the first robot of a process that has none."""


first_robot: Callable[[], Owner | None] = _nobody
"""Gives the first robot of this process; the class of robots sets it."""


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
