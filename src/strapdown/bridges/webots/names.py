"""Name of a controller's robot, in a path or a handshake, as in Webots R2025a.

A handshake by TCP is the text ``CTR``, with ``Robot-Name:`` on a second line where the controller
knows a name, and no end mark; the answer is one word.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CONNECTED",
    "MAX_HELLO",
    "PROCESSING",
    "encoded_name",
    "hello_may_grow",
    "reply_to_hello",
]

CONNECTED: Final = b"CONNECTED"
PROCESSING: Final = b"PROCESSING"
"""Answer while the world is not loaded: the controller retries."""
FORBIDDEN: Final = b"FORBIDDEN"
FAILED: Final = b"FAILED"

MAX_NAME: Final = 91
"""Length of a socket's path that every platform of Webots can open."""
MAX_HELLO: Final = 1 << 13
_HELLO: Final = b"CTR"
_NAME_FOLLOWS: Final = b"Robot-Name:"


def encoded_name(robot: str, used: int) -> str:
    """Return the name of a robot as encoded in the path of its socket or in a handshake.

    Parameters
    ----------
    robot : str
        The name as the world gives it.
    used : int
        Length of the rest of the socket's path; 0 for TCP.

    Returns
    -------
    str
        Percent-encoded; where that is too long, the beginning of its SHA-1 sum in hex.
    """
    name = quote(robot, safe="")
    longest = max((MAX_NAME - used) // 2 * 2, 4)
    if len(name) <= longest:
        return name
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:longest]


def hello_may_grow(hello: bytes | bytearray) -> bool:
    """Return whether bytes are the beginning of a handshake, or all of it."""
    return len(hello) <= MAX_HELLO and _HELLO.startswith(hello[: len(_HELLO)])


def reply_to_hello(hello: bytes, is_taken: Mapping[str, bool]) -> tuple[bytes, str]:
    """Return the answer to a handshake, and the robot that it is about.

    Parameters
    ----------
    hello : bytes
        The whole handshake.
    is_taken : mapping of str to bool
        The robots that are served, and whether a controller has them.
    """
    words = hello.split()
    robots = list(is_taken)
    if _NAME_FOLLOWS in words[:-1]:
        wanted = words[words.index(_NAME_FOLLOWS) + 1].decode(errors="replace")
        robots = [robot for robot in robots if wanted in _spellings(robot)]
    if len(robots) != 1:
        return FAILED, ""
    return FORBIDDEN if is_taken[robots[0]] else CONNECTED, robots[0]


def _spellings(robot: str) -> set[str]:
    """Return how a name may come: the library encodes it, after a user may have done so before."""
    once = encoded_name(robot, 0)
    return {once, encoded_name(once, 0)}
