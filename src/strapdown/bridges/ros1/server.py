"""Robots of a world on a ROS 1 graph, until the simulation ends."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

from strapdown._closing import Closing
from strapdown.bridges.ros1.messages import ros_name
from strapdown.bridges.ros1.robot import RosRobot
from strapdown.errors import StrapdownError, ValueRangeError
from strapdown.transport.links.ros1.node import graph_name, ros1_node
from strapdown.webots.api.robot import Robot
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.webots.world.world import World

__all__ = ["Ros1Devices"]

NAP_S = 0.02
"""Interval between checks whether the simulation has ended [s]."""
LAG_S = 0.1
"""Delay up to which a simulation catches up [s]."""
_WRONG_STEP = "Wrong time step: {} for robot: {}. Pass a multiple of the world's basic step, {} ms."


class Ros1Devices(Closing):
    """Robots of a world on the ROS graph; a context manager.

    If there are several robots, the name of each precedes those of its devices.

    Parameters
    ----------
    world : World
        In this process.
    robots : sequence of str
        Which of its robots.
    namespace : str
        Prefix of every name; empty for none.
    synchronize : bool
        Whether time advances only when a client calls ``robot/time_step``, a webots_ros/set_int
        with milliseconds; for one robot.
    rate : float
        How many times as fast as the wall clock the simulation is, otherwise.

    Raises
    ------
    TransportError
        ROS 1 is not installed, or no master answers.
    DeviceError
        Two devices would have the same name in the graph.
    UnknownNameError
        There is no such robot.
    ValueRangeError
        ROS does not allow the namespace, the rate is not above 0, the world has a step below 1 ms,
        or several robots are to be synchronized.
    """

    def __init__(
        self,
        world: World,
        robots: Sequence[str],
        *,
        namespace: str = "",
        synchronize: bool = False,
        rate: float = 1.0,
    ) -> None:
        if not rate > 0.0:
            raise ValueRangeError(f"expected a rate above 0, got {rate:g}")
        if world.basic_time_step < 1.0:
            raise ValueRangeError(
                f"expected a basicTimeStep of 1 ms or more, got {world.basic_time_step:g}: services"
                " count whole milliseconds"
            )
        if synchronize and len(robots) != 1:
            raise ValueRangeError(
                f"expected one robot whose clients make time go on, got {len(robots)}: name one"
            )
        namespace = namespace.strip("/")
        if namespace:
            graph_name(namespace)
        self._world = world
        self._synchronize = synchronize
        self._rate = rate
        self._lock = threading.Lock()
        self._over = False  # a signal handler sets it: no lock may be needed for that
        self._failure: StrapdownError | None = None
        self._node = ros1_node()
        self.robots: list[RosRobot] = []
        clock = bool(self._node.master.ask("getParam", "/use_sim_time"))
        try:
            for name in robots:
                own = [ros_name(name)] if len(robots) > 1 else []
                robot = RosRobot(
                    self._node,
                    Robot(world, robot=name),
                    profile=world.profile.name,
                    namespace="/".join(filter(None, [namespace, *own])),
                    lock=self._lock,
                    simulated_clock=clock,
                )
                self.robots.append(robot)
            if synchronize:
                self.robots[0].offer("robot/time_step", "set_int", self._step_on_request)
        except BaseException:
            self.close()
            raise

    def run(self) -> None:
        """Run the simulation until it has ended, or :meth:`stop` is called.

        Raises
        ------
        StrapdownError
            The world cannot continue.
        """
        step_s = self._world.basic_time_step / 1000.0 / self._rate
        due_s = monotonic()
        while not self._over:
            early_s = due_s - monotonic()
            if self._synchronize or early_s > 0.0:
                sleep(NAP_S if self._synchronize else min(early_s, NAP_S))
                continue
            due_s += step_s + max(-early_s - LAG_S, 0.0)
            with self._lock:
                self._step(int(self._world.basic_time_step))
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Make :meth:`run` return; callable from any thread or signal handler."""
        self._over = True

    def close(self) -> None:
        """Remove the robots from the graph."""
        self._over = True
        for robot in self.robots:
            robot.close()

    def _step(self, ms: int) -> bool:
        """Advance time for all robots; return whether the simulation continues."""
        try:
            for robot in self.robots:
                if robot.robot.step(ms) < 0:
                    self._over = True
        except StrapdownError as error:
            self._failure = error
            self._over = True
        if not self._over:
            for robot in self.robots:
                robot.publish(ms)
        return not self._over

    def _step_on_request(self, ms: int) -> bool:
        """Advance time at the request of a client."""
        step_ms = int(self._world.basic_time_step)
        if ms < 1 or ms % step_ms:
            say(_WRONG_STEP, ms, self.robots[0].robot.name, step_ms)
            return False
        return not self._over and self._step(ms)
