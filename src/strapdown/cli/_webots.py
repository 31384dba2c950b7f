"""Options and recording shared by the verbs of ``strapdown webots``."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from strapdown import webots
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome
from strapdown.errors import StrapdownError
from strapdown.motion import MOTIONS, SplineMode
from strapdown.sensors import profile_names
from strapdown.webots.file.sample_worlds import sample_worlds
from strapdown.webots.scene.kinematic import VelocityModel
from strapdown.webots.world.staging import Dynamics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strapdown.webots.run.recording import RecordingReport
    from strapdown.webots.world.world import World

__all__ = [
    "Duration",
    "LateDevices",
    "MotionName",
    "Moved",
    "Part",
    "Poses",
    "ProtoDirs",
    "Realtime",
    "Record",
    "Seed",
    "Velocities",
    "WorldName",
    "outcome",
    "recording",
]

WorldName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--world",
        help=f"A .wbt file, or a sample world: {', '.join(sample_worlds())}.",
        autocompletion=completed(sample_worlds()),
    ),
]
Seed: TypeAlias = Annotated[
    int | None, typer.Option(min=0, help="Seed of all noise; by default randomSeed of the world.")
]
Duration: TypeAlias = Annotated[
    float | None, typer.Option(help="Simulated seconds; by default as long as the motion.")
]
MotionName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The motion of the robot: a name (see: strapdown sim), or a file.",
        autocompletion=completed(MOTIONS),
    ),
]
Poses: TypeAlias = Annotated[
    SplineMode | None,
    typer.Option(help="Spline of the motion through recorded poses."),
]
Moved: TypeAlias = Annotated[
    Dynamics,
    typer.Option(
        help="Physics needs the extra physics; auto: if bodies would move without a motion."
    ),
]
ProtoDirs: TypeAlias = Annotated[
    list[Path] | None, typer.Option(help="A folder with PROTO files; repeatable.")
]
Record: TypeAlias = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Record the measurements of the sensors."),
]
Part: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sensor",
        help="Error model of gyros and accelerometers, instead of lookup tables: a profile (see: "
        "strapdown sensors) or a TOML file.",
        autocompletion=completed(profile_names()),
    ),
]
Velocities: TypeAlias = Annotated[
    VelocityModel,
    typer.Option(
        "--velocity-model",
        help="Velocities of bodies in kinematic worlds: exact, or those of a semi-implicit Euler "
        "engine, as ODE in Webots.",
    ),
]
LateDevices: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--late-devices", help="Let controllers find devices that a Supervisor adds to their robot."
    ),
]
Realtime: TypeAlias = Annotated[
    bool, typer.Option("--realtime", help="Run no faster than the wall clock.")
]


@contextmanager
def recording(
    world: World, output: Path | None, *, force: bool
) -> Iterator[RecordingReport | None]:
    """Record a world if there is an output; the file is complete even if the simulation fails."""
    failure: StrapdownError | None = None
    with nullcontext() if output is None else webots.record(world, output, force=force) as written:
        try:
            yield written
        except StrapdownError as error:
            failure = error
    if failure is not None:
        raise failure


def outcome(
    data: Mapping[str, Any],
    view: Sequence[str],
    written: RecordingReport | None,
    *,
    code: int,
    aside: bool = False,
) -> Outcome:
    """Return the outcome of a simulation and of its recording."""
    if written is None:
        return Outcome({**data, "record": None, "notes": []}, view, code=code, aside=aside)
    samples = written.samples
    return Outcome(
        {
            **data,
            "record": {"path": str(written.path), "samples": samples},
            "notes": list(written.notes),
        },
        [*view, f"wrote {written.path}: {sum(samples.values())} messages", *written.notes],
        written.lost,
        code=code,
        aside=aside,
    )
