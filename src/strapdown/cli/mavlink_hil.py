"""``strapdown mavlink hil``: a robot of a Webots world, flown by an autopilot."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated

import typer

from strapdown import webots
from strapdown.bridges.mavlink.ardupilot import ArduPilotSimulator
from strapdown.bridges.mavlink.hil import HilSimulator
from strapdown.bridges.mavlink.simulator import Simulator
from strapdown.cli._common import Force
from strapdown.cli._outcome import EXIT_OK, Outcome, say
from strapdown.cli._webots import ProtoDirs, Record, Seed, WorldName, outcome, recording
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.runner import ended_by_signals


class Autopilot(StrEnum):
    """Program that flies the robot."""

    PX4 = "px4"
    ARDUPILOT = "ardupilot"


SIMULATORS: dict[Autopilot, type[Simulator]] = {
    Autopilot.PX4: HilSimulator,
    Autopilot.ARDUPILOT: ArduPilotSimulator,
}


def hil(
    *,
    world: WorldName = "quadcopter",
    autopilot: Annotated[
        Autopilot,
        typer.Option(help="MAVLink HIL by TCP, or the JSON interface of ArduPilot's SITL by UDP."),
    ] = Autopilot.PX4,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Address at which the autopilot finds its simulator, by default port"
            f" {HilSimulator.port} or {ArduPilotSimulator.port} of this machine; port 0: any free"
            " port.",
        ),
    ] = None,
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
        float, typer.Option(help="Longest wait for the autopilot and for its answer \\[s].")
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

    PX4 connects by TCP. It gets HIL_SENSOR at every basic step and HIL_GPS,
    and answers with HIL_ACTUATOR_CONTROLS; from its first answer on time
    advances in lockstep with it. ArduPilot (--model JSON:127.0.0.1) sends its
    outputs by UDP, each for one basic step. The world needs physics, the
    coordinate system ENU and, for PX4, gpsCoordinateSystem WGS84.

    Exit codes: 0 the simulation ended, or the autopilot disconnected; 1 none
    connected, or it fell silent; 130 Ctrl-C; 143 SIGTERM.

    The fields of --json: world, seed, time_s, messages (sensors, fixes and
    controls, or controls and lost), record (path, samples by topic), notes.

    Examples
    --------
    strapdown mavlink hil

    strapdown mavlink hil --world quadcopter --duration 60 --record flight.mcap

    strapdown mavlink hil --autopilot ardupilot --world my_drone.wbt --motor m1 --motor m2
    """
    path = find_world(world)
    simulated = webots.World(path, seed=seed, proto_dirs=proto_dir or ())
    with SIMULATORS[autopilot](
        simulated,
        listen=listen,
        robot=robot,
        motors=tuple(motor or ()),
        patience_s=patience,
    ) as simulator:
        say("waiting for an autopilot at {}:{}".format(*simulator.address))
        with (
            recording(simulated, output, force=force) as written,
            ended_by_signals(simulator.stop) as signals,
        ):
            time_s = simulator.fly(math.inf if duration is None else duration)
    data = {
        "world": str(path),
        "seed": simulated.seed,
        "time_s": time_s,
        "messages": simulator.counts,
    }
    counts = ", ".join(f"{count} {name}" for name, count in simulator.counts.items())
    line = f"flew {time_s:g} s of {path.name}: {counts}"
    return outcome(data, [line], written, code=128 + signals[0] if signals else EXIT_OK)
