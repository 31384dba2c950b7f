"""The devices of a robot as topics and services of ROS 1, as the ROS controller of Webots has them.

===========================  ==========================  ==============================
device                       service                     type
===========================  ==========================  ==============================
every                        get_name, get_model         webots_ros/get_string
every                        get_node_type               webots_ros/get_int
InertialUnit, Accelerometer  enable                      webots_ros/set_int
and Gyro                     get_sampling_period         webots_ros/get_int
InertialUnit                 get_noise                   webots_ros/get_float
Accelerometer, Gyro          get_lookup_table            webots_ros/get_float_array
motors                       set_position, set_velocity  webots_ros/set_float
===========================  ==========================  ==============================

``enable`` takes a period [ms], a multiple of the robot's step, and its topic appears; 0 disables.
Several periods may be enabled: the device runs at the shortest, and its last value is published
at every step whose time is a multiple of one of them, if somebody listens.
"""

from __future__ import annotations

import math
from itertools import count
from time import time_ns
from typing import TYPE_CHECKING, Any

from strapdown.bridges.ros1.messages import BLOCKS, imu_message, ros_name, suffix_of
from strapdown.bridges.ros1.services import service_class
from strapdown.errors import DeviceError, StrapdownError
from strapdown.messages.ros_types import IMU
from strapdown.transport.links.ros1.node import RawPublisher
from strapdown.webots.api.inertial_unit import InertialUnit
from strapdown.webots.api.motor import Motor
from strapdown.webots.api.sensor import VectorSensor
from strapdown.webots.api.texts import say
from strapdown.webots.profiles import find_profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Lock

    from strapdown.transport.links.ros1.node import Node
    from strapdown.webots.api.device import Device
    from strapdown.webots.api.robot import Robot
    from strapdown.webots.profiles import Profile

__all__ = ["RosRobot"]

_WRONG_PERIOD = (
    "Wrong sampling period: {} for device: {}. Pass a multiple of the world's basic step, {} ms; "
    "0 disables it."
)


class RosRobot:
    """The topics and services of a robot.

    Parameters
    ----------
    node : Node
    robot : Robot
        What its controller has.
    profile : str
        How its devices behave.
    namespace : str
        Prefix of every name; empty for none.
    lock : Lock
        Held while somebody uses the world.
    simulated_clock : bool
        Whether stamps of the profile ``documented`` count simulated time, and not the wall clock.

    Raises
    ------
    DeviceError
        Two devices would have the same name in the graph.
    """

    def __init__(  # noqa: PLR0913 (all but the first two are named)
        self,
        node: Node,
        robot: Robot,
        *,
        profile: str,
        namespace: str,
        lock: Lock,
        simulated_clock: bool,
    ) -> None:
        self.robot = robot
        self._node = node
        self._lock = lock
        self._prefix = f"{namespace}/" if namespace else ""
        self._time_ms = 0
        self._is_closed = False
        self._services: dict[str, Any] = {}
        self._sensors: list[_Sensor] = []
        try:
            for device in robot.devices.values():
                self._offer(device, find_profile(profile), simulated_clock=simulated_clock)
        except BaseException:
            self.close()
            raise

    @property
    def services(self) -> list[str]:
        """Names of the services in the graph."""
        return list(self._services)

    @property
    def topics(self) -> list[str]:
        """Names that the topics of the sensors have in the graph once they are enabled."""
        return [sensor.topic for sensor in self._sensors]

    def offer(self, name: str, kind: str, answer: Callable[[Any], Any]) -> None:
        """Offer a service; ``answer`` gets the request's value and gives the response's.

        Raises
        ------
        DeviceError
            The name is taken.
        """
        path = f"/{self._prefix}{name}"
        if path in self._services:
            raise DeviceError(
                f"robot {self.robot.name!r}: expected devices with different names in ROS, got "
                f"service {path} twice; rename one"
            )
        service = service_class(kind)
        field = service._request_class.__slots__[0]  # noqa: SLF001 (the form that rospy wants)

        def handle(request: Any) -> Any:  # noqa: ANN401 (made at run time)
            refuse = self._node.rospy.ServiceException  # others leave a traceback
            with self._lock:
                if self._is_closed:
                    raise refuse(f"robot {self.robot.name!r} is gone")
                try:
                    value = answer(getattr(request, field))
                except StrapdownError as error:
                    raise refuse(str(error)) from error
            return service._response_class(value)  # noqa: SLF001 (as above)

        self._services[path] = self._node.rospy.Service(path, service, handle)

    def publish(self, step_ms: int) -> None:
        """Publish the messages due after a step of so many ms, in the controller's time."""
        self._time_ms += step_ms
        for sensor in self._sensors:
            sensor.publish(self._time_ms)

    def close(self) -> None:
        """Take everything from the graph."""
        with self._lock:
            self._is_closed = True
            if self._node.is_alive:
                self._node.look()
                for service in self._services.values():
                    service.shutdown()
            for sensor in self._sensors:
                sensor.close()

    def _offer(self, device: Device, profile: Profile, *, simulated_clock: bool) -> None:
        """Offer the services of a device."""
        name = ros_name(device.name)
        self.offer(f"{name}/get_name", "get_string", lambda _: device.name)
        self.offer(f"{name}/get_model", "get_string", lambda _: device.model)
        self.offer(f"{name}/get_node_type", "get_int", lambda _: device.node_type)
        if isinstance(device, Motor):
            self.offer(f"{name}/set_position", "set_float", _told(device.setPosition))
            self.offer(f"{name}/set_velocity", "set_float", _told(device.setVelocity))
        kind = type(device).__name__
        if not (isinstance(device, InertialUnit | VectorSensor) and kind in BLOCKS):
            return
        sensor = _Sensor(
            self._node,
            device,
            frame_id=self._prefix + name,
            profile=profile,
            step_ms=int(self.robot.basic_time_step),
            simulated_clock=simulated_clock,
        )
        self._sensors.append(sensor)
        self.offer(f"{name}/enable", "set_int", sensor.enable)
        self.offer(
            f"{name}/get_sampling_period", "get_int", lambda _: min(sensor.periods, default=0)
        )
        if isinstance(device, VectorSensor):
            self.offer(f"{name}/get_lookup_table", "get_float_array", lambda _: device.lookup_table)
        elif profile.has_quaternion:
            self.offer(f"{name}/get_noise", "get_float", lambda _: device.noise)


class _Sensor:
    """An inertial sensor with its topic.

    Attributes
    ----------
    topic : str
        Name in the graph.
    periods : set of int
        Those that are enabled [ms].
    """

    def __init__(  # noqa: PLR0913 (all but the first two are named)
        self,
        node: Node,
        device: InertialUnit | VectorSensor,
        *,
        frame_id: str,
        profile: Profile,
        step_ms: int,
        simulated_clock: bool,
    ) -> None:
        self.periods: set[int] = set()
        self._node = node
        self._device = device
        self._kind = type(device).__name__
        self._frame_id = frame_id
        self._profile = profile
        self._step_ms = step_ms
        self._simulated_clock = simulated_clock
        self._numbers = count()
        self._publisher: RawPublisher | None = None
        self._sampled = math.nan, 0
        self.topic = f"/{frame_id}/{suffix_of(self._kind, profile)}"

    def enable(self, period: int) -> bool:
        """Publish at one more period [ms], or, if it is 0, not at all."""
        if period < 0 or period % self._step_ms:
            say(_WRONG_PERIOD, period, self._device.name, self._step_ms)
            return False
        if period == 0:
            self.close()
        else:
            if self._publisher is None:
                self._publisher = RawPublisher(self._node, self.topic, IMU)
            self.periods.add(period)
        self._device.enable(min(self.periods, default=0))
        return True

    def publish(self, time_ms: int) -> None:
        """Publish the last value, if it is time to and somebody listens."""
        stamp_ns = self._stamp_ns()
        if (
            self._publisher is None
            or stamp_ns is None
            or all(time_ms % period for period in self.periods)
            or not self._publisher.subscribers()
        ):
            return
        device, noise = self._device, 0.0
        if isinstance(device, VectorSensor):
            values = device.getValues()
        elif self._profile.has_quaternion:
            values, noise = device.getQuaternion(), device.noise
        else:
            values = device.getRollPitchYaw()
        message = imu_message(self._kind, values, self._profile, noise=noise)
        message.header_stamp_ns = stamp_ns
        message.frame_id = self._frame_id
        message.seq = next(self._numbers)
        self._publisher.send(message.to_ros1())

    def close(self) -> None:
        """Take the topic from the graph."""
        self.periods.clear()
        if self._publisher is not None:
            self._publisher.close()
            self._publisher = None

    def _stamp_ns(self) -> int | None:
        """Return the stamp of a message now; None if there is nothing to stamp."""
        if not self._profile.stamps_samples:
            return time_ns()
        sampled_s, _ = self._sampled
        now_s = self._device.sample_time
        if now_s != sampled_s and not math.isnan(now_s):
            stamp_ns = round(1e9 * now_s) if self._simulated_clock else time_ns()
            self._sampled = now_s, stamp_ns
        return None if math.isnan(now_s) else self._sampled[1]


def _told(command: Callable[[float], None]) -> Callable[[float], bool]:
    """Return an answer that passes a command on."""

    def answer(value: float) -> bool:
        command(value)
        return True

    return answer
