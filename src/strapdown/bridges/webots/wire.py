"""Answers to a controller with the library of Webots R2025a, in bytes.

Over a UNIX socket an answer is ``int32`` size, ``int32`` delay [ms] and records of ``uint16`` tag,
``uint8`` command and data, whose length the receiver must know; over TCP the same records travel
in one chunk. All is little endian and packed, strings are UTF-8 and end with NUL. A delay of -1 is
never sent: a client would read on. The tables follow ``src/controller/c`` of the public sources of
Webots.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from strapdown.bridges.webots.supervisor import SupervisorCommands
from strapdown.errors import ValueRangeError
from strapdown.webots.profiles import PROFILES, Angles, find_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from strapdown.webots.port import Answer, DeviceInfo, Port, RobotInfo
    from strapdown.webots.profiles import Profile

__all__ = ["Session", "check_angles", "frame", "no_event", "quit_message"]

_VERSION: Final = "R2025a"
"""Release of the protocol; the client compares it with its own."""

_HEAD = Struct("<HB")
_INT32 = Struct("<i")
_UINT16 = Struct("<H")
_DOUBLE = Struct("<d")
_TIME = Struct("<HBd")
_EVENT = Struct("<HBi")
_IPC = Struct("<ii")
_TCP = Struct("<HiiBi")
_ROBOT = Struct("<BBHHd")
_WINDOW = Struct("<BBi")

# Commands to a controller.
_CONFIGURE, _QUIT, _TIME_IS, _CUSTOM_DATA, _NEW_DEVICES, _URDF, _EVENT_IS = 0, 2, 4, 11, 15, 46, 80
_ROBOT_NODE: Final = 34
_REAL_TIME, _FAST = 1, 2

# Records of samples: command and how many doubles.
_SAMPLES: Final[Mapping[str, tuple[int, int]]] = {
    "Accelerometer": (51, 3),
    "Altimeter": (1, 1),
    "Compass": (52, 3),
    "DistanceSensor": (50, 1),
    "GPS": (2, 7),
    "Gyro": (53, 3),
    "InertialUnit": (54, 4),
    "LightSensor": (55, 1),
    "LinearMotor": (5, 1),
    "PositionSensor": (1, 1),
    "RotationalMotor": (5, 1),
    "TouchSensor": (40, 1),
}
_FORCE_3D: Final = (41, 3)


def frame(records: bytes = b"", delay: int = 0, *, tcp: bool) -> bytes:
    """Return the whole message of an answer: its head, and the records."""
    if tcp:
        size = 4 + len(records)
        return _TCP.pack(1, size, size, 0, delay) + records
    return _IPC.pack(8 + len(records), delay) + records


def quit_message(*, tcp: bool) -> bytes:
    """Return the message that ends a controller, asked or unasked."""
    return frame(_HEAD.pack(0, _QUIT), tcp=tcp)


def no_event(*, tcp: bool) -> bytes:
    """Return the late answer to waiting for a key or a click: there was none."""
    return frame(_EVENT.pack(0, _EVENT_IS, 0), tcp=tcp)


class Session:
    """State of one controller, and its next answer in bytes.

    Parameters
    ----------
    info : RobotInfo
        The robot, its devices and the world.
    tcp : bool
        The transport: TCP, or a UNIX socket.
    realtime : bool
        Speed that is reported to the client.
    port : Port, optional
        Where a supervisor's commands are executed.

    Attributes
    ----------
    kinds : list of str
        Name of the node of each tag; 0 is the robot.
    supervisor : SupervisorCommands or None
        None for other robots.

    Raises
    ------
    ValueRangeError
        The protocol cannot transmit the angles of an InertialUnit; see :func:`check_angles`.
    """

    def __init__(
        self, info: RobotInfo, *, tcp: bool, realtime: bool = False, port: Port | None = None
    ) -> None:
        profile = find_profile(info.profile)
        check_angles(profile, info.devices)
        self.kinds = ["Robot"]
        self._is_nue = profile.angles is Angles.NUE
        self._info = info
        self._tcp = tcp
        self._mode = _REAL_TIME if realtime else _FAST
        self._time_s = info.time_s
        self._records: dict[int, tuple[bytes, Callable[..., bytes]]] = {}
        self._learn(info.devices)
        self.supervisor = (
            SupervisorCommands(port, info, self.kinds, confined=tcp)
            if info.supervisor and port is not None
            else None
        )

    def configure(self) -> bytes:
        """Return the answer to the first request: the robot and all its devices."""
        info = self._info
        return frame(
            b"".join(
                (
                    _HEAD.pack(0, _CONFIGURE),
                    _text(info.name),
                    _text(_VERSION),
                    _ROBOT.pack(
                        self.supervisor is not None,
                        info.synchronization,
                        len(self.kinds),
                        _ROBOT_NODE,
                        info.time_s,
                    ),
                    *map(_declared, info.devices),
                    _DOUBLE.pack(info.basic_time_step),
                    _text(info.project_path.rstrip("/")),
                    _text(info.world_path),
                    _text(info.model),
                    _text(""),  # robot window
                    _text(""),  # remote control
                    _text(info.controller),
                    _text(info.custom_data),
                    # An HTML window: without one, news of devices make a client ask for a library.
                    _WINDOW.pack(0, 1, self._mode),
                    b"" if self.supervisor is None else self.supervisor.configure(),
                    *map(self._configured, info.devices),
                )
            ),
            tcp=self._tcp,
        )

    def answer(self, answer: Answer, *, urdf: bool = False) -> bytes:
        """Return the answer to any later request.

        Parameters
        ----------
        answer : Answer
            Of the port. Its delay of -1 becomes the command to quit.
        urdf : bool
            Give the robot's description, which is empty.
        """
        known = len(self.kinds)
        if answer.devices:
            self._learn(answer.devices)
        parts: list[bytes] = []
        for tag, _, values in answer.samples:
            if tag in self._records:
                head, pack = self._records[tag]
                parts.append(head)
                parts.append(pack(*values))
        records = b"".join(parts)
        if self.supervisor is not None:
            records = self.supervisor.records() + records
        if answer.delay < 0 or answer.devices or answer.custom_data is not None or urdf:
            records = self._with_changes(records, answer, known, urdf=urdf)
        if answer.time_s != self._time_s:
            self._time_s = answer.time_s
            records = _TIME.pack(0, _TIME_IS, answer.time_s) + records
        return frame(records, max(answer.delay, 0), tcp=self._tcp)

    def _learn(self, devices: Iterable[DeviceInfo]) -> None:
        """Take in devices, known ones again."""
        for device in devices:
            if device.tag == len(self.kinds):
                self.kinds.append(device.kind)
            record = _SAMPLES.get(device.kind)
            if device.kind == "TouchSensor" and device.parameters["type"] == 2:
                record = _FORCE_3D
            if record is not None:
                command, count = record
                head = _HEAD.pack(device.tag, command)
                self._records[device.tag] = (head, Struct(f"<{count}d").pack)

    def _with_changes(self, samples: bytes, answer: Answer, known: int, *, urdf: bool) -> bytes:
        """Return all records but the time; devices from tag ``known`` on come before samples."""
        new = [device for device in answer.devices if device.tag >= known]
        changed = [device for device in answer.devices if device.tag < known]
        parts: list[bytes] = []
        if answer.custom_data is not None:
            parts += [_HEAD.pack(0, _CUSTOM_DATA), _text(answer.custom_data)]
        if new:
            parts += [_HEAD.pack(0, _NEW_DEVICES), _UINT16.pack(len(new)), *map(_declared, new)]
            parts += map(self._configured, new)
        parts += [samples, *map(self._configured, changed)]
        if urdf:
            parts += [_HEAD.pack(0, _URDF), _text("")]
        if answer.delay < 0:
            parts.append(_HEAD.pack(0, _QUIT))
        return b"".join(parts)

    def _configured(self, device: DeviceInfo) -> bytes:
        """Return a device's configure record; nothing for a kind that has none."""
        write = _CONFIGURES.get(device.kind)
        if write is None:
            return b""
        parameters = device.parameters
        if self._is_nue and device.kind == "InertialUnit":
            # The client of this profile knew one set of formulas; the present one has it for NUE.
            parameters = {**parameters, "coordinate_system": "NUE"}
        return _HEAD.pack(device.tag, _CONFIGURE) + write(device.tag, parameters)


def check_angles(profile: Profile, devices: Iterable[DeviceInfo]) -> None:
    """Check that the protocol can transmit the angles of all InertialUnits.

    An InertialUnit sends a quaternion, from which the client computes the angles of R2025a.

    Raises
    ------
    ValueRangeError
        The profile has other angles.
    """
    units = [device.name for device in devices if device.kind == "InertialUnit"]
    if units and not profile.client_computes_angles:
        served = [name for name, each in PROFILES.items() if each.client_computes_angles]
        raise ValueRangeError(
            f"expected profile {', '.join(served[:-1])} or {served[-1]} for InertialUnit "
            f"{units[0]!r}, got {profile.name}: served controllers compute angles by themselves, "
            "as those releases do; run them with strapdown webots run, or remove the unit"
        )


def _text(text: str) -> bytes:
    """Write a string with its NUL."""
    return text.replace("\0", "").encode(errors="replace") + b"\0"


def _declared(device: DeviceInfo) -> bytes:
    """Return a device's entry in the list of devices."""
    return _UINT16.pack(device.node_type) + _text(device.name) + _text(device.model)


def _table(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    table: Sequence[float] = parameters["lookup_table"]
    return Struct(f"<i{len(table)}d").pack(len(table) // 3, *table)


def _inertial_unit(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    return _DOUBLE.pack(parameters["noise"]) + _text(parameters["coordinate_system"])


def _gps(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    return _INT32.pack(parameters["coordinate_system"])


def _distance_sensor(tag: int, parameters: Mapping[str, Any]) -> bytes:
    head = (parameters[name] for name in ("type", "min", "max", "aperture"))
    return Struct("<i3d").pack(*head) + _table(tag, parameters)


def _touch_sensor(tag: int, parameters: Mapping[str, Any]) -> bytes:
    return _INT32.pack(parameters["type"]) + _table(tag, parameters)


def _position_sensor(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    return _INT32.pack(not parameters["rotational"])


def _motor(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    limits = ("min_position", "max_position", "max_velocity", "acceleration", "max_force")
    targets = ("position", "velocity", "multiplier")
    coupled_motors = 0
    return Struct("<i11di").pack(
        not parameters["rotational"],
        *(parameters[name] for name in limits),
        *parameters["control_pid"],
        *(parameters[name] for name in targets),
        coupled_motors,
    )


def _display(_tag: int, parameters: Mapping[str, Any]) -> bytes:
    return Struct("<HH").pack(parameters["width"], parameters["height"])


def _view(layout: str, *rest: float) -> Callable[[int, Mapping[str, Any]], bytes]:
    """Return what configures a device with pictures: a number of its own, the size, the rest."""
    whole = Struct("<IHHddB" + layout)

    def write(tag: int, parameters: Mapping[str, Any]) -> bytes:
        return whole.pack(tag, parameters.get("width", 64), parameters.get("height", 64), *rest)

    return write


# A client dies at its first step where a device with pictures has none of these records.
_FOV, _NEAR, _PLANAR = 0.7854, 0.01, 1
_CONFIGURES: Final[Mapping[str, Callable[[int, Mapping[str, Any]], bytes]]] = {
    "Accelerometer": _table,
    # limits of the field of view, recognition, segmentation, exposure, focal length and distance
    "Camera": _view("ddBBd4d", _FOV, _NEAR, _PLANAR, _FOV, _FOV, 0, 0, 1.0, *(0.0, 0.0, 0.0, 0.0)),
    "Compass": _table,
    "Display": _display,
    "DistanceSensor": _distance_sensor,
    "GPS": _gps,
    "Gyro": _table,
    "InertialUnit": _inertial_unit,
    # range, layers, frequency and its limits, vertical field of view, points in a layer
    "Lidar": _view("dHddddd", 1.5708, _NEAR, _PLANAR, 1.0, 4, 10.0, 1.0, 25.0, 0.2, 512.0),
    "LightSensor": _table,
    "LinearMotor": _motor,
    "PositionSensor": _position_sensor,
    "RangeFinder": _view("d", _FOV, _NEAR, _PLANAR, 1.0),
    "RotationalMotor": _motor,
    "TouchSensor": _touch_sensor,
}
