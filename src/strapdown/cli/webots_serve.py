"""``strapdown webots serve``: a world for controllers that were built for Webots."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from strapdown import simulation, webots
from strapdown.bridges.webots.server import Server
from strapdown.bridges.webots.wire import check_angles
from strapdown.cli._common import Force
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome, say
from strapdown.cli._webots import (
    Duration,
    LateDevices,
    MotionName,
    Moved,
    Part,
    Poses,
    ProtoDirs,
    Realtime,
    Record,
    Seed,
    Velocities,
    WorldName,
    outcome,
    recording,
)
from strapdown.errors import ValueRangeError
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.profiles import PROFILES
from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.run.runner import ended_by_signals
from strapdown.webots.scene.kinematic import VelocityModel
from strapdown.webots.world.staging import Dynamics

LOOPBACK = "127.0.0.1"
EXTERN = "<extern>"


def serve(
    *,
    world: WorldName,
    tcp: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help=f"Also listen for TCP; without HOST only on {LOOPBACK}. Port 0 is any free port.",
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            help=f"The release whose behaviour to follow: {', '.join(PROFILES)}; not all serve "
            "InertialUnits.",
            autocompletion=completed(PROFILES),
        ),
    ] = "R2025a",
    seed: Seed = None,
    duration: Duration = None,
    motion: MotionName = None,
    poses: Poses = None,
    dynamics: Moved = Dynamics.AUTO,
    velocity_model: Velocities = VelocityModel.EXACT,
    sensor: Part = None,
    proto_dir: ProtoDirs = None,
    late_devices: LateDevices = False,
    output: Record = None,
    realtime: Realtime = False,
    force: Force = False,
) -> Outcome:
    """Serve a world to controllers that are linked with the library of Webots R2025a.

    Controllers in C, C++, Java, MATLAB or Python connect unchanged: start
    them with the WEBOTS_CONTROLLER_URL that is printed. The robots are those
    whose controller is <extern>, or all if none is; time advances when all
    controllers have called step.

    The simulation ends with its motion, at --duration, or with Ctrl-C or
    SIGTERM, or when a Supervisor ends it; then every controller's step
    returns -1, and the recording is kept. If a controller disconnects the
    others continue, and it may return.

    The profiles documented and R2020a serve robots without InertialUnits
    only: served controllers compute the angles from a quaternion.

    Exit codes: 0 the simulation ended, or the status that a Supervisor passed
    to simulationQuit; 1 it failed; 130 Ctrl-C; 143 SIGTERM; 3 the recording
    was repaired.

    The fields of --json: world, seed, robots, time_s, steps, record (path,
    samples by topic), notes.

    Examples
    --------
    strapdown webots serve --world imu_robot --motion circle

    strapdown webots serve --world my_world.wbt --tcp 1234 --duration 60 --record run.mcap

    strapdown webots serve --world two_arms --tcp 0.0.0.0:1234 --realtime
    """
    path = find_world(world)
    address = None if tcp is None else _address(tcp)
    with Server(address=address, realtime=realtime) as server:
        with server.loading():
            simulated = webots.World(
                path,
                profile=profile,
                seed=seed,
                motion=None
                if motion is None
                else simulation.find_motion(motion, duration_s=duration, poses=poses),
                dynamics=dynamics,
                velocity_model=velocity_model,
                duration_s=duration,
                proto_dirs=proto_dir or (),
                late_devices=late_devices,
            )
            if sensor is not None:
                webots.fit_sensor(simulated, sensor)
            robots = _served(simulated)
            for robot in robots:
                devices = simulated.robots[robot].devices
                check_angles(simulated.profile, [device.info for device in devices])
            server.open(robots)
        for robot in robots:
            for url in server.urls(robot):
                say(f"WEBOTS_CONTROLLER_URL={shlex.quote(url)}")
        lockstep = Lockstep(simulated, robots, realtime=realtime)
        scheduler = lockstep if realtime or len(robots) > 1 else None
        with (
            recording(simulated, output, force=force) as written,
            ended_by_signals(server.stop) as signals,
        ):
            server.serve(robots, simulated.port, scheduler)
    data = {
        "world": str(path),
        "seed": simulated.seed,
        "robots": robots,
        "time_s": simulated.time_s,
        "steps": simulated.step_count,
    }
    status = 128 + signals[0] if signals else simulated.exit_status
    view = [f"served {simulated.time_s:g} s of {path.name}, {simulated.step_count} steps"]
    return outcome(data, view, written, code=status)


def _served(world: webots.World) -> list[str]:
    """Return the robots that controllers may drive."""
    extern = [
        name for name, robot in world.robots.items() if robot.node.get("controller") == EXTERN
    ]
    return extern or list(world.robots)


def _address(text: str) -> tuple[str, int]:
    """Parse a host and a port."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueRangeError(f"expected --tcp [HOST:]PORT with a port of 0 to 65535, got {text!r}")
    return host or LOOPBACK, int(port)
