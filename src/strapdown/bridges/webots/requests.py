"""Messages of a controller with the library of Webots R2025a, as requests to a port.

A request is ``int32`` size, ``uint32`` duration [ms] and records of ``uint16`` tag, ``int32`` size
and commands of that device; tag 0 is the robot. Four zero bytes mean that it leaves. All is little
endian and packed. The tables follow ``src/controller/c`` of the public sources of Webots.
"""

from __future__ import annotations

import math
from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812 (the library's name says nothing alone)
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strapdown.webots.port import Request

__all__ = ["Incoming", "read_request", "request_size", "unpack"]

MAX_REQUEST: Final = 1 << 26
"""Largest valid request [bytes]; a picture for a display may be large."""
MAX_MS: Final = (1 << 31) - 1
"""The longest step; a negative one of the C interface arrives as more."""

_SIZE = Struct("<i")
_DURATION = Struct("<I")
_RECORD = Struct("<Hi")

# Commands to a robot; True: as many bytes follow as the last number says.
_CONSOLE, _BATTERY, _SET_DATA, _EXIT, _URDF, _WAIT = 30, 31, 37, 38, 46, 80
_ROBOT_COMMANDS: Final[Mapping[int, tuple[Struct, bool]]] = {
    _CONSOLE: (Struct("<BI"), True),  # CONSOLE_MESSAGE: to output 1 or errors 2
    _BATTERY: (Struct("<h"), False),  # SET_BATTERY_SAMPLING_PERIOD
    32: (Struct("<"), False),  # REMOTE_ON
    33: (Struct("<"), False),  # REMOTE_OFF
    34: (Struct("<H"), False),  # SET_KEYBOARD_SAMPLING_PERIOD
    35: (Struct("<H"), False),  # SET_JOYSTICK_SAMPLING_PERIOD
    36: (Struct("<H"), False),  # SET_MOUSE_SAMPLING_PERIOD
    _SET_DATA: (Struct("<H"), True),  # SET_DATA
    _EXIT: (Struct("<"), False),  # CLIENT_EXIT_NOTIFY
    39: (Struct("<B"), False),  # MOUSE_ENABLE_3D_POSITION
    40: (Struct("<B"), False),  # PIN
    41: (Struct("<H"), False),  # SET_JOYSTICK_FORCE_FEEDBACK
    42: (Struct("<d"), False),  # SET_JOYSTICK_FORCE_FEEDBACK_DURATION
    43: (Struct("<d"), False),  # SET_JOYSTICK_AUTO_CENTERING_GAIN
    44: (Struct("<d"), False),  # SET_JOYSTICK_RESISTANCE_GAIN
    45: (Struct("<I"), False),  # SET_JOYSTICK_FORCE_AXIS
    _URDF: (Struct("<H"), True),  # URDF: prefix
    _WAIT: (Struct("<ii"), False),  # WAIT_FOR_USER_INPUT_EVENT: types, timeout [ms]
    81: (Struct("<i"), True),  # WWI_MESSAGE
}

# What is said to a sensor begins with SET_SAMPLING_PERIOD; anything else is skipped.
_SET_PERIOD: Final = 1
_PERIOD: Final = Struct("<BH")
_SENSORS: Final = frozenset(
    {
        *("Accelerometer", "Altimeter", "Camera", "Compass", "DistanceSensor", "GPS", "Gyro"),
        *("InertialUnit", "Lidar", "LightSensor", "PositionSensor", "Radar", "RangeFinder"),
        *("Receiver", "TouchSensor"),
    }
)

# Commands to a motor: the only ones whose number has 16 bits.
_MOTORS: Final = frozenset({"RotationalMotor", "LinearMotor"})
_COMMAND: Final = Struct("<H")
_MOTOR_COMMANDS: Final[Mapping[int, tuple[str, Struct]]] = {
    1: ("position", Struct("<d")),
    2: ("velocity", Struct("<d")),
    3: ("available_force", Struct("<d")),
    4: ("force", Struct("<d")),
    5: ("", Struct("<H")),  # FEEDBACK: a period
    6: ("acceleration", Struct("<d")),
    7: ("pid", Struct("<ddd")),
    8: ("", Struct("<H")),  # GET_ASSOCIATED_DEVICE: a node type
}


class Incoming(NamedTuple):
    """Content of a request.

    Parameters
    ----------
    ms : int
        Requested simulated time [ms]; 0: only an exchange.
    requests : sequence of Request
        Requests to the port.
    leaving : bool
        The controller's program is ending.
    urdf : bool
        The robot's description is asked for.
    wait_ms : int or None
        The controller waits so long for a key or a click [ms].
    supervision : bytes
        Commands of a supervisor, and all that follows the first one.
    console : sequence of str
        Text for the console.
    unknown : sequence of str
        What was skipped, in words.
    """

    ms: int
    requests: Sequence[Request] = ()
    leaving: bool = False
    urdf: bool = False
    wait_ms: int | None = None
    supervision: bytes = b""
    console: Sequence[str] = ()
    unknown: Sequence[str] = ()


def request_size(buffer: bytes | bytearray) -> int | None:
    """Return the size of the request that a buffer begins with [bytes].

    Returns
    -------
    int or None
        0: goodbye, four bytes long; None: fewer than four bytes are here.

    Raises
    ------
    FormatError
        No request has this size.
    """
    if len(buffer) < _SIZE.size:
        return None
    size: int = _SIZE.unpack_from(buffer)[0]
    if size != 0 and not 8 <= size <= MAX_REQUEST:
        raise FormatError(f"expected a request of 8 to {MAX_REQUEST} bytes, got {size}")
    return size


def read_request(request: bytes, kinds: Sequence[str]) -> Incoming:
    """Read a request.

    Parameters
    ----------
    request : bytes
        Bytes, in the length given by :func:`request_size`, which is not 0.
    kinds : sequence of str
        Name of the node of each tag; 0 is the robot. Commands to other tags are skipped.

    Raises
    ------
    FormatError
        The bytes are no request; TruncatedError where a record or a command is cut off.
    """
    if len(request) == 8:
        return _without_records(request)
    ms = _without_records(request[:8]).ms
    requests: list[Request] = []
    unknown: list[str] = []
    incoming = Incoming(ms, requests, unknown=unknown)
    for tag, payload in _records(request):
        kind = kinds[tag] if tag < len(kinds) else ""
        if tag == 0:
            incoming = _read_robot(payload, incoming, requests)
        elif kind in _SENSORS:
            _read_sensor(tag, payload, requests)
        elif kind in _MOTORS:
            _read_motor(tag, payload, requests, unknown)
    return incoming


@lru_cache
def _without_records(request: bytes) -> Incoming:
    """Read a request that only asks for time; most do, and for the same again and again."""
    ms: int = _DURATION.unpack_from(request, _SIZE.size)[0]
    if ms > MAX_MS:
        raise FormatError(f"expected a step of 0 to {MAX_MS} ms, got {ms}: was it negative?")
    return Incoming(ms)


def _records(request: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and payload of each record."""
    position, end = 8, len(request)
    while position < end:
        tag, size = unpack(_RECORD, request, position)
        position += _RECORD.size
        yield tag, _cut(request, position, size)
        position += size


def _read_robot(payload: bytes, incoming: Incoming, requests: list[Request]) -> Incoming:
    """Read the commands to the robot."""
    for command, numbers, tail in _robot_commands(payload):
        if command == _BATTERY:
            requests.append((0, "battery", numbers))
        elif command == _SET_DATA:
            requests.append((0, "custom_data", (_words(tail),)))
        elif command == _CONSOLE:
            incoming = incoming._replace(console=(*incoming.console, _words(tail)))
        elif command == _EXIT:
            incoming = incoming._replace(leaving=True)
        elif command == _URDF:
            incoming = incoming._replace(urdf=True)
        elif command == _WAIT:
            incoming = incoming._replace(wait_ms=numbers[1])
        elif command not in _ROBOT_COMMANDS:
            incoming = incoming._replace(supervision=tail)
    return incoming


def _robot_commands(payload: bytes) -> Iterator[tuple[int, tuple[Any, ...], bytes]]:
    """Yield command, numbers and bytes; one that is not of a robot is the last, with the rest."""
    position = 0
    while position < len(payload):
        command = payload[position]
        if command not in _ROBOT_COMMANDS:
            yield command, (), payload[position:]
            return
        layout, has_tail = _ROBOT_COMMANDS[command]
        numbers = unpack(layout, payload, position + 1)
        position += 1 + layout.size
        tail = _cut(payload, position, numbers[-1]) if has_tail else b""
        position += len(tail)
        yield command, numbers, tail


def _read_sensor(tag: int, payload: bytes, requests: list[Request]) -> None:
    """Read the commands to a sensor."""
    position = 0
    while position < len(payload) and payload[position] == _SET_PERIOD:
        requests.append((tag, "period", unpack(_PERIOD, payload, position)[1:]))
        position += _PERIOD.size


def _read_motor(tag: int, payload: bytes, requests: list[Request], unknown: list[str]) -> None:
    """Read the commands to a motor."""
    position = 0
    while position < len(payload):
        command = unpack(_COMMAND, payload, position)[0]
        if command not in _MOTOR_COMMANDS:
            unknown.append(f"command {command} of a motor")
            return
        name, layout = _MOTOR_COMMANDS[command]
        numbers = unpack(layout, payload, position + _COMMAND.size)
        position += _COMMAND.size + layout.size
        if any(map(math.isnan, numbers)):
            raise FormatError(f"expected numbers for the {name} of a motor, got NaN")
        if name:
            requests.append((tag, name, numbers))


def unpack(layout: Struct, data: bytes, position: int) -> tuple[Any, ...]:
    """Read numbers.

    Raises
    ------
    TruncatedError
        There are fewer bytes.
    """
    try:
        return layout.unpack_from(data, position)
    except StructError:
        raise TruncatedError(
            f"expected {layout.size} bytes at byte {position}, got {max(len(data) - position, 0)}"
        ) from None


def _cut(data: bytes, position: int, size: int) -> bytes:
    """Return so many bytes."""
    if not 0 <= size <= len(data) - position:
        raise TruncatedError(
            f"expected 0 to {len(data) - position} bytes at byte {position}, got {size}"
        )
    return data[position : position + size]


def _words(data: bytes) -> str:
    """Read a string up to its NUL."""
    return data.split(b"\0", 1)[0].decode(errors="replace")
