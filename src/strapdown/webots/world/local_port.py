"""Port of a robot for a controller in the process of its world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from strapdown.errors import DeviceError
from strapdown.webots.port import Answer, RobotInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.webots.devices.device import DeviceState, RobotState
    from strapdown.webots.file.conventions import Conventions
    from strapdown.webots.port import Request
    from strapdown.webots.profiles import Profile
    from strapdown.webots.world.supervision import Supervision
    from strapdown.webots.world.timeline import Timeline

__all__ = ["Host", "LocalPort"]


class Host(Protocol):
    """Interface of the world that a port needs."""

    timeline: Timeline
    profile: Profile
    path: str
    project_path: str
    """The file of the world and the folder above ``worlds``; empty for a text."""

    @property
    def conventions(self) -> Conventions:
        """Up, north and gravity."""
        ...

    @property
    def supervision(self) -> Supervision:
        """Requests of supervisors to the world."""
        ...

    def enable(self, device: DeviceState, period: int) -> None:
        """Refresh a device every ``period`` [ms] from now on; 0 disables it."""
        ...

    def command(self, device: DeviceState, command: str, value: tuple[float, ...]) -> None:
        """Command a motor."""
        ...


class LocalPort:
    """Port of a robot for a controller in the process of the world.

    Requests take effect at the present time of the world. A step is answered at the first basic
    step that is not before the time of the request plus the requested milliseconds. Where robots
    step one after another, the first one that asks moves the world, and the others find it moved.

    Parameters
    ----------
    world : Host
    robot : RobotState
    """

    def __init__(self, world: Host, robot: RobotState) -> None:
        self.robot = robot
        self._world = world
        self._timeline = world.timeline
        self._ms = self._steps = self._delay = 0
        self._now = self._asked = self.due = world.timeline.step_count

    def configure(self) -> RobotInfo:
        """Return the description of robot and world for a new controller; disable every sensor."""
        world, timeline, robot = self._world, self._timeline, self.robot
        self._begin_session()
        node = robot.node
        arguments = cast("list[str]", node.get("controllerArgs"))
        return RobotInfo(
            name=robot.name,
            model=node.text("model"),
            version=world.profile.version,
            profile=world.profile.name,
            coordinate_system=world.conventions.coordinate_system,
            supervisor=node.flag("supervisor"),
            synchronization=node.flag("synchronization"),
            time_s=timeline.time_s,
            basic_time_step=timeline.basic_time_step,
            project_path=world.project_path,
            world_path=world.path,
            custom_data=robot.custom_data,
            controller=node.text("controller"),
            controller_args=tuple(arguments),
            devices=tuple(device.info for device in robot.devices),
        )

    def submit(self, ms: int, requests: Sequence[Request]) -> int:
        """Apply requests now, and return the step at which ``ms`` will have elapsed."""
        for request in requests:
            self._apply(*request)
        now = self._now
        if ms > 0:
            timeline = self._timeline
            if ms != self._ms:
                self._ms, self._steps = ms, timeline.whole_steps(ms)
            late = (now - self._asked) * timeline.basic_time_step - ms
            self._delay = int(late + 1e-6) if late > 0.0 else 0
            self._asked = now
            now += self._steps
        else:
            self._delay = 0
        self.due = now
        return now

    def answer(self) -> Answer:
        """Return what happened up to the present step of the world."""
        timeline, robot = self._timeline, self.robot
        now, fresh = timeline.step_count, robot.fresh
        samples = list(fresh.values())
        if now - self._now > 1:
            samples.sort()  # by tag; samples of one step are in that order already
        fresh.clear()
        self._now = now
        delay = -1 if self.due > timeline.last_step or robot.removed else self._delay
        if not robot.news and robot.new_custom_data is None:  # twice as fast as the constructor
            return tuple.__new__(Answer, (delay, timeline.time_s, samples, (), None))
        news = [robot.news[tag] for tag in sorted(robot.news)]
        custom_data = robot.new_custom_data
        robot.news.clear()
        robot.new_custom_data = None
        return Answer(delay, timeline.time_s, samples, news, custom_data)

    def begin(self, ms: int, requests: Sequence[Request]) -> None:
        """Send requests, and ask for ``ms`` of simulated time."""
        self.submit(ms, requests)

    def end(self) -> Answer:
        """Advance the world as far as :meth:`begin` asked, unless it is there already."""
        self._timeline.advance_to(self.due)
        return self.answer()

    def exchange(self, ms: int, requests: Sequence[Request]) -> Answer:
        """Call :meth:`begin` and :meth:`end`."""
        self._timeline.advance_to(self.submit(ms, requests))
        return self.answer()

    def supervise(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (as the method says)
        """Call a supervisor's method; see :mod:`strapdown.webots.world.supervision`."""
        return self._world.supervision.call(method, *arguments)

    def close(self) -> None:
        """Disable every sensor: the controller has ended."""
        self._begin_session()

    def join(self) -> None:
        """Set the port to the present time of the world, and discard earlier requests."""
        self._now = self._asked = self.due = self._timeline.step_count

    def rewind(self, steps: int) -> None:
        """Adopt a world time that was set back; a pending step still lasts as long."""
        self._now -= steps
        self.due -= steps
        self._asked = self._asked - steps if self.due > 0 else self._now

    def _begin_session(self) -> None:
        """Discard everything of the previous controller."""
        robot, world = self.robot, self._world
        for device in robot.devices:
            if device.period:
                world.enable(device, 0)
        robot.fresh.clear()
        robot.news.clear()
        robot.new_custom_data = None
        self.join()

    def _apply(self, tag: int, command: str, arguments: Sequence[Any]) -> None:
        """Apply one request."""
        if tag:
            device = self.robot.device(tag)
            if command == "period":
                self._world.enable(device, *arguments)
            else:
                self._world.command(device, command, tuple(arguments))
        elif command == "custom_data":
            self.robot.node.set("customData", *arguments)
        elif command != "battery":  # batteries are not simulated: nothing to sample
            raise DeviceError(
                f"robot {self.robot.name!r}: expected 'custom_data' or 'battery', got {command!r}"
            )
