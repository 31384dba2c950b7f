"""Robot: the entry point of a controller."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, cast

from strapdown.webots.api import owner, runtime, texts
from strapdown.webots.api.joystick import Joystick
from strapdown.webots.api.keyboard import Keyboard
from strapdown.webots.api.kinds import INERT, KINDS
from strapdown.webots.api.mouse import Mouse
from strapdown.webots.api.old_getters import OldGetters
from strapdown.webots.api.session import Session
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from strapdown.webots.api.device import Device
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.port import DeviceInfo, Port
    from strapdown.webots.world.world import World

__all__ = ["Robot"]


class _InUse:
    """First robot that still exists, of all that were created."""

    def __init__(self) -> None:
        self._robots: list[Callable[[], Robot | None]] = []

    def __get__(self, instance: object, owner: type | None = None) -> Robot | None:
        return next(filter(None, (robot() for robot in self._robots)), None)

    def enter(self, robot: Robot) -> None:
        self._robots = [each for each in self._robots if each() is not None]
        self._robots.append(weakref.ref(robot))


class Robot(OldGetters):
    """Robot with its devices and its time.

    In a controller's process ``Robot()`` is the robot that the runner has set. Library code passes
    a world.

    Parameters
    ----------
    world : path, text, WorldFile or World, optional
        World of the robot; options of a given :class:`~strapdown.webots.World` are passed to its
        constructor, not here.
    profile : str
        Behaviour of devices; one of :data:`~strapdown.webots.PROFILES`.
    motion : object or mapping of str to object, optional
        Motion of the robot.
    seed : int, optional
        Seed of all noise.
    duration : float, optional
        End of the simulation [s].
    robot : str, optional
        Name of the robot; needed if the world has several.
    port : Port, optional
        Port of the robot, instead of a world.
    **options
        Other options of :class:`~strapdown.webots.World`, whose errors are passed on.

    Raises
    ------
    RuntimeError
        There is neither a world nor a runner.
    TypeError
        Options were given with a :class:`~strapdown.webots.World`.
    """

    EVENT_QUIT: ClassVar[int] = -1
    EVENT_NO_EVENT: ClassVar[int] = 0
    EVENT_MOUSE_CLICK: ClassVar[int] = 1
    EVENT_MOUSE_MOVE: ClassVar[int] = 2
    EVENT_KEYBOARD: ClassVar[int] = 4
    EVENT_JOYSTICK_BUTTON: ClassVar[int] = 8
    EVENT_JOYSTICK_AXIS: ClassVar[int] = 16
    EVENT_JOYSTICK_POV: ClassVar[int] = 32
    MODE_SIMULATION: ClassVar[int] = 0
    MODE_CROSS_COMPILATION: ClassVar[int] = 1
    MODE_REMOTE_CONTROL: ClassVar[int] = 2

    created: ClassVar[Robot | None] = cast("Robot | None", _InUse())
    """The first robot of this process."""

    devices: dict[str, Device]
    """Devices by name, in the order of their tags."""
    keyboard: Keyboard
    mouse: Mouse
    joystick: Joystick
    _session: Session
    _adopted: int = 0
    """Last tag for which there is an object."""

    def __init__(
        self,
        world: str | Path | WorldFile | World | None = None,
        *,
        profile: str = "documented",
        motion: object = None,
        seed: int | None = None,
        duration: float | None = None,
        robot: str | None = None,
        port: Port | None = None,
        **options: Any,  # noqa: ANN401 (as the world says)
    ) -> None:
        first = Robot.created
        if runtime.single_instance and first is not None:
            say(texts.SECOND_ROBOT)
            self._session = first._session
            return
        if port is None:
            options |= {"profile": profile, "motion": motion, "seed": seed, "duration_s": duration}
            port = _port(world, robot, options)
        self._session = Session(port)
        self._enter()
        self.devices = {}
        self._adopt()
        self.keyboard = Keyboard(0, robot=self)
        self.mouse = Mouse(0, robot=self)
        self.joystick = Joystick(0, robot=self)

    def step(self, time_step: int | None = None) -> int:
        """Advance time [ms]; return the excess of the step before, or -1 at the end."""
        return self._session.step(time_step)

    def stepBegin(self, time_step: int | None = None) -> int:
        """Request a step [ms], without waiting."""
        return self._session.begin(time_step)

    def stepEnd(self) -> int:
        """Wait for :meth:`stepBegin`; return the result of :meth:`step`."""
        return self._session.end()

    def getDevice(self, name: str) -> Device | None:
        """Return a device; None, with a message on stderr, if there is none."""
        device = self.devices.get(name)
        if device is None:
            self._adopt()
            device = self.devices.get(name)
        if device is None:
            say(texts.NO_DEVICE_ON_ROBOT, name, self.name)
        return device

    def getDeviceByIndex(self, index: int) -> Device:
        """Return a device by its index, from 0.

        Raises
        ------
        KeyError
            There is no such index; the key is the name of the robot.
        """
        state = self._session.state(index + 1)
        if state is None:
            say(texts.INDEX_OUT_OF_BOUNDS)
            raise KeyError(self.name)
        self._adopt()
        return self.devices[state.info.name]

    def getNumberOfDevices(self) -> int:
        """Return the number of devices."""
        return self.number_of_devices

    def getBasicTimeStep(self) -> float:
        """Return the basic time step of the world [ms]."""
        return self.basic_time_step

    def getTime(self) -> float:
        """Return the time of the last answer [s]."""
        return self._session.time_s

    def getName(self) -> str:
        """Return the name."""
        return self.name

    def getModel(self) -> str:
        """Return the model, a text of the node."""
        return self.model

    def getCustomData(self) -> str:
        """Return the text that is stored with the robot."""
        return self.custom_data

    def setCustomData(self, data: str) -> None:
        """Store a text with the robot."""
        self.custom_data = data

    def getProjectPath(self) -> str:
        """Return the folder of the project."""
        return self.project_path

    def getWorldPath(self) -> str:
        """Return the path of the world file."""
        return self.world_path

    def getSupervisor(self) -> bool:
        """Return whether the robot may act as a :class:`Supervisor`."""
        return self.supervisor

    def getSynchronization(self) -> bool:
        """Return whether the simulation waits for the controller."""
        return self.synchronization

    def getMode(self) -> int:
        """Return :attr:`MODE_SIMULATION`."""
        return self.mode

    def setMode(self, mode: int, arg: str) -> None:
        """Set the mode; only simulation is available."""
        if mode not in {self.MODE_SIMULATION, self.MODE_REMOTE_CONTROL}:
            say(texts.WRONG_MODE, mode)

    def getUrdf(self, prefix: str = "") -> str:
        """Return the robot as URDF: empty."""
        return ""

    def waitForUserInputEvent(self, event_type: int, timeout: int) -> int:
        """Wait for user input: there is none, and it returns at once."""
        return self.EVENT_NO_EVENT

    def wwiSendText(self, text: str) -> None:
        """Send a text to the robot's window: there is none."""

    def wwiReceiveText(self) -> str | None:
        """Return a text from the robot's window: None, there is none."""
        return None

    def batterySensorEnable(self, sampling_period: int) -> None:
        """Enable the battery sensor with a period [ms]."""
        period = self._session.milliseconds(sampling_period, 1)
        if period < 0:
            say(texts.NEGATIVE_PERIOD, "robot_battery_sensor")
        else:
            self._session.battery_period = period
            self._session.ask(0, "battery", period)

    def batterySensorDisable(self) -> None:
        """Disable the battery sensor."""
        self.batterySensorEnable(0)

    def batterySensorGetSamplingPeriod(self) -> int:
        """Return the period of the battery sensor [ms]; 0: disabled."""
        return self._session.battery_period

    def batterySensorGetValue(self) -> float:
        """Return the energy of the battery [J]: NaN, it is not simulated."""
        if not self._session.battery_period:
            say(texts.DISABLED, "robot_battery_sensor", "get_value")
        return math.nan

    def getKeyboard(self) -> Keyboard:
        """Return the keyboard."""
        return self.keyboard

    def getMouse(self) -> Mouse:
        """Return the mouse."""
        return self.mouse

    def getJoystick(self) -> Joystick:
        """Return the joystick."""
        return self.joystick

    @property
    def basic_time_step(self) -> float:
        """Basic time step of the world [ms]."""
        return self._session.info.basic_time_step

    @property
    def time(self) -> float:
        """Time of the last answer [s]."""
        return self._session.time_s

    @property
    def name(self) -> str:
        """Name."""
        return self._session.info.name

    @property
    def model(self) -> str:
        """Model, a text of the node."""
        return self._session.info.model

    @property
    def custom_data(self) -> str:
        """Text that is stored with the robot."""
        return self._session.custom_data

    @custom_data.setter
    def custom_data(self, data: str) -> None:
        if not isinstance(data, str):
            raise TypeError(f"expected custom data as text, got {type(data).__name__}")
        self._session.custom_data = data
        self._session.ask(0, "custom_data", data)

    @property
    def project_path(self) -> str:
        """Folder of the project."""
        return self._session.info.project_path

    @property
    def world_path(self) -> str:
        """Path of the world file."""
        return self._session.info.world_path

    @property
    def supervisor(self) -> bool:
        """Whether the robot may act as a :class:`Supervisor`."""
        return self._session.info.supervisor

    @property
    def synchronization(self) -> bool:
        """Whether the simulation waits for the controller."""
        return self._session.info.synchronization

    @property
    def number_of_devices(self) -> int:
        """Number of devices."""
        return len(self._session.states) - 1

    @property
    def mode(self) -> int:
        """:attr:`MODE_SIMULATION`."""
        return self.MODE_SIMULATION

    @property
    def battery_sensor_sampling_period(self) -> int:
        """Period of the battery sensor [ms]; 0 or None: disabled."""
        return self._session.battery_period

    @battery_sensor_sampling_period.setter
    def battery_sensor_sampling_period(self, sampling_period: int | None) -> None:
        self.batterySensorEnable(0 if sampling_period is None else sampling_period)

    def _enter(self) -> None:
        """Register as the robot of this process, or as one of several."""
        if runtime.single_instance:
            Robot.created = self
            return
        registry: object = vars(Robot)["created"]
        if not isinstance(registry, _InUse):
            registry = _InUse()
            if isinstance(Robot.created, Robot):
                registry.enter(Robot.created)
            Robot.created = cast("Robot", registry)
        registry.enter(self)

    def _adopt(self) -> None:
        """Create objects for new devices."""
        inert = []
        for state in self._session.states[self._adopted + 1 :]:
            if state is not None:
                self._make(state.info)
                if state.info.kind in INERT:
                    inert.append(f'{state.info.kind} "{state.info.name}"')
        self._adopted = self.number_of_devices
        if inert:
            say(texts.INERT_DEVICES, ", ".join(inert))

    def _make(self, info: DeviceInfo) -> None:
        kind = KINDS.get(info.kind)
        if kind is None:
            say(texts.UNSUPPORTED_TYPE, info.node_type, info.name)
        else:
            self.devices[info.name] = kind(info.tag, robot=self)


owner.first_robot = lambda: Robot.created  # default robot of devices


def _port(
    world: str | Path | WorldFile | World | None,
    robot: str | None,
    options: dict[str, Any],
) -> Port:
    """Return the port of a robot of a world, or of the runner."""
    if world is None:
        if runtime.port is None:
            raise RuntimeError(
                "expected a world for Robot(), got none; run the controller with "
                "'strapdown webots run CONTROLLER.py --world WORLD.wbt', or pass Robot(world)"
            )
        return runtime.port
    from strapdown.webots.world.world import World  # noqa: PLC0415 (a controller's process has none)

    if not isinstance(world, World):
        return World(world, **options).port(robot)
    profile = options.pop("profile")
    if profile not in {"documented", world.profile.name} or any(
        value is not None for value in options.values()
    ):
        raise TypeError(
            "expected options of the world in World(), got them in Robot(); "
            "pass a path or the options there"
        )
    return world.port(robot)
