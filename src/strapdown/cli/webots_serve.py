"""``strapdown webots serve``: a world for controllers that were built for Webots."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from strapdown import simulation, webots
from strapdown.bridges.webots.server import Server
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
    Realtime,
    Record,
    Seed,
    WorldName,
    outcome,
    recording,
)
from strapdown.errors import ValueRangeError
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.profiles import PROFILES, find_profile
from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.run.runner import ended_by_signals
from strapdown.webots.world.staging import Dynamics

LOOPBACK = "127.0.0.1"
EXTERN = "<extern>"
SERVED = [name for name, profile in PROFILES.items() if profile.can_be_served]


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
            help=f"The release whose behaviour to follow; {' and '.join(SERVED)} can be served.",
            autocompletion=completed(SERVED),
        ),
    ] = "R2025a",
    seed: Seed = None,
    duration: Duration = None,
    motion: MotionName = None,
    poses: Poses = None,
    dynamics: Moved = Dynamics.AUTO,
    sensor: Part = None,
    proto_dir: ProtoDirs = None,
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
    SIGTERM; then every controller's step returns -1, and the recording is
    kept. If a controller disconnects the others continue, and it may return.

    Exit codes: 0 the simulation ended; 1 it failed; 130 Ctrl-C; 143 SIGTERM;
    3 the recording was repaired.

    The fields of --json: world, seed, robots, time_s, steps, record (path,
    samples by topic), notes.

    Examples
    --------
    strapdown webots serve --world imu_robot --motion circle

    strapdown webots serve --world my_world.wbt --tcp 1234 --duration 60 --record run.mcap

    strapdown webots serve --world two_arms --tcp 0.0.0.0:1234 --realtime
    """
    if not find_profile(profile).can_be_served:
        raise ValueRangeError(
            f"expected profile {' or '.join(SERVED)}, got {profile}: served controllers compute "
            "angles by themselves, as that release does; run them with strapdown webots run"
        )
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
                duration_s=duration,
                proto_dirs=proto_dir or (),
            )
            if sensor is not None:
                webots.fit_sensor(simulated, sensor)
            robots = _served(simulated)
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
    view = [f"served {simulated.time_s:g} s of {path.name}, {simulated.step_count} steps"]
    return outcome(data, view, written, code=128 + signals[0] if signals else EXIT_OK)


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
