"""What a simulated sample costs: on a motion, in a file, the model and the noise alone, a step.

Run with ``python benchmarks/simulation.py``. The model has all that a data sheet speaks of: white
noise, random walk, flicker of seven terms, turn-on bias, scale, misalignment and g-sensitivity,
range and 16 bit, for six axes at 1 kHz. Beside it stand, in the same run:

* the same model with NumPy and ``scipy.signal.lfilter``, slow terms decimated like ours;
* the same model with everything at the full rate, as it is mostly written;
* ``imu-error-model``, where it is installed (``pip install imu-error-model``).

Runs are those of a data sheet with every error that it names, from the call to the samples, on
every named motion and on a quintic spline through poses at 200 Hz; with ``strapdown sim`` from
the start of the process to a file of each format with the truth beside the samples, with a
picture and without. ``bare file`` is what writing the same bytes takes, synchronised as ours are:
no program that makes such a file is faster. ``by CPU`` counts the processor time of all threads.

gnss-ins-sim is not on the package index and so not measured here; its model is white noise and one
Gauss-Markov process an axis.

Times are those of the thread, so other work on the machine disturbs little; those of the command
are by the clock. Each is the median and the best of several.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from _machine import cost_of, describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.motion import PoseSpline
    from strapdown.sensors.spec import ImuSpec
    from strapdown.sensors.triad import TriadSpec

RATE_HZ = 1000
SIZES = (10_000, 200_000)
STREAM_STEPS = 100_000
DECIMATION = 32
PART, PART_HZ = "ADIS16470", 2000
MOST_S = 150.0
COMMAND_S = 500.0
COMMAND_REPEATS = 3
ENDINGS = ("npz", "parquet", "mcap", "bag", "csv")
POSES_HZ = 200
PEER_STEPS = 300


def full_model() -> ImuSpec:
    """Return the specification that everything here has."""
    from strapdown.sensors.spec import ImuSpec  # noqa: PLC0415 (a stream imports it by itself)
    from strapdown.sensors.triad import TriadSpec, TurnOn  # noqa: PLC0415 (as above)

    cross = ((3e-3, 1e-3, -1e-3), (2e-3, -3e-3, 1e-3), (-1e-3, 2e-3, 1e-3))
    gyro = TriadSpec(
        noise_density=7e-5,
        bias_random_walk=1e-6,
        bias_instability=2e-5,
        turn_on_bias=TurnOn("normal", 1e-2),
        scale_misalignment=cross,
        g_sensitivity=((1e-4, 2e-5, 1e-5), (1e-5, 1e-4, 2e-5), (2e-5, 1e-5, 1e-4)),
        measurement_range=math.radians(2000),
        resolution=math.radians(2000) / 32768,
        bits=16,
    )
    accel = TriadSpec(
        noise_density=1e-3,
        bias_random_walk=1e-5,
        bias_instability=4e-4,
        turn_on_bias=TurnOn("normal", 0.2),
        scale_misalignment=cross,
        measurement_range=16 * 9.80665,
        resolution=16 * 9.80665 / 32768,
        bits=16,
    )
    return ImuSpec(rate_hz=RATE_HZ, gyro=gyro, accel=accel)


def ideal_inputs(samples: int) -> np.ndarray:
    """Return a lively motion, one row an axis."""
    t = np.arange(samples) / RATE_HZ
    rows = [np.sin((3 + axis) * t + axis) for axis in range(6)]
    rows[5] += 9.80665
    return np.array(rows)


def thread_times(call: Callable[[], object], repeats: int) -> list[float]:
    """Return how long each of several calls takes, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return times


def numpy_model(samples: int, decimation: int) -> Callable[[], np.ndarray]:
    """Return the model on whole arrays, its slow terms every ``decimation`` samples."""
    from scipy.signal import lfilter  # noqa: PLC0415 (only this peer needs it)

    from strapdown.sensors.noise import flicker_terms  # noqa: PLC0415 (the same weights for all)

    spec = full_model()
    inputs = ideal_inputs(samples)
    generator = np.random.Generator(np.random.SFC64(0))
    tau_s, weight = map(np.array, flicker_terms(spec.gyro.flicker_band_s))
    h = decimation / RATE_HZ
    phi, q = np.exp(-h / tau_s), np.sqrt(-np.expm1(-2.0 * h / tau_s))
    matrix = np.eye(6)
    matrix[:3, :3] += spec.gyro.scale_misalignment
    matrix[3:, 3:] += spec.accel.scale_misalignment
    matrix[:3, 3:] = matrix[:3, :3] @ spec.gyro.g_sensitivity
    nodes = samples // decimation + 2

    def slow_errors(triad: TriadSpec) -> np.ndarray:
        slow = triad.bias_random_walk * math.sqrt(h) * np.cumsum(generator.standard_normal(nodes))
        for j in range(len(phi)):
            sigma = triad.bias_instability * math.sqrt(weight[j])
            first = [phi[j] * sigma * generator.standard_normal()]
            driven = (sigma * q[j]) * generator.standard_normal(nodes)
            slow += lfilter([1.0], [1.0, -phi[j]], driven, zi=first)[0]
        slow += triad.turn_on_bias.size * generator.standard_normal()
        if decimation == 1:
            return slow[:samples]
        return np.interp(np.arange(samples), np.arange(nodes) * decimation, slow)

    def simulate() -> np.ndarray:
        out = matrix @ inputs
        for axis in range(6):
            triad, row = spec.gyro if axis < 3 else spec.accel, out[axis]
            np.add(row, slow_errors(triad), out=row)
            white = generator.standard_normal(samples)
            np.add(row, triad.noise_density * math.sqrt(RATE_HZ) * white, out=row)
            np.rint(row / triad.resolution, out=row)
            np.clip(row, -32768, 32767, out=row)
            np.multiply(row, triad.resolution, out=row)
        return out

    return simulate


def imu_error_model(samples: int) -> Callable[[], None] | None:
    """Return the package's model, step by step as its interface has it; None without it."""
    if importlib.util.find_spec("imu_error_model") is None:
        return None
    from imu_error_model import AxisConfig, ImuConfig, ImuModel  # noqa: PLC0415 (optional)

    spec = full_model()
    axes = [
        AxisConfig(
            white_noise_density=triad.noise_density,
            turn_on_bias_std=triad.turn_on_bias.size,
            bias_std=triad.bias_random_walk,
            flicker_bias_std=triad.bias_instability,
            flicker_min_correlation_time=1.0,
            flicker_max_correlation_time=1000.0,
            flicker_components=7,
            scale_factor=3e-3,
            misalignment_std=1e-3,
            measurement_range=triad.measurement_range,
            quantization_step=triad.resolution,
        )
        for triad in (spec.gyro, spec.accel)
    ]
    model = ImuModel(ImuConfig(gyroscope=axes[0], accelerometer=axes[1]), np.random.default_rng(0))
    velocity, attitude, clock = np.zeros(3), np.eye(3), iter(range(sys.maxsize))

    def simulate() -> None:
        for _ in range(samples):
            model.measure(next(clock) / RATE_HZ, velocity, attitude)

    return simulate


def stream() -> None:
    """Print what one step costs in a process that has not imported Numba [us]."""
    from strapdown.sensors.simulator import ImuSimulator  # noqa: PLC0415 (a process of its own)

    device = ImuSimulator(full_model())
    rate, force = (0.1, -0.2, 0.3), (0.5, 0.2, 9.8)
    times = []
    for _ in range(STREAM_STEPS):
        start = time.perf_counter_ns()
        device.feed(rate, force)
        times.append(time.perf_counter_ns() - start)
    if "numba" in sys.modules or "scipy" in sys.modules:
        raise SystemExit("a stream has imported Numba or SciPy")
    print(statistics.median(times) / 1000, statistics.fmean(times) / 1000)


def heading(what: str) -> None:
    """Print the first row of a table."""
    print(f"\n{what:44} {'at once':>9} {'median M/s':>10} {'best M/s':>10} {'ours / it':>12}")


def report(name: str, samples: int, times: list[float], ours: float | None) -> float:
    """Print one row; return the median rate in millions a second."""
    median, best = (samples / t / 1e6 for t in (statistics.median(times), min(times)))
    ratio = "" if ours is None else f"{ours / median:12.1f}"
    print(f"{name:44} {samples:9d} {median:10.4g} {best:10.4g} {ratio}")
    return median


def models(repeats: int) -> None:
    """Print the rows of the models."""
    from strapdown.sensors.model import SensorModel  # noqa: PLC0415 (not before a stream is measured)
    from strapdown.sensors.noise import NoiseKey  # noqa: PLC0415 (as above)

    spec = full_model()
    for samples in SIZES:
        model = SensorModel((spec.gyro, spec.accel), NoiseKey(0, 1), rate_hz=RATE_HZ)
        run = functools.partial(model.run, ideal_inputs(samples))
        ours = report("strapdown", samples, thread_times(run, repeats), None)
        for name, decimation in (("decimated", DECIMATION), ("full rate", 1)):
            call = numpy_model(samples, decimation)
            times = thread_times(call, max(3, repeats // 4))
            report(f"NumPy and lfilter, slow terms {name}", samples, times, ours)
    beside_peer(ours)


def beside_peer(ours: float) -> None:
    """Print the row of the package that is not ours."""
    peer = imu_error_model(PEER_STEPS)
    if peer is None:
        print("imu-error-model is not installed: not measured")
    else:
        report("imu-error-model, the model alone", PEER_STEPS, thread_times(peer, 3), ours)


def spline() -> PoseSpline:
    """Return the quintic spline through poses of a lively motion."""
    from strapdown.motion import MOTIONS, PoseSpline  # noqa: PLC0415 (not before a stream is measured)

    t_s = np.arange(0.0, MOST_S + 1.0, 1.0 / POSES_HZ)
    poses = MOTIONS["wander"].at(t_s)
    return PoseSpline.from_poses(
        t_s, poses.position_world, poses.q_world_from_body, mode="interpolate"
    )


def runs(repeats: int) -> None:
    """Print the rows of whole runs in memory; the last is the sensor at rest beside the peer."""
    from strapdown.motion import MOTIONS  # noqa: PLC0415 (as above)
    from strapdown.simulation import simulate  # noqa: PLC0415 (as above)

    for name, motion in {**MOTIONS, "quintic spline": spline()}.items():
        seconds = min(motion.end_s, MOST_S)
        run = functools.partial(simulate, motion, PART, seconds, rate_hz=PART_HZ)
        times = thread_times(run, max(3, repeats // 4))
        ours = report(name, round(seconds * PART_HZ), times, None)
        if name == "wander":
            lively = ours
            times = thread_times(lambda run=run: run().truth, max(3, repeats // 4))
            report("wander, and its truth", round(seconds * PART_HZ), times, None)
    beside_peer(lively)


def bare_writing(path: Path, place: str) -> float:
    """Return how long it takes to write the bytes of a file, and to synchronise them [s]."""
    data, copy = path.read_bytes(), Path(place, "copy")
    start = time.perf_counter()
    with copy.open("wb") as stream:
        stream.write(data)
        os.fsync(stream.fileno())
    took = time.perf_counter() - start
    copy.unlink()
    return took


def commands(seconds: float) -> None:
    """Print the rows of ``strapdown sim``: wall and processor time, and what bare writing takes."""
    program = str(Path(sys.executable).with_name("strapdown"))
    samples = round(seconds * PART_HZ)
    print(f"\nstrapdown sim, from start to end, {samples / 1e6:g} million samples with their truth")
    columns = ("M/s", "by CPU", "bare file", "CPU s", "MB")
    print(f"{'':44} " + " ".join(f"{column:>10}" for column in columns))
    with tempfile.TemporaryDirectory() as place:
        start = [cost_of([program, "--version"]) for _ in range(COMMAND_REPEATS)]
        cpu_s = statistics.median(cost.cpu_s for cost in start)
        print(f"{'the start alone':44} {'':32} {cpu_s:10.4g}")
        poses = f"{place}/spline.tum"
        words = ["sim", "--motion", "wander", "--rate", str(POSES_HZ), "--no-picture"]
        words += ["--duration", str(seconds + 1.0), "-o", f"{place}/other.npz", "--truth", poses]
        cost_of([program, *words])
        runs = [("static", "npz"), *(("wander", ending) for ending in ENDINGS), (poses, "npz")]
        for motion, ending in runs:
            words = ["sim", "--motion", motion, "--sensor", PART, "--rate", str(PART_HZ)]
            words += ["--duration", str(seconds), "--force", "-o", f"{place}/run.{ending}"]
            words += ["--poses", "interpolate"] if motion == poses else []
            name = f"{Path(motion).stem} to .{ending}"
            row(name, samples, [program, *words, "--no-picture"], place)
            if ending == "npz":
                row(f"{name}, and a picture", samples, [program, *words], place)


def row(name: str, samples: int, command: list[str], place: str) -> None:
    """Print what a command costs, and its files."""
    costs = [cost_of(command) for _ in range(COMMAND_REPEATS)]
    files = [each for each in Path(place).glob("run*") if each.suffix != ".png"]
    bare_s = sum(
        statistics.median(bare_writing(each, place) for _ in range(COMMAND_REPEATS))
        for each in files
    )
    wall_s = statistics.median(cost.wall_s for cost in costs)
    cpu_s = statistics.median(cost.cpu_s for cost in costs)
    size = sum(each.stat().st_size for each in files)
    speeds = (samples / seconds / 1e6 for seconds in (wall_s, cpu_s, bare_s))
    values = (*speeds, cpu_s, size / 1e6)
    print(f"{name:44} " + " ".join(f"{value:10.4g}" for value in values))
    for each in Path(place).glob("run*"):
        each.unlink()


def generators(repeats: int) -> None:
    """Print the rows of the normal numbers."""
    from strapdown._kernels.compilation import compiled  # noqa: PLC0415 (not before a stream is measured)
    from strapdown.sensors.noise import generator as kernels  # noqa: PLC0415 (as above)

    out = np.empty(204_800, np.float32)
    arguments = (0, 0, 0, 0, 0, out, *kernels.scratch())
    fill = functools.partial(compiled(kernels.fill_normals), *arguments)
    ours = report("strapdown", out.size, thread_times(fill, repeats), None)
    for bits in (np.random.SFC64, np.random.PCG64):
        draw = functools.partial(np.random.Generator(bits(0)).standard_normal, out.size)
        report(f"NumPy, {bits.__name__}", out.size, thread_times(draw, repeats), ours)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stream", action="store_true", help="measure one step, nothing else")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=COMMAND_S, help="of each command's run")
    parser.add_argument(
        "--commands", action="store_true", help="measure the commands, nothing else"
    )
    options = parser.parse_args()
    if options.stream:
        stream()
        return
    if options.commands:
        print(describe("numpy", "numba"))
        commands(options.seconds)
        return
    command = [sys.executable, __file__, "--stream"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 (this file)
    median, mean = map(float, answer.split())
    print(f"one step of a stream, no Numba loaded: median {median:.2f} us, mean {mean:.2f} us")
    print(describe("numpy", "numba"))
    heading(f"{PART} at {PART_HZ} Hz on a motion, in memory")
    runs(options.repeats)
    commands(options.seconds)
    heading("six-axis samples of the model alone")
    models(options.repeats)
    heading("normal numbers")
    generators(options.repeats)


if __name__ == "__main__":
    main()
