"""Write docs/gallery.md and draw its pictures: ``python docs/make_gallery.py``.

Takes about two minutes. The numbers are the same on every run; the pictures too, with the same
matplotlib.
"""  # noqa: INP001 (a script beside the pages, not a package)

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from strapdown import plots
from strapdown.calibration import allan
from strapdown.motion import DESCRIPTIONS, MOTIONS, Mounted
from strapdown.sensors import Datasheet, load_profile, profile_names
from strapdown.simulation import rest_deviation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from strapdown.sensors import ImuSpec

DOCS = Path(__file__).parent
PICTURES = DOCS / "gallery"
COLOURS = 64
RATE_HZ = 100
SAMPLES = 2**23
HOURS_AT_REST = 6
HOURS = SAMPLES / RATE_HZ / 3600.0
SECONDS = {
    "static": 2.0,
    "free_fall": 2.0,
    "spin": 3.0,
    "circle": 12.6,
    "helix": 12.6,
    "multi_sine": 5.0,
    "lissajous": 10.0,
    "chirp": 8.0,
    "coning": 3.0,
    "sculling": 1.0,
    "turntable": 62.0,
    "six_position": 70.0,
}
"""What is drawn of a motion; 20 s of others."""

HEAD = """\
# Gallery

One picture for each motion and each sensor profile; `python docs/make_gallery.py` draws them and
writes this page. How to use what is shown: [simulation.md](simulation.md).

## Motions

The names of `strapdown.motion.MOTIONS`, for `strapdown sim --motion NAME`. On the left the true
attitude and position, on the right what a perfect IMU at the body's origin reads. Long motions
are drawn in part.
"""
SENSORS = f"""\
## Sensors

Each profile was simulated at rest: {HOURS:.0f} hours at {RATE_HZ} Hz, seed 0. The points are the
Allan deviation of the samples, with a bar of one standard deviation. The thin lines are the
numbers of the data sheet, the thick grey line is the sum of the terms, `spec.allan(tau)`. Where a
sheet says nothing the term is off, and the picture says so.

Sheets print white noise as a density or as a random walk; the legends have the random walk. A
density n read as one-sided gives N = n/√2, so 0.005 deg/s/sqrt(Hz) is 0.212 deg/√h; the sheet of
each part has its [reading](guides/noise.md#one-sided-or-two-sided). The model takes the random
walk where a sheet has both. The flicker floor is the lowest point of the Allan curve as
printed; it is flat from 1 s to 1000 s and falls away outside, which shows where no white noise is
given.

The parts stand at their smallest range, where rounding adds least. At a coarse one it can hide
the noise: [what a coarse range does](simulation.md#saturation-and-quantisation).
"""


def save(figure: Figure, name: str) -> None:
    """Write a picture of few colours, which is small."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    with Image.open(buffer) as picture:
        few = picture.convert("RGB").quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        few.save(PICTURES / f"{name}.png", optimize=True)


def finest(sheet: Datasheet) -> ImuSpec:
    """Return a part at its smallest ranges."""
    gyro, accel = (triad.range and min(triad.range.settings) for triad in (sheet.gyro, sheet.accel))
    return sheet.spec(rate_hz=RATE_HZ, gyro_range=gyro, accel_range=accel)


def page() -> str:
    """Return the text of the page."""
    return "\n".join(
        [HEAD, *map(about_motion, MOTIONS), SENSORS, *map(about_sensor, profile_names())]
    )


def about_motion(name: str) -> str:
    """Return the part of the page about a motion."""
    said = DESCRIPTIONS[name]
    return f"### {name}\n\n{said[0].upper()}{said[1:]}.\n\n![{name}: {said}](gallery/{name}.png)\n"


def about_sensor(name: str) -> str:
    """Return the part of the page about a profile."""
    sheet = load_profile(name)
    printed = [f"Printed: {'; '.join(noise_of(sheet))}."] if any(noise_of(sheet)) else []
    words = [*printed, *sheet.notes]
    text = " ".join(words) or "The source gives no noise."
    return (
        f"### {name}\n\n{' '.join(filter(None, (sheet.maker, sheet.name)))}. {text}\n\n"
        f"![{sheet.name}: Allan deviation of gyroscope and accelerometer](gallery/{name}.png)\n"
    )


def noise_of(sheet: Datasheet) -> Iterator[str]:
    """Yield what a sheet prints about the noise of each triad."""
    for name, triad in (("gyro", sheet.gyro), ("accelerometer", sheet.accel)):
        numbers = (triad.white_noise, triad.bias_instability, triad.bias_random_walk)
        given = [str(number) for number in numbers if number]
        if given:
            yield f"{name} {', '.join(given)}"


def draw_fitted_noise() -> None:
    """Draw the fit of a simulated log at rest, for the page on characterising a sensor."""
    spec = load_profile("adis16470").spec(rate_hz=RATE_HZ)
    walk = replace(spec.accel, bias_random_walk=2e-5)
    simulation = simulate("static", replace(spec, accel=walk), HOURS_AT_REST * 3600.0, seed=2)
    result = allan(simulation.samples.series())
    title = f"ADIS16470 with a random walk added, simulated: {HOURS_AT_REST} h at {RATE_HZ} Hz"
    save(plots.plot_noise(result, result.fit(), title=title), "fitted_noise")


def draw() -> None:
    """Draw every picture."""
    PICTURES.mkdir(exist_ok=True)
    draw_fitted_noise()
    for name, motion in MOTIONS.items():
        seconds = SECONDS.get(name, 20.0)
        title = f"{name}: {DESCRIPTIONS[name]}"
        save(plots.plot_motion(Mounted(motion), title=title, duration_s=seconds), name)
    for name in profile_names():
        spec = finest(load_profile(name))
        save(plots.plot_allan(spec, rest_deviation(spec, samples=SAMPLES)), name)
    coarse = load_profile("lsm6dsv").spec(rate_hz=RATE_HZ)
    title = "LSM6DSV at its largest range, 4000 deg/s and 16 g: Allan deviation"
    measured = rest_deviation(coarse, samples=SAMPLES)
    save(plots.plot_allan(coarse, measured, title=title), "coarse_range")


if __name__ == "__main__":
    (DOCS / "gallery.md").write_text(page())
    draw()
