"""Compilation of machine code ahead of time, for long recordings and fast streams."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown._kernels.compilation import compiling_first
from strapdown.calibration import allan
from strapdown.detection import DETECTORS, StillnessDetector, Voter
from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS, SMOOTHERS, Aiding, FootNavigator, StrapdownNavigator
from strapdown.inertial import WindowRule, increments_from_rates, integrate, preintegrate
from strapdown.inertial.navigation import mechanise
from strapdown.px4.vehicle_imu import vehicle_imu_from_series
from strapdown.series import ImuSeries
from strapdown.simulation import simulate
from strapdown.units import NS_PER_MS, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["warm_up"]


def warm_up(
    names: Iterable[str] | None = None, *, announce: Callable[[str], object] | None = None
) -> dict[str, float]:
    """Compile estimators and detectors for this machine; later processes reuse the machine code.

    Without it they start in plain Python, and a long recording compiles the one that it needs.
    In the calling process, filters and detectors that are created afterwards use machine code
    from their first sample.

    Parameters
    ----------
    names : iterable of str, optional
        Names from ``warming.parts()``; by default all.
    announce : callable, optional
        Called with the name of each before it is compiled.

    Returns
    -------
    dict
        Seconds by name; a fraction of a second where machine code already existed.

    Raises
    ------
    UnknownNameError
        There is no such name.
    """
    known = parts()
    took: dict[str, float] = {}
    for name in known if names is None else names:
        if name not in known:
            raise UnknownNameError("part to compile", name, known)
        if announce is not None:
            announce(name)
        begun = perf_counter()
        with compiling_first():
            known[name]()
        took[name] = perf_counter() - begun
    return took


def parts() -> dict[str, Callable[[], object]]:
    """Return the calls that compile each filter, smoother, navigator, detector, ..., by name."""
    series = _rest()
    return {
        **{name: partial(_run, make, series) for name, make in FILTERS.items()},
        **{f"{name} smoother": partial(_run, make, series) for name, make in SMOOTHERS.items()},
        "navigator": partial(_navigate, series, smooth=False),
        "navigation smoother": partial(_navigate, series, smooth=True),
        "foot navigator": partial(_run, FootNavigator, series),
        "foot smoother": lambda: FootNavigator().run(series, smooth=True),
        **{f"{name} detector": partial(_run, make, series) for name, make in DETECTORS.items()},
        "stillness detector": partial(_run, StillnessDetector, series),
        "voter": lambda: Voter(2).run([series, series]),
        "increments": partial(integrate, series, window=WindowRule(10)),
        "mechanisation": partial(mechanise, series),
        "vehicle_imu": partial(vehicle_imu_from_series, series),
        "preintegration": partial(preintegrate, series),
        "Allan deviations": lambda: [allan(series, kind=kind) for kind in ("oadev", "mdev")],
        "simulation": partial(simulate, "wander", duration_s=1.0),
    }


def _run(make: Callable[[], Any], series: ImuSeries) -> object:
    return make().run(series)


def _navigate(series: ImuSeries, *, smooth: bool) -> None:
    """Run a navigator over samples and increments, with a measurement."""
    for data in (series, increments_from_rates(series)[0]):
        aiding = [Aiding.zero_velocity(int(data.t_ns[-1]))]
        StrapdownNavigator().run(data, aiding=aiding, smooth=smooth)


def _rest() -> ImuSeries:
    """Return two seconds at rest, in a magnetic field."""
    count = 200
    return ImuSeries(
        np.arange(count) * 10 * NS_PER_MS,
        np.zeros((count, 3)),
        np.tile([0.0, 0.0, STANDARD_GRAVITY], (count, 1)),
        magnetic_field=np.tile([0.0, 2e-5, -4e-5], (count, 1)),
    )
