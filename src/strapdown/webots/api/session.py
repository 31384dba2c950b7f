"""Controller's side of a port: clock, pending requests, and the known state of devices."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat

from strapdown.webots.api import runtime, texts
from strapdown.webots.api.exceptions import ArgumentError
from strapdown.webots.api.texts import say
from strapdown.webots.profiles import Angles, find_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.webots.port import Answer, DeviceInfo, Port, Request

__all__ = ["DeviceView", "Playing", "Session", "real"]

_WIDTHS = {"Accelerometer": 3, "Gyro": 3, "Compass": 3, "GPS": 7, "TouchSensor": 3}
_INERTIAL_WIDTHS = {Angles.AXES: 7, Angles.MATRIX: 3}


class Playing(Protocol):
    """Motion that plays while a robot steps."""

    def _advance(self, ms: int) -> None: ...


class DeviceView:
    """Device as known to its controller, shared by all its objects."""

    __slots__ = ("info", "memory", "period", "sample_time", "values")

    def __init__(self, info: DeviceInfo, width: int) -> None:
        self.info = info
        self.period = 0
        """Period as requested [ms]; 0: disabled."""
        self.sample_time = math.nan
        """Time of the measurement of the values [s]."""
        self.values = [math.nan] * width
        self.memory: dict[str, float] = {}
        """Values that were set and are not sent back, such as the targets of a motor."""


class Session:
    """Session of a controller on a robot.

    Parameters
    ----------
    port : Port
        Port of the robot; configured here.

    Attributes
    ----------
    info : RobotInfo
        Description at the start; ``states`` has the present devices.
    time_s : float
        Time of the last answer [s].
    battery_period : int
        Period as requested [ms]; 0: disabled.
    ended : bool
        Whether a step has returned -1.
    names : dict of str to int
        Tag by name; of equal names that of the first. The robot has tag 0.
    inert_calls : set of str
        Calls that were reported as inert.
    """

    __slots__ = (
        "_begun", "_exits", "_pending", "_port", "angles", "battery_period", "custom_data",
        "ended", "inert_calls", "info", "motions", "names", "profile", "states", "time_s",
    )  # fmt: skip

    def __init__(self, port: Port) -> None:
        info = port.configure()
        self._port = port
        self._pending: dict[tuple[int, str], tuple[Any, ...]] = {}
        self._begun = False
        self._exits = 0
        self.info = info
        self.profile = find_profile(info.profile)
        self.time_s = info.time_s
        self.custom_data = info.custom_data
        self.battery_period = 0
        self.ended = False
        self.angles = [0.0, 0.0, 0.0]
        """Last values read from any InertialUnit, beginning with the angles."""
        self.motions: list[Playing] = []
        self.inert_calls: set[str] = set()
        self.states: list[DeviceView | None] = [None]
        """Devices by tag; 0 is the robot."""
        self.names = {info.name: 0}
        self._learn(info.devices)
        if info.version[:6] != self.profile.version[:6]:
            say(texts.VERSIONS_DIFFER, info.version, self.profile.version, info.name)

    # -- time ------------------------------------------------------------------------------------

    def step(self, ms: int | None) -> int:
        """Advance time; return the delay [ms], or -1 at the end."""
        if type(ms) is not int:
            ms = self.duration(ms)
        if ms < 0 or self.ended or self._begun or self.motions:
            self._before(ms, stepping=True)
        requests = self._requests() if self._pending else ()
        return self._take(self._port.exchange(ms, requests))

    def begin(self, ms: int | None) -> int:
        """Request a step, without waiting."""
        ms = self.duration(ms)
        self._before(ms, stepping=False)
        self._port.begin(ms, self._requests())
        self._begun = True
        return 0

    def end(self) -> int:
        """Wait for the answer to :meth:`begin`."""
        if not self._begun:
            say(texts.SECOND_END)
            return 0
        self._begun = False
        return self._take(self._port.end())

    def duration(self, ms: object) -> int:
        """Return the milliseconds of a step; the basic step for None."""
        return int(self.info.basic_time_step) if ms is None else self.milliseconds(ms, 1)

    def milliseconds(self, value: object, argument: int) -> int:
        """Return a whole number of milliseconds.

        Raises
        ------
        ArgumentError
            The value is not one.
        """
        if isinstance(value, int):
            return int(value)
        if self.profile.integral_floats and isinstance(value, float) and value.is_integer():
            return int(value)
        raise ArgumentError(argument, value)

    def _before(self, ms: int, *, stepping: bool) -> None:
        """Handle the rare cases before a step."""
        if ms < 0:
            raise ValueError(
                f"expected a step of at least 0 ms, got {ms} in Robot.step; "
                "pass a multiple of the basic time step"
            )
        if self.ended:
            self._exit()
        if self._begun:
            if stepping:
                say(texts.STEP_BEFORE_END)
            say(texts.SECOND_BEGIN)
            self.end()
        for motion in tuple(self.motions):
            motion._advance(ms)

    def _take(self, answer: Answer) -> int:
        delay, self.time_s, samples, devices, custom_data = answer
        states: list[Any] = self.states
        for tag, sample_time, values in samples:
            state = states[tag]
            state.sample_time = sample_time
            state.values = values
        if devices:
            self._learn(devices)
        if custom_data is not None:
            self.custom_data = custom_data
        if delay < 0:
            self.ended = True
        return delay

    def _exit(self) -> None:
        """Exit the program; the third call ends a controller process directly."""
        self._exits += 1
        if runtime.owns_process and self._exits > 2:
            self._port.close()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        raise SystemExit(0)

    # -- devices ---------------------------------------------------------------------------------

    def _learn(self, devices: Sequence[DeviceInfo]) -> None:
        for info in devices:
            if info.tag < len(self.states):
                state = self.states[info.tag]
                if state is not None:
                    state.info = info
            else:
                self.states.append(DeviceView(info, self._width(info.kind)))
                self.names.setdefault(info.name, info.tag)

    def _width(self, kind: str) -> int:
        if kind == "InertialUnit":
            return _INERTIAL_WIDTHS.get(self.profile.angles, 4)
        return _WIDTHS.get(kind, 1)

    def find(self, name: str) -> int:
        """Return the tag of a name; 0, that of the robot, if there is none."""
        if not name:
            say(texts.EMPTY_NAME)
        elif name not in self.names:
            say(texts.NO_DEVICE, name)
        return self.names.get(name, 0)

    def state(self, tag: int) -> DeviceView | None:
        """Return the device of a tag; None for the robot and for an invalid tag."""
        return self.states[tag] if 0 <= tag < len(self.states) else None

    def refuse(self, tag: int, function: str, call: str) -> None:
        """Report that a tag is not a device of the type that a function needs."""
        if not 0 <= tag < len(self.states):
            say(texts.NO_SUCH_TAG, tag)
        say(texts.INVALID_TAG, function, call)

    # -- requests --------------------------------------------------------------------------------

    def ask(self, tag: int, command: str, *values: Any) -> None:  # noqa: ANN401 (by the command)
        """Add a request to the next step; it replaces an earlier one with its tag and command."""
        self._pending.pop((tag, command), None)
        self._pending[tag, command] = values

    def _requests(self) -> list[Request]:
        requests = [(tag, command, values) for (tag, command), values in self._pending.items()]
        self._pending.clear()
        return requests

    def supervise(self, function: str, method: str, *values: Any) -> Any:  # noqa: ANN401 (by method)
        """Call a supervisor's method; None, with a message on stderr, if this is no supervisor."""
        if not self.info.supervisor:
            say(texts.NOT_A_SUPERVISOR, f"wb_supervisor_{function}")
            return None
        return self._port.supervise(method, *values)

    def inert(self, call: str) -> None:
        """Report once that a call has no effect."""
        if call not in self.inert_calls:
            self.inert_calls.add(call)
            say(texts.INERT_CALL, call)


def real(value: SupportsFloat) -> float:
    """Return a float with the rule of the original interface: text is refused.

    Raises
    ------
    TypeError
        The value is no number.
    """
    if isinstance(value, str | bytes):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)
