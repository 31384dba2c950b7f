"""How good and how fast orientation estimators are, ours beside their peers, in one run.

Run with ``python benchmarks/orientation.py`` (extra ``bench``; recordings where
``STRAPDOWN_DATA`` points to). It prints, as means over the recordings and in degrees RMS,

* the accuracy of ``strapdown bench accuracy`` with further peers, and each trial's total error;
* the BROAD trials with lost samples, gaps and NaN;
* samples a second, and their ratios to vqf's own batch, online and offline.

Peers run with their defaults, or with the gains that are the best for BROAD where their
authors found some. They know neither time steps nor NaN, so where samples are missing they get
data interpolated on the nominal grid.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import ahrs
import imufusion
import numpy as np
import vqf

from strapdown.errors import ValueRangeError
from strapdown.estimation import FILTERS
from strapdown.evaluation import Fault, surviving, with_faults
from strapdown.fleet import DataSet, read_trial
from strapdown.fleet.estimators import ESTIMATORS, columns, estimate, xyzw
from strapdown.fleet.estimators import PEERS as VQF
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from strapdown._typing import FloatArray
    from strapdown.evaluation import OrientationEvaluation
    from strapdown.fleet import Trial
    from strapdown.fleet.estimators import Estimate

REPEATS = 5
BASE = "vqf"
OFFLINE = "vqf offline"
STREAMED = 20_000


def load(folder: Path) -> list[Trial]:
    """Return the recordings of a data set in the order of their names."""
    found = DataSet.find(folder)
    return [read_trial(found.name, path) for path in found.recordings]


def madgwick(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as above)
    """Run Madgwick of ahrs, gain 0.12."""
    gyr, acc, mag = columns(series)
    rate = series.rate_hz
    if with_field:
        field = 1e9 * mag  # it wants nanotesla
        return enu(ahrs.filters.Madgwick(gyr, acc, field, frequency=rate, gain=0.12).Q)
    return enu(ahrs.filters.Madgwick(gyr, acc, frequency=rate, gain=0.12).Q)


def mahony(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as above)
    """Run Mahony of ahrs, gains 0.74 and 0.0012."""
    gyr, acc, mag = columns(series)
    gains = {"frequency": series.rate_hz, "k_P": 0.74, "k_I": 0.0012}
    if with_field:
        return enu(ahrs.filters.Mahony(gyr, acc, 1e9 * mag, **gains).Q)
    return enu(ahrs.filters.Mahony(gyr, acc, **gains).Q)


def fusion(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as above)
    """Run imufusion, whose heading has bias and rejection."""
    made, step = imufusion_made(series.rate_hz)
    gyr, acc, mag = columns(series)
    out = np.empty((len(gyr), 4))
    for i, (w, a, m) in enumerate(zip(np.degrees(gyr), acc / 9.81, 1e6 * mag, strict=True)):
        step(w, a, m if with_field else None)
        out[i] = made.get_quaternion()
    return xyzw(out)


def imufusion_made(rate_hz: float) -> tuple[imufusion.Ahrs, Callable[..., None]]:
    """Return imufusion with the settings of its own example, and a function of one sample."""
    bias, made = imufusion.Bias(), imufusion.Ahrs()
    bias.set_settings(imufusion.BiasSettings(sample_rate=rate_hz))
    settings = imufusion.AhrsSettings(
        sample_rate=rate_hz,
        convention=imufusion.CONVENTION_ENU,
        gain=0.5,
        gyroscope_range=2000,
        acceleration_rejection=10,
        magnetic_rejection=10,
        rejection_timeout=5,
    )
    # 1.3.3 does not keep the convention that its constructor is given
    settings.convention = imufusion.CONVENTION_ENU
    made.set_settings(settings)

    def step(w: FloatArray, a: FloatArray, m: FloatArray | None) -> None:
        w = bias.update(w)
        if m is None:
            made.update_no_magnetometer(w, a)
        else:
            made.update(w, a, m)

    return made, step


PEERS: Mapping[str, Estimate] = {
    BASE: VQF["online"],
    OFFLINE: VQF["offline"],
    "vqf basic": VQF["basic"],
    "imufusion": fusion,
    "ahrs Madgwick": madgwick,
    "ahrs Mahony": mahony,
}


def enu(wxyz: FloatArray) -> FloatArray:
    """Return ahrs's orientation, whose world has x where the field points, in ENU."""
    half = np.sqrt(0.5)
    x, y, z, w = xyzw(wxyz).T
    return half * np.stack([x - y, x + y, z + w, w - z], axis=1)


def on_grid(series: ImuSeries, rate_hz: float) -> ImuSeries:
    """Return the samples on the nominal grid, straight lines where some are missing."""
    step = round(1e9 / rate_hz)
    t_ns = np.arange(series.t_ns[0], series.t_ns[-1] + step // 2, step)

    def lines(values: FloatArray) -> FloatArray:
        good = np.isfinite(values).all(axis=1)
        return np.stack([np.interp(t_ns, series.t_ns[good], v) for v in values[good].T], axis=1)

    field = series.magnetic_field
    return ImuSeries(
        t_ns,
        lines(series.angular_velocity),
        lines(series.specific_force),
        magnetic_field=None if field is None else lines(field),
    )


def judge(
    estimator: Estimate, trials: Iterable[Trial], *, with_field: bool, gridded: bool
) -> list[OrientationEvaluation]:
    """Return the errors of an estimator, one a trial."""
    rows = []
    for trial in trials:
        series = trial.series
        seen = on_grid(series, 1e9 / np.median(np.diff(series.t_ns))) if gridded else series
        estimated = Trajectory(seen.t_ns, estimator(seen, with_field))
        try:
            rows.append(trial.evaluate(estimated, with_field=with_field))
        except ValueRangeError:  # it became NaN
            rows.append(None)
    return rows


def means(rows: list[OrientationEvaluation]) -> str:
    """Return mean total, heading and inclination, and the median total."""
    if None in rows:
        return f"{'NaN':>8}"
    parts = [
        statistics.fmean(getattr(row, f"{part}_deg") for row in rows)
        for part in ("total", "heading", "inclination")
    ]
    median = statistics.median(row.total_deg for row in rows)
    return " ".join(f"{value:8.2f}" for value in [*parts, median])


def accuracy(trials: list[Trial], estimators: Mapping[str, Estimate], title: str,
             *, with_field: bool) -> dict[str, list[OrientationEvaluation]]:  # fmt: skip
    """Print one table of accuracy, and return what stands in it."""
    print(f"\n{title}\n{'':22}    total  heading   incl.   median")
    found = {}
    for name, estimator in estimators.items():
        found[name] = judge(estimator, trials, with_field=with_field, gridded=False)
        print(f"{name:22} {means(found[name])}", flush=True)
    return found


def per_trial(trials: list[Trial], found: Mapping[str, list[OrientationEvaluation]]) -> None:
    """Print the total error of each trial."""
    print(f"\n{'':44}" + "".join(f"{name[-18:]:>20}" for name in found))
    for i, trial in enumerate(trials):
        cells = "".join(f"{rows[i].total_deg:20.2f}" for rows in found.values())
        print(f"{trial.name:44}{cells}")


def broken(trials: list[Trial], estimators: Mapping[str, Estimate], *, with_field: bool) -> None:
    """Print the total error where samples are missing or broken."""
    recordings = [trial.series for trial in trials]
    cases = {"clean": recordings}
    cases |= {str(fault): list(with_faults(fault, recordings)) for fault in Fault}
    print(f"\nBROAD, {'9' if with_field else '6'}D with faults: mean total; peers on a grid")
    print(f"{'':22}" + "".join(f"{case:>12}" for case in cases))
    for name, estimator in estimators.items():
        cells = []
        for left in cases.values():
            pairs = [
                t._replace(series=series, truth=surviving(t.truth, series))
                for t, series in zip(trials, left, strict=True)
            ]
            rows = judge(estimator, pairs, with_field=with_field, gridded=name in PEERS)
            cells.append(statistics.fmean(row.total_deg for row in rows))
        print(f"{name:22}" + "".join(f"{cell:12.2f}" for cell in cells), flush=True)


def rates_of(works: Mapping[str, Callable[[], object]], samples: int) -> dict[str, float]:
    """Return samples a second: medians of runs in turn, after one of each that compiles."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(REPEATS + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: samples / statistics.median(seconds) for name, seconds in times.items()}


def speed(trial: Trial, ours: Mapping[str, Estimate]) -> None:
    """Print samples a second, batch and stream, and ratios to vqf's batch."""
    series, count = trial.series, len(trial.series)
    gyr, acc, mag = columns(series)
    dt = 1.0 / series.rate_hz
    batch: dict[str, Callable[[], object]] = {
        "vqf": lambda: vqf.VQF(dt).updateBatch(gyr, acc, mag),
        "vqf 6D": lambda: vqf.VQF(dt).updateBatch(gyr, acc),
        "vqf full state": lambda: vqf.VQF(dt).updateBatchFullState(gyr, acc, mag),
        OFFLINE: lambda: vqf.offlineVQF(gyr, acc, mag, dt),
    }
    batch |= {
        f"strapdown {name}": partial(estimator, series, True)  # noqa: FBT003 (as above)
        for name, estimator in ours.items()
    }
    rates = rates_of(batch, count)
    print(f"\n{'batch, 9D':30} M samples/s  vqf = 1  {OFFLINE} = 1")
    for name, rate in rates.items():
        print(
            f"{name:30} {rate / 1e6:11.3f} {rate / rates[BASE]:8.2f} {rate / rates[OFFLINE]:16.2f}"
        )
    print(f"\n{'stream, a call a sample, 9D':30}   M calls/s  vqf batch = 1")
    for name, rate in rates_of(streams(series), STREAMED).items():
        print(f"{name:30} {rate / 1e6:11.3f} {rate / rates[BASE]:8.2f}")


def streams(series: ImuSeries) -> dict[str, Callable[[], object]]:
    """Return what leads the first samples through each streaming filter."""
    gyr, acc, mag = (list(column[:STREAMED].copy()) for column in columns(series))
    samples = [
        ImuSample(*row) for row in zip(series.t_ns[:STREAMED].tolist(), gyr, acc, mag, strict=True)
    ]

    def ours(name: str) -> Callable[[], object]:
        made = FILTERS[name]()

        def run() -> None:
            made.reset()
            for sample in samples:
                made.update(sample)

        return run

    def with_vqf() -> None:
        made = vqf.VQF(1.0 / series.rate_hz)
        for w, a, m in zip(gyr, acc, mag, strict=True):
            made.update(w, a, m)
            made.getQuat9D()

    def with_fusion() -> None:
        made, step = imufusion_made(series.rate_hz)
        for w, a, m in zip(gyr, acc, mag, strict=True):
            step(w, a, m)
            made.get_quaternion()

    return {"vqf": with_vqf, "imufusion": with_fusion} | {
        f"strapdown {name}": ours(name) for name in FILTERS
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = os.environ.get("STRAPDOWN_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--slow-peers", action="store_true", help="ahrs too: some minutes")
    parser.add_argument("--only", nargs="*", help="names of our estimators; by default all")
    parser.add_argument("--skip", nargs="*", default=[], help="faults, speed, peers")
    options = parser.parse_args()

    ours = {name: partial(estimate, name) for name in options.only or ESTIMATORS}
    peers = {n: e for n, e in PEERS.items() if options.slow_peers or not n.startswith("ahrs")}
    peers = {} if "peers" in options.skip else peers
    both = peers | {f"strapdown {name}": estimator for name, estimator in ours.items()}

    broad, rooms = load(options.data / "broad"), load(options.data / "tumvi")
    found = accuracy(broad, both, "BROAD, 9D [deg]", with_field=True)
    per_trial(broad, found)
    found = accuracy(broad, both, "BROAD, 6D [deg]", with_field=False)
    per_trial(broad, found)
    found = accuracy(rooms, both, "TUM VI rooms, 6D [deg]", with_field=False)
    per_trial(rooms, found)
    if "faults" not in options.skip:
        quick = {n: e for n, e in both.items() if not n.startswith(("ahrs", "imufusion"))}
        broken(broad, quick, with_field=True)
        broken(broad, quick, with_field=False)
    if "speed" not in options.skip:
        speed(broad[0], ours)


if __name__ == "__main__":
    main()
