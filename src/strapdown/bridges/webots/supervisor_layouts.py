"""Layouts of the commands of a supervisor with the library of Webots R2025a, and of the answers.

A layout consists of the characters of :mod:`struct`, little endian and packed, and ``s``, a string
that ends with NUL. They follow ``src/controller/c/supervisor.c`` of the public sources of Webots.
"""

from __future__ import annotations

import re
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from strapdown.bridges.webots.requests import unpack
from strapdown.errors import TruncatedError
from strapdown.webots.api.field import KINDS, MANY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "VALUES", "WITHOUT_EFFECT", "Arguments", "record", "type_number"]

_HEAD: Final = Struct("<HB")

VALUES: Final[Mapping[str, str]] = {
    "Bool": "B",
    "Int32": "i",
    "Float": "d",
    "Vec2f": "2d",
    "Vec3f": "3d",
    "Rotation": "4d",
    "Color": "3d",
    "String": "s",
}
"""Layout of a value of a field, by its type without ``SF`` or ``MF``."""

WITHOUT_EFFECT: Final[Mapping[int, tuple[str, str]]] = {
    50: ("Bs", "Supervisor.exportImage"),
    51: ("s", "Supervisor.worldLoad"),
    53: ("H3dIss", ""),  # SET_LABEL
    58: ("iiBBBBs", "Supervisor.movieStartRecording"),
    59: ("", ""),  # STOP_MOVIE
    68: ("I", "Node.restartController"),
    69: ("IIB", ""),  # NODE_SET_VISIBILITY
    70: ("I", ""),  # NODE_MOVE_VIEWPOINT
    71: ("I3dB", "Node.addForce"),
    72: ("I6dB", "Node.addForceWithOffset"),
    73: ("I3dB", "Node.addTorque"),
    74: ("Is", "Node.saveState"),
    75: ("Is", "Node.loadState"),
    86: ("", ""),  # NODE_GET_SELECTED
    99: ("", ""),  # VIRTUAL_REALITY_HEADSET_GET_POSITION
    100: ("", ""),  # VIRTUAL_REALITY_HEADSET_GET_ORIENTATION
}
"""Arguments, and the call that is reported; empty if it is not."""

COMMANDS: Final[Mapping[int, tuple[str, str]]] = {
    52: ("", "reset"),  # RELOAD_WORLD
    54: ("i", "quit"),
    55: ("", "reset"),
    56: ("i", "change_mode"),
    57: ("", "reset_all_physics"),
    60: ("s", "start_animation"),
    61: ("", "stop_animation"),
    62: ("IIIi", "set_value"),
    63: ("IIi", "remove_value"),
    64: ("IiIB", "field_from_index"),
    65: ("IB", "field_count"),
    66: ("I6d", "set_velocity"),
    67: ("I", "reset_physics"),
    76: ("IdI", "set_joint_position"),
    77: ("I", "export"),
    78: ("Ii", "proto"),
    82: ("B", "save_world"),
    83: ("i", "from_id"),
    84: ("si", "from_def"),
    85: ("i", "from_tag"),
    87: ("IisB", "field_from_name"),
    88: ("IiIB", "get_value"),
    89: ("IIi", "insert_value"),
    90: ("I", "position"),
    91: ("I", "orientation"),
    92: ("II", "pose"),
    93: ("I", "center_of_mass"),
    94: ("IB", "contact_points"),
    95: ("I", "static_balance"),
    96: ("I", "velocity"),
    97: ("I", "remove_node"),
    98: ("", "headset_is_used"),
    101: ("IIBB", "track"),  # FIELD_CHANGE_TRACKING_STATE
    102: ("IIB", "track"),  # POSE_CHANGE_TRACKING_STATE
    103: ("IBB", "track"),  # CONTACT_POINTS_CHANGE_TRACKING_STATE
}
"""Arguments, of which more may follow, and the method of :class:`SupervisorCommands`."""


class Arguments:
    """Arguments of commands, read one after another."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._position = 0

    @property
    def left(self) -> bool:
        """Whether there are more."""
        return self._position < len(self._payload)

    def skip(self) -> None:
        """Discard the rest."""
        self._position = len(self._payload)

    def take(self, layout: str) -> tuple[Any, ...]:
        """Read numbers and strings."""
        values: list[Any] = []
        for part in _parts(layout):
            if part is not None:
                values += unpack(part, self._payload, self._position)
                self._position += part.size
                continue
            end = self._payload.find(b"\0", self._position)
            if end < 0:
                raise TruncatedError(f"expected a string that ends, from byte {self._position}")
            values.append(self._payload[self._position : end].decode(errors="replace"))
            self._position = end + 1
        return tuple(values)


def record(command: int, layout: str, *values: Any) -> bytes:  # noqa: ANN401 (of the layout)
    """Return a record to the robot."""
    rest = list(values)
    pieces = [_HEAD.pack(0, command)]
    for part in _parts(layout):
        if part is None:
            pieces.append(rest.pop(0).replace("\0", "").encode(errors="replace") + b"\0")
        else:
            count = len(part.unpack(bytes(part.size)))
            pieces.append(part.pack(*rest[:count]))
            del rest[:count]
    return b"".join(pieces)


@cache
def _parts(layout: str) -> tuple[Struct | None, ...]:
    """Return the parts of a layout; None is a string."""
    words = re.findall("s|[^s]+", layout)
    return tuple(None if word == "s" else Struct(f"<{word}") for word in words)


def type_number(kind: str) -> int:
    """Return the number of a type of field, such as ``SFVec3f``."""
    number = KINDS.index(kind[2:]) + 1
    return number + MANY if kind.startswith("MF") else number
