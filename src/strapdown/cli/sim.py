"""``strapdown sim``: simulation of a sensor on a motion."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strapdown import messages, plots, simulation
from strapdown.cli._common import Force, progress_bar, refuse_input, working
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome
from strapdown.errors import ValueRangeError
from strapdown.formats._output import check_ending, refuse
from strapdown.motion import MOTIONS, SplineMode, SplineWarning, Wgs84
from strapdown.plots._axes import PICTURES
from strapdown.samples import SampleKind
from strapdown.sensors import ImuSpec, SpecWarning, TriadSpec, WhiteNoiseWarning, profile_names
from strapdown.sensors.units import Limit
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown.simulation import Ride, SimulationReport

DRAWN_SAMPLES = 2**17
"""Number of samples in the figure of a long run."""
MOTION_HELP = (
    f"A name ({', '.join(MOTIONS)}), or a file: a trajectory or IMU recording, motion commands, "
    "a MuJoCo or URDF world."
)


def sim(
    *,
    motion: Annotated[str, typer.Option(help=MOTION_HELP, autocompletion=completed(MOTIONS))],
    sensor: Annotated[
        str,
        typer.Option(
            help="A profile (see: strapdown sensors), a TOML file, or ideal.",
            autocompletion=completed((*profile_names(), "ideal")),
        ),
    ] = "ideal",
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The file to write: .mcap, .bag, .ulg, .csv, .npz or .parquet."
        ),
    ],
    rate: Annotated[float | None, typer.Option(help="Samples per second; by default 200.")] = None,
    duration: Annotated[
        float | None,
        typer.Option(help="Seconds; by default the whole motion, or 60 if it has no end."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all noise: the same seed gives the same bits.")
    ] = 0,
    truth: Annotated[
        Path | None, typer.Option(help="A separate file for the truth; also .tum.")
    ] = None,
    sensors: Annotated[
        int, typer.Option(min=1, help="Number of sensors, each with separate noise.")
    ] = 1,
    sampling: Annotated[
        SampleKind | None, typer.Option(help="Kind of the samples; by default that of the sensor.")
    ] = None,
    gyro_range: Annotated[
        float | None,
        typer.Option(metavar="DEG/S", help="Full scale of the gyro; by default its largest."),
    ] = None,
    accel_range: Annotated[
        float | None, typer.Option(metavar="G", help="Full scale of the accelerometer.")
    ] = None,
    unstated_limits: Annotated[
        Limit | None,
        typer.Option(help="Meaning of +- limits that a sheet leaves open; by default off."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Signals and Allan deviation; by default next to the output, as .png."),
    ] = None,
    no_picture: Annotated[
        bool, typer.Option("--no-picture", help="Draw no figure, which saves a second or two.")
    ] = False,
    poses: Annotated[
        SplineMode | None,
        typer.Option(help="Spline of the motion through the poses of a recorded trajectory."),
    ] = None,
    pose_noise: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="M DEG",
            help="Noise of recorded positions in m and attitudes in deg, to smooth.",
        ),
    ] = None,
    knots_per_s: Annotated[
        float | None, typer.Option(help="Knots per second of the smoothing spline instead.")
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Site of the IMU in a world; by default imu.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Topic of a recording.")] = None,
    wgs84: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="LAT LON HEIGHT",
            help="Rotating Earth with this origin (deg, deg, m), instead of a flat one.",
        ),
    ] = None,
    force: Force = False,
) -> Outcome:
    """Simulate a sensor on a motion and write its samples together with the truth.

    Noise, bias and range are those of the sensor's data sheet; unknown
    parameters are off and listed. The same seed gives the same bits. The
    figure shows the signals, and the Allan deviation of the sensor at rest
    over the lines of its specification.

    The fields of --json: motion, sensor, rate_hz, duration_s, seed, sensors
    (names), samples, files (messages by path), picture (or null), clipped (samples by
    triad), dropped, missing (parameters that are off), notes, warnings.

    Examples
    --------
    strapdown sim --motion circle --sensor MPU-6050 --rate 200 --duration 60 --seed 1 --output run.mcap

    strapdown sim --motion walk.tum --poses smooth --pose-noise 0.001 0.1 --sensor mine.toml --output walk.npz

    strapdown sim --motion wander --sensor ADIS16470 --sensors 100 --duration 600 --seed 7 --output fleet.parquet --truth truth.tum

    strapdown sim --motion robot.xml --site imu --sensor BMI270 --rate 400 --duration 5 --output robot.csv --json
    """  # noqa: E501 (a command line stays whole)
    from strapdown.simulation.recorder import ENDINGS, TRUTH_ENDINGS  # noqa: PLC0415 (slow)

    if picture and no_picture:
        raise typer.BadParameter("expected --picture or --no-picture", param_hint="'--picture'")
    drawn = None if no_picture else picture or output.with_suffix(".png")
    places: dict[Path, tuple[str, ...]] = {output: ENDINGS}
    places |= {drawn: PICTURES} if drawn else {}
    places |= {truth: TRUTH_ENDINGS} if truth else {}
    for place, endings in places.items():  # before a world is loaded, which may take long
        check_ending(place, endings)
        refuse(place, force=force)
        refuse_input(place, [Path(motion)])
    with working(f"preparing {motion}"), warnings.catch_warnings(record=True) as caught:
        for kind in (SpecWarning, WhiteNoiseWarning, SplineWarning):
            warnings.simplefilter("always", kind)
        spec = simulation.find_sensor(
            sensor,
            rate_hz=rate,
            sampling=sampling,
            gyro_range=gyro_range and gyro_range * RAD_PER_DEG,
            accel_range=accel_range and accel_range * STANDARD_GRAVITY,
            unstated_limits=unstated_limits,
        )
        ride = simulation.find_motion(
            motion,
            duration_s=duration,
            earth=_earth(wgs84),
            site=site,
            topic=topic,
            poses=poses,
            pose_noise=pose_noise and (pose_noise[0], pose_noise[1] * RAD_PER_DEG),
            knots_per_s=knots_per_s,
        )
    with progress_bar("simulating") as progress:
        report = simulation.record(
            output,
            ride,
            spec,
            sensors=sensors,
            seed=seed,
            truth=truth,
            force=force,
            progress=progress,
        )
    data = _as_data(ride, spec, report)
    data["picture"] = drawn and str(drawn)
    data["warnings"] = [*(str(each.message) for each in caught), *_doubts(spec)]
    view = [
        _headline(ride, spec, report),
        *data["notes"],
        *(f"warning: {doubt}" for doubt in data["warnings"]),
        *_remarks(spec, report),
        _written(report),
    ]
    check = f"run: strapdown info {next(iter(report.files))}"
    if drawn is None:
        view.append(check)
    else:
        with working("drawing"):
            extent = _draw(drawn, ride, spec, report, force=force)
        view.append(f"wrote {drawn}{extent}: look at it, or {check}")
    return Outcome(data, view, report.lost)


def _earth(wgs84: tuple[float, float, float] | None) -> Wgs84 | None:
    if wgs84 is None:
        return None
    latitude, longitude, height = wgs84
    if not abs(latitude) <= 90.0:
        raise ValueRangeError(f"expected a latitude from -90 to 90 deg, got {latitude:g}")
    return Wgs84(latitude * RAD_PER_DEG, longitude * RAD_PER_DEG, height)


def _draw(
    picture: Path, ride: Ride, spec: ImuSpec, report: SimulationReport, *, force: bool
) -> str:
    """Draw the first sensor; return a remark if only a part of a long run is drawn."""
    most_s = DRAWN_SAMPLES / float(spec.rate_hz)
    seed, name = report.seed, report.sensors[0]
    run = simulation.simulate(ride, spec, min(ride.duration_s, most_s), seed=seed, name=name)
    samples, rates = run.samples, run.samples.delta_angle is None
    series = (
        samples.series()
        if rates
        else messages.conversion.series_from_increments(samples.increments())
    )
    rest = simulation.rest_deviation(spec, seed=seed, name=name)
    figure = plots.plot_simulation(series, run.truth, spec, rest)
    plots.save(figure, picture, force=force)
    return "" if ride.duration_s <= most_s else f" of the first {most_s:g} s"


def _headline(ride: Ride, spec: ImuSpec, report: SimulationReport) -> str:
    count = len(report.sensors)
    return (
        f"{spec.name}{f', {count} sensors,' if count > 1 else ''} on {ride.name}: "
        f"{report.samples} samples at {float(spec.rate_hz):g} Hz over {report.duration_s:g} s, "
        f"seed {report.seed}"
    )


def _doubts(spec: ImuSpec) -> Iterator[str]:
    """Yield warnings about a coarse resolution."""
    for name, triad in spec.triads().items():
        density = triad.per_axis("noise_density")
        if density is not None and triad.resolution is not None:
            sigma = min(density) * math.sqrt(float(spec.rate_hz))
            if triad.resolution > 2.0 * sigma:
                yield f"{name}: at this range its noise is below half a bit, and the output sticks"
            elif (
                added := math.hypot(1.0, triad.resolution / (sigma * math.sqrt(12.0))) - 1
            ) > 0.02:
                yield f"{name}: at this range rounding adds {added:.0%} to its noise"


def _remarks(spec: ImuSpec, report: SimulationReport) -> Iterator[str]:
    for name, count in report.clipped.items():
        if count:
            yield f"clipped: {count} samples of the {name}"
    if report.dropped:
        yield f"dropped on the way to the host: {report.dropped} samples"
    for name, triad in spec.triads().items():
        own = f"{name}."
        off = [each.removeprefix(own) for each in report.missing if each.startswith(own)]
        if off and triad != TriadSpec():
            yield f"{name}, unknown and therefore off: {', '.join(off)}"


def _written(report: SimulationReport) -> str:
    files = list(report.files)
    shown = files if len(files) < 5 else [files[0], "...", *files[-2:]]
    return f"wrote {', '.join(shown)}: {sum(report.files.values())} messages"


def _as_data(ride: Ride, spec: ImuSpec, report: SimulationReport) -> dict[str, Any]:
    return {
        "motion": ride.name,
        "sensor": spec.name,
        "rate_hz": float(spec.rate_hz),
        "duration_s": report.duration_s,
        "seed": report.seed,
        "sensors": list(report.sensors),
        "samples": report.samples,
        "files": dict(report.files),
        "clipped": dict(report.clipped),
        "dropped": report.dropped,
        "missing": list(report.missing),
        "notes": [*ride.notes, *report.notes],
    }
