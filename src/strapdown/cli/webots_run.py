"""``strapdown webots run``: execution of Webots controllers without Webots."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strapdown import simulation, webots
from strapdown.cli._common import Force, progress_bar
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
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.profiles import PROFILES
from strapdown.webots.run.programs import find_programs
from strapdown.webots.run.runner import GRACE_S, run_controllers
from strapdown.webots.scene.kinematic import VelocityModel
from strapdown.webots.world.staging import Dynamics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.webots.run.runner import RunReport


def run(
    controller: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONTROLLER.py",
            help="By default ../controllers/NAME/NAME.py of each robot, relative to the world.",
        ),
    ] = None,
    args: Annotated[
        list[str] | None, typer.Argument(metavar="-- ARGS", help="Arguments of the controller.")
    ] = None,
    *,
    world: WorldName,
    robot: Annotated[
        str | None,
        typer.Option(help="The robot that CONTROLLER drives, or the only one to drive."),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            help=f"The release whose behaviour to follow: {', '.join(PROFILES)}.",
            autocompletion=completed(PROFILES),
        ),
    ] = "R2025a",
    axes: Annotated[
        str,
        typer.Option(
            help="Axes of InertialUnits in the profile documented: FUR, or FLU as in ROS."
        ),
    ] = "FUR",
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
    timeout: Annotated[
        float | None,
        typer.Option(help="Wall-clock seconds that a controller may block others."),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(help="Wall-clock seconds that it may run after the end."),
    ] = GRACE_S,
    force: Force = False,
) -> Outcome:
    """Run controllers written for Webots on a world, each in a separate process.

    A controller can import the module controller, as in Webots; its output is
    passed through. The simulation ends with its motion, at --duration, or when
    all controllers have ended. Ctrl-C also ends it and keeps the recording.

    Exit codes: 0 all controllers succeeded; otherwise that of the first one
    that failed (128 plus the number of a signal: 143 after --timeout or
    --grace), or the status that a Supervisor passed to simulationQuit; 130
    Ctrl-C; 143 SIGTERM; 3 the recording was repaired.

    The output of --json follows that of the controllers. Its fields: world,
    profile, seed, time_s, steps, controllers (robot, status, time_s, forced),
    record (path, samples by topic), notes.

    Examples
    --------
    strapdown webots run --world pendulum --duration 10

    strapdown webots run my_controller.py --world my_world.wbt --duration 60 --record run.mcap -- --gain 2

    strapdown webots run logger.py --world imu_robot --motion circle --profile documented --seed 3 --duration 20

    strapdown webots run --world imu_robot --motion wander --sensor mpu6050 --duration 20 --record run.mcap
    """  # noqa: E501 (a command line stays whole)
    path = find_world(world)
    moved = (
        None if motion is None else simulation.find_motion(motion, duration_s=duration, poses=poses)
    )
    file = webots.read_world(
        path,
        proto_dirs=proto_dir or (),
        keep_vectors=webots.find_profile(profile).keeps_vectors,
    )
    # Before the world prints its warnings: an error is one line.
    programs, idle = find_programs(file, controller, robot=robot, args=args or ())
    simulated = webots.World(
        file,
        profile=profile,
        seed=seed,
        motion={robot: moved} if robot and moved else moved,
        dynamics=dynamics,
        velocity_model=velocity_model,
        duration_s=duration,
        axes=axes,
        late_devices=late_devices,
    )
    if sensor is not None:
        webots.fit_sensor(simulated, sensor)
    for line in idle:
        say(line)
    # On a terminal the output of controllers would interfere with the bar.
    bar: AbstractContextManager[Callable[[float], object] | None] = (
        nullcontext() if sys.stdout.isatty() else progress_bar("simulating")
    )
    with bar as progress, recording(simulated, output, force=force) as written:
        report = run_controllers(
            simulated,
            programs,
            timeout_s=timeout,
            grace_s=grace,
            realtime=realtime,
            progress=progress,
        )
    for line in _endings(report):
        typer.echo(line, err=True)
    data = {
        "world": str(path),
        "profile": simulated.profile.name,
        "seed": simulated.seed,
        "time_s": report.time_s,
        "steps": report.steps,
        "controllers": [vars(each) for each in report.ended],
    }
    return outcome(data, [], written, code=report.status, aside=True)


def _endings(report: RunReport) -> Iterator[str]:
    """Yield a line for each controller that failed."""
    for each in report.ended:
        if each.status:
            why = f"; {each.forced}" if each.forced else ""
            yield (
                f"controller of robot {each.robot!r}: exit status {each.status} "
                f"after {each.time_s:g} s{why}"
            )
