"""A world: its robots, its scene, and the requests of controllers and supervisors."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from strapdown._checks import as_member
from strapdown.errors import DeviceError, UnknownNameError, ValueRangeError
from strapdown.webots.devices.device import NEVER, RobotState
from strapdown.webots.devices.device_factory import DeviceFactory
from strapdown.webots.devices.device_info import MOTORS
from strapdown.webots.devices.random_streams import chosen_seed
from strapdown.webots.file.node_types import fields_of
from strapdown.webots.file.ranges import check_changed, check_noise
from strapdown.webots.file.world_file import WorldFile, devices_of, free_name, read_world
from strapdown.webots.profiles import Acceleration, find_profile
from strapdown.webots.world.local_port import LocalPort
from strapdown.webots.world.node_state import PLACES
from strapdown.webots.world.staging import Dynamics, Snapshot, make_scene, named_motions, paths
from strapdown.webots.world.supervision import Supervision
from strapdown.webots.world.timeline import Observation, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from strapdown.webots.devices.device import DeviceState
    from strapdown.webots.devices.measurement import Measurement
    from strapdown.webots.file.conventions import Conventions
    from strapdown.webots.file.node import Node
    from strapdown.webots.scene.scene import Scene
    from strapdown.webots.world.timeline import Observer

__all__ = ["World"]

DIRECTIONS = {"gravity", "coordinateSystem", "northDirection"}
"""Fields that define up and north."""
STEADY = {"position", "velocity", "acceleration", "available_force", "pid"}
"""Commands without effect when they are repeated with the same value."""


class World:
    """A world with its robots, in this process.

    Parameters
    ----------
    source : str, Path or WorldFile
        A world file, its text, or a file that was read (it is not modified).
    profile : str
        Behaviour of devices; one of :data:`~strapdown.webots.PROFILES`.
    seed : int, optional
        Seed of all noise; by default the file's ``randomSeed``, where -1 draws one at every start.
    motion : object or mapping of str to object, optional
        Motion of the only robot; or several, by the name of a robot, ``DEF`` or Solid. A motion
        with a method ``command(device, command, value)`` gets the new commands of its motors,
        and is never evaluated further ahead than the next step.
    dynamics : {"auto", "kinematic", "physics"}
        Simulation of the bodies: motions and motors, or forces and contacts; by default forces
        where a body would fall or swing and no motion is given.
    velocity_model : {"exact", "ode"}
        Exact velocities, or those of a semi-implicit Euler engine.
    duration_s : float, optional
        Latest end of the simulation [s]; it ends with the first motion that ends.
    proto_dirs : iterable of str or Path
        Folders that are searched for PROTO files.
    noise_order : {"zyx", "xyz"}
        Order in which the releases draw the noise of an InertialUnit.
    axes : {"FUR", "FLU"}
        Axes of an InertialUnit in the profile ``documented``.
    late_devices : bool
        Whether a controller can find devices that are added to its robot later.

    Raises
    ------
    UnknownNameError
        There is no such profile, or no node of such a name to move.
    FormatError, OSError
        The file cannot be read.
    ValueRangeError
        The duration is negative.
    DeviceError
        Motions were given to a world that moves by physics.
    BackendMissingError
        Physics is wanted, and MuJoCo is not installed.
    """

    def __init__(  # noqa: PLR0913 (a world has many sides; all but the first are named)
        self,
        source: str | Path | WorldFile,
        *,
        profile: str = "documented",
        seed: int | None = None,
        motion: object = None,
        dynamics: str = "auto",
        velocity_model: str = "exact",
        duration_s: float | None = None,
        proto_dirs: Iterable[str | Path] = (),
        noise_order: str = "zyx",
        axes: str = "FUR",
        late_devices: bool = False,
    ) -> None:
        self.profile = find_profile(profile)
        self.file = (
            source.copy()
            if isinstance(source, WorldFile)
            else read_world(source, proto_dirs=proto_dirs, keep_vectors=self.profile.keeps_vectors)
        )
        info = self.file.world_info
        self.seed = chosen_seed(int(info.number("randomSeed")) if seed is None else seed)
        self.messages: list[str] = []
        """Lines that were printed on stderr, each once."""
        self.resets = 0
        """Number of calls of :meth:`reset`."""
        self.exit_status = 0
        """Status passed to :meth:`quit`."""
        self.robots: dict[str, RobotState] = {}
        """Robots by name, in the order of the file."""
        self.timeline = Timeline(info.number("basicTimeStep"), self._devices)
        self._late_devices = late_devices
        self._dynamics = as_member(Dynamics, dynamics, "dynamics")
        self._velocity_model = velocity_model
        self._duration_s = math.inf if duration_s is None else duration_s
        if not self._duration_s >= 0.0:
            raise ValueRangeError(f"expected a duration of 0 s or more, got {duration_s}")
        self._motions = named_motions(self.file, motion)
        self._ports: dict[RobotState, LocalPort] = {}
        self._commanded: dict[tuple[str, str, str], tuple[int, tuple[float, ...]]] = {}
        self._quit = self._refitted = False
        self._note(self.file.notices)
        for node, text in self.file.warnings:
            self.warn(node, text)
        for node in self.file.walk():
            for text in check_noise(node, self.profile):
                self.warn(node, text)
        self.path, self.project_path = paths(self.file)
        """The file of the world and the folder above ``worlds``; empty for a text."""
        self._factory = DeviceFactory(
            self.file,
            self.profile,
            self.timeline,
            self.warn,
            seed=self.seed,
            noise_order=noise_order,
            axes=axes,
        )
        self._stage()
        self._snapshot = Snapshot(self.file)
        for node in self.file.robots:
            self._add_robot(node)
        self._first = {robot: list(robot.devices) for robot in self.robots.values()}
        self._supervision: Supervision | None = None

    # -- state -----------------------------------------------------------------------------------

    @property
    def conventions(self) -> Conventions:
        """Up, north and gravity."""
        return self._factory.conventions

    @property
    def basic_time_step(self) -> float:
        """Duration of a basic step [ms]."""
        return self.timeline.basic_time_step

    @property
    def step_count(self) -> int:
        """Number of basic steps that have elapsed."""
        return self.timeline.step_count

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return self.timeline.time_s

    @property
    def end_step(self) -> int | None:
        """The last step of the simulation; None if there is none."""
        last = self.timeline.last_step
        return None if last == NEVER else last

    @property
    def ended(self) -> bool:
        """Whether the simulation has ended: a step that needs time returns -1."""
        return self.timeline.ended

    @property
    def scene(self) -> Scene:
        """The scene at the present step."""
        return self.timeline.scene

    @property
    def supervision(self) -> Supervision:
        """Requests of supervisors to the world."""
        if self._supervision is None:
            self._supervision = Supervision(self)
        return self._supervision

    def port(self, robot: str | None = None) -> LocalPort:
        """Return the port of a robot; without a name, that of the only one.

        Raises
        ------
        UnknownNameError
            There is no such robot.
        DeviceError
            No name is given, and there is not exactly one robot.
        """
        if robot is None:
            if len(self.robots) != 1:
                names = ", ".join(map(repr, self.robots)) or "none"
                raise DeviceError(
                    f"expected one robot in the world, got {names}; name one by robot= or --robot"
                )
            robot = next(iter(self.robots))
        if robot not in self.robots:
            raise UnknownNameError("robot", robot, self.robots)
        return self._ports[self.robots[robot]]

    def perfect_measurement(self, device: DeviceState) -> Measurement:
        """Return a measurement of a device's motion without lookup table and resolution.

        Raises
        ------
        DeviceError
            The device does not measure its own motion.
        """
        return self._factory.perfect(device)

    def observe(self, observer: Observer) -> Observation:
        """Call ``observer(robot, device, step, values)`` at every refresh of a device."""
        return Observation(self.timeline, observer)

    def warn(self, node: Node, text: str) -> None:
        """Print a warning of Webots about a node on stderr."""
        name = f' "{node.text("name")}"' if "name" in fields_of(node.type) else ""
        self._say(f"WARNING: {node.type}{name}: {text}")

    # -- time ------------------------------------------------------------------------------------

    def advance_to(self, step: int) -> None:
        """Advance to a step, or to the end of the simulation before it."""
        self.timeline.advance_to(step)

    def reset(self) -> None:
        """Restart at time zero, with the nodes of the file and the same noise.

        Devices stay enabled, and have a new sample at the next step.
        """
        steps = self.step_count
        self.resets += 1
        self._snapshot.restore()
        self._factory.reset()
        self._stage()
        for robot in self.robots.values():
            robot.removed = robot not in self._first
        self.robots = {robot.name: robot for robot in self._first}
        for robot, devices in self._first.items():
            robot.devices[:] = devices
            robot.fresh.clear()
            self._ports[robot].rewind(steps)
        exact = self.profile.acceleration is Acceleration.EXACT
        for device in self._devices():
            device.reset(self.timeline.step_s if exact else math.inf)
        if self._refitted:
            self._refit()
            self._refitted = False
        self._tell()

    def quit(self, status: int = 0) -> None:
        """End the simulation at the present step."""
        self.exit_status = status
        self._quit = True
        self.timeline.end_here()

    # -- requests of controllers -----------------------------------------------------------------

    def enable(self, device: DeviceState, period: int) -> None:
        """Refresh a device every ``period`` [ms] from now on; 0 disables it.

        Releases read the period as a signed 16-bit number; with a negative one every step is due.
        """
        device.enable(
            (period + 0x8000) % 0x10000 - 0x8000 if self.profile.period_16_bit else period
        )

    def command(self, device: DeviceState, command: str, value: tuple[float, ...]) -> None:
        """Command a motor; see ``Scene.command``.

        A command that equals the last one to the motor and those coupled with it has no effect;
        NaN is ignored, with a warning.
        """
        if device.kind not in MOTORS:
            raise DeviceError(
                f"expected a motor for {command!r}, got {device.kind} {device.name!r}"
            )
        if any(map(math.isnan, value)):
            self.warn(device.node, f"expected numbers for {command!r}, got NaN: ignored")
            return
        coupled = device.robot.name, device.name.partition("::")[0], command
        said = device.tag, value
        if command not in STEADY:
            self._commanded.clear()
        elif self._commanded.get(coupled) == said:
            return
        else:
            self._commanded[coupled] = said
        self.scene.command(device.node, command, value)
        for listen in self._listeners:
            listen(device.name, command, value)

    # -- changes by supervisors ------------------------------------------------------------------

    def changed(self, node: Node, field: str) -> None:
        """Apply a field of a node that was set.

        Raises
        ------
        ValueRangeError
            The value is out of its range, in the profile ``documented``; releases replace it
            by another one.
        """
        for text in check_changed(node, field, self.profile):
            self.warn(node, text)
        self._commanded.clear()
        self._factory.obstacles.forget()
        robot = next((each for each in self.robots.values() if each.node is node), None)
        device = next((each for each in self._devices() if each.node is node), None)
        if field in PLACES:
            self.scene.place(node)
        elif field == "customData" and robot is not None:
            robot.new_custom_data = robot.custom_data
        elif device is not None and device.measurement is not None and field != "physics":
            self.timeline.settle()
            device.measurement.configure()
        else:
            self.scene.rebuild()
        if field in DIRECTIONS or field == "physics":
            self._refit()
        elif node.type == "WorldInfo":
            for each in self._devices():
                if each.measurement is not None:
                    each.measurement.configure()
        self._tell()

    def inserted(self, node: Node) -> None:
        """Apply a node that was added to the tree, with the robots and devices in it."""
        self._factory.obstacles.forget()
        self.scene.rebuild()
        if node.type == "Physics":
            self._refit()
        for each in node.walk():
            if each.is_a("Robot"):
                self._add_robot(each)
        for robot in self.robots.values() if self._late_devices else ():
            known = {device.node for device in robot.devices}
            for each in devices_of(robot.node):
                if each not in known:
                    device = self._factory.add(robot, each)
                    robot.news[device.tag] = device.info

    def removed(self, node: Node) -> None:
        """Apply the removal of a node from the tree; its devices have no more samples."""
        self._factory.obstacles.forget()
        self.scene.rebuild()
        if node.type == "Physics":
            self._refit()
        gone = set(node.walk())
        for robot in self.robots.values():
            robot.removed = robot.removed or robot.node in gone
            for device in robot.devices:
                if device.node in gone:
                    device.removed = True
                    device.due = NEVER

    # -- inside ----------------------------------------------------------------------------------

    def _stage(self) -> None:
        """Create the scene, and start at time zero."""
        self._factory.obstacles.forget()
        scene, end_s, notices = make_scene(
            self.file,
            self.conventions,
            self._motions,
            step_s=self.timeline.step_s,
            dynamics=self._dynamics,
            velocity_model=self._velocity_model,
            era=self.profile.acceleration is not Acceleration.EXACT,
            warn=self.warn,
        )
        self._note(notices)
        self._commanded.clear()
        listeners = [getattr(motion, "command", None) for motion in self._motions.values()]
        self._listeners = [listen for listen in listeners if callable(listen)]
        end_s = min(end_s, self._duration_s)
        last = NEVER if end_s == math.inf else math.floor(end_s / self.timeline.step_s + 1e-9)
        most_ahead = 1 if self._listeners else NEVER
        self.timeline.start(scene, most_ahead=most_ahead, last_step=last)
        if self._quit:
            self.timeline.end_here()

    def _add_robot(self, node: Node) -> None:
        """Add a robot with its devices; a name that is already in use gets a number."""
        name = free_name(node.text("name"), self.robots)
        robot = self.robots[name] = RobotState(name, node)
        for each in devices_of(node):
            self._factory.add(robot, each)
        self._ports[robot] = LocalPort(self, robot)

    def _devices(self) -> Iterator[DeviceState]:
        """Yield all devices, in the order of robots and tags."""
        for robot in self.robots.values():
            yield from robot.devices

    def _refit(self) -> None:
        """Renew the measurements of all devices after directions or bodies changed."""
        self._refitted = True
        self._factory.adopt_directions()
        for device in self._devices():
            if not device.removed:
                self._factory.renew(device)

    def _tell(self) -> None:
        """Pass changes of devices on to their controllers."""
        for robot in self.robots.values():
            for device in robot.devices:
                info = (
                    device.info if device.removed else self._factory.info(device.node, device.tag)
                )
                if info != device.info:
                    device.info = robot.news[device.tag] = info

    def _note(self, notices: Iterable[str]) -> None:
        """Print notices about content of the world without effect, each once."""
        for line in (f"WARNING: {notice}" for notice in notices):
            if line not in self.messages:
                self._say(line)

    def _say(self, line: str) -> None:
        """Print a line on stderr, and record it."""
        sys.stderr.write(f"{line}\n")
        if line not in self.messages:
            self.messages.append(line)
