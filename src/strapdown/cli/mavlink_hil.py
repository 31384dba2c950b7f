"""``strapdown mavlink hil``: a robot of a Webots world, flown by an autopilot."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from strapdown import webots
from strapdown.bridges.mavlink.hil import PX4_PORT, HilSimulator
from strapdown.cli._common import Force
from strapdown.cli._outcome import EXIT_OK, Outcome, say
from strapdown.cli._webots import ProtoDirs, Record, Seed, WorldName, outcome, recording
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.runner import ended_by_signals


def hil(
    *,
    world: WorldName = "quadcopter",
    listen: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT",
            help="TCP address at which the autopilot finds its simulator; port 0: any free port.",
        ),
    ] = f"127.0.0.1:{PX4_PORT}",
    robot: Annotated[
        str | None, typer.Option(help="The robot to fly; by default the only one.")
    ] = None,
    motor: Annotated[
        list[str] | None,
        typer.Option(
            help="A motor, in the order of the outputs; repeatable. By default motor 1, 2 ..."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Longest wait for the autopilot and for its answer [s].")
    ] = 60.0,
    duration: Annotated[
        float | None, typer.Option(help="Simulated seconds; by default until it disconnects.")
    ] = None,
    seed: Seed = None,
    proto_dir: ProtoDirs = None,
    output: Record = None,
    force: Force = False,
) -> Outcome:
    """Simulate a robot of a Webots world for an autopilot, as hardware in the loop.

    The autopilot connects by TCP. It gets HIL_SENSOR at every basic step and
    HIL_GPS, and answers with HIL_ACTUATOR_CONTROLS; from its first answer on
    time advances in lockstep with it. The world needs physics, the coordinate
    system ENU and gpsCoordinateSystem WGS84.

    Exit codes: 0 the simulation ended, or the autopilot disconnected; 1 none
    connected, or it fell silent; 130 Ctrl-C; 143 SIGTERM.

    The fields of --json: world, seed, time_s, sensors, fixes, controls,
    record (path, samples by topic), notes.

    Examples
    --------
    strapdown mavlink hil

    strapdown mavlink hil --world quadcopter --duration 60 --record flight.mcap

    strapdown mavlink hil --world my_drone.wbt --motor m1_motor --motor m2_motor --listen 4561
    """
    path = find_world(world)
    simulated = webots.World(path, seed=seed, proto_dirs=proto_dir or ())
    with HilSimulator(
        simulated, listen=listen, robot=robot, motors=tuple(motor or ()), patience_s=patience
    ) as simulator:
        say("waiting for an autopilot at {}:{}".format(*simulator.address))
        with (
            recording(simulated, output, force=force) as written,
            ended_by_signals(simulator.stop) as signals,
        ):
            flight = simulator.fly(math.inf if duration is None else duration)
    data = {
        "world": str(path),
        "seed": simulated.seed,
        "time_s": flight.time_s,
        "sensors": flight.sensors,
        "fixes": flight.fixes,
        "controls": flight.controls,
    }
    line = (
        f"flew {flight.time_s:g} s of {path.name}: {flight.sensors} HIL_SENSOR,"
        f" {flight.fixes} HIL_GPS, {flight.controls} HIL_ACTUATOR_CONTROLS"
    )
    return outcome(data, [line], written, code=128 + signals[0] if signals else EXIT_OK)
