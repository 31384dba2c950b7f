"""``strapdown ros1 serve``: simulated robots on a ROS 1 master."""

from __future__ import annotations

from typing import Annotated

import typer

from strapdown import simulation, webots
from strapdown.cli._common import Force
from strapdown.cli._completion import completed
from strapdown.cli._outcome import EXIT_OK, Outcome, say
from strapdown.cli._webots import (
    Duration,
    MotionName,
    Moved,
    Part,
    Poses,
    ProtoDirs,
    Record,
    Seed,
    WorldName,
    outcome,
    recording,
)
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.profiles import PROFILES
from strapdown.webots.run.runner import ended_by_signals
from strapdown.webots.world.staging import Dynamics


def serve(
    *,
    world: WorldName,
    robot: Annotated[
        list[str] | None, typer.Option(help="A robot of the world; repeatable. Default: all.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Prefix of every name.")] = "",
    synchronize: Annotated[
        bool,
        typer.Option(
            "--synchronize", help="Advance time only when a client calls robot/time_step."
        ),
    ] = False,
    rate: Annotated[float, typer.Option(help="Simulated seconds per second.")] = 1.0,
    profile: Annotated[
        str,
        typer.Option(
            help=f"The release whose behaviour to follow: {', '.join(PROFILES)}.",
            autocompletion=completed(PROFILES),
        ),
    ] = "documented",
    seed: Seed = None,
    duration: Duration = None,
    motion: MotionName = None,
    poses: Poses = None,
    dynamics: Moved = Dynamics.AUTO,
    sensor: Part = None,
    proto_dir: ProtoDirs = None,
    output: Record = None,
    force: Force = False,
) -> Outcome:
    """Register the devices of simulated robots at the ROS 1 master of ROS_MASTER_URI.

    Topics and services are those of the ROS controller of Webots: a client
    calls /DEVICE/enable (webots_ros/set_int) with a period in ms, and the
    topic /DEVICE/quaternion or /DEVICE/values (sensor_msgs/Imu) appears.
    With several robots the names of devices are prefixed with the robot's.

    ROS 1 has to be installed (on Debian: apt install python3-rospy
    python3-sensor-msgs), and a master has to run. ROS 1 has neither
    passwords nor encryption: if the master is on this host the node
    listens to this host only, unless ROS_IP or ROS_HOSTNAME is set.

    The simulation ends with its motion, at --duration, or with Ctrl-C or
    SIGTERM; the recording is kept.

    Exit codes: 0 the simulation ended; 1 it failed; 130 Ctrl-C; 143 SIGTERM;
    3 the recording was repaired.

    The fields of --json: world, seed, robots, time_s, steps, record (path,
    samples by topic), notes.

    Examples
    --------
    strapdown ros1 serve --world imu_robot --motion circle

    strapdown ros1 serve --world rover --profile R2021a --namespace rover

    strapdown ros1 serve --world imu_robot --synchronize --record run.bag
    """
    from strapdown.bridges.ros1 import Ros1Devices  # noqa: PLC0415 (loads all of a robot)

    path = find_world(world)
    simulated = webots.World(
        path,
        profile=profile,
        seed=seed,
        motion=None
        if motion is None
        else simulation.find_motion(motion, duration_s=duration, poses=poses),
        dynamics=dynamics,
        duration_s=duration,
        proto_dirs=proto_dir or (),
    )
    if sensor is not None:
        webots.fit_sensor(simulated, sensor)
    robots = robot or list(simulated.robots)
    with (
        recording(simulated, output, force=force) as written,
        Ros1Devices(
            simulated, robots, namespace=namespace, synchronize=synchronize, rate=rate
        ) as devices,
        ended_by_signals(devices.stop) as signals,
    ):
        for each in devices.robots:
            say(f"robot {each.robot.name!r}: {' '.join(each.topics)}")
        devices.run()
    data = {
        "world": str(path),
        "seed": simulated.seed,
        "robots": robots,
        "time_s": simulated.time_s,
        "steps": simulated.step_count,
    }
    view = [f"served {simulated.time_s:g} s of {path.name}, {simulated.step_count} steps"]
    return outcome(data, view, written, code=128 + signals[0] if signals else EXIT_OK)
