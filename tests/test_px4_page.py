"""The page for users of PX4 says what the code has: commands, thresholds, pictures."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from strapdown.cli.convert import convert
from strapdown.cli.integrate import integrate
from strapdown.px4 import health, verification

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "px4.md").read_text()


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        (convert, ["attitude", "clock", "fifo_delay", "increments", "noise", "stamp"]),
        (integrate, ["anyway", "kind", "mode", "rate", "samples", "verify"]),
    ],
)
def test_the_options_that_the_page_names_are_there(verb, names):
    for name in names:
        assert name in inspect.signature(verb).parameters
        assert f"--{name.replace('_', '-')}" in PAGE


def test_the_thresholds_of_vibration_are_those_of_the_code():
    levels = [
        ("warning", health.MEAN_WARNING, health.PEAK_WARNING),
        ("critical", health.MEAN_CRITICAL, health.PEAK_CRITICAL),
    ]
    for name, mean, peak in levels:
        assert f"| {name} | {mean} m/s² | {peak} m/s² |" in PAGE


def test_the_tolerances_of_the_verification_are_those_of_the_code():
    gyro, accel = verification.MAX_GYRO_RESIDUAL, verification.MAX_ACCEL_RESIDUAL
    assert f"up to {gyro:.0e}".replace("e-0", "e-") in PAGE
    assert f"{accel:.0e} m/s²".replace("e-0", "e-") in PAGE


def test_the_pictures_are_small_and_all_of_them_shown():
    shown = set(re.findall(r"\]\(px4/(\w+\.png)\)", PAGE))
    assert shown == {picture.name for picture in (DOCS / "px4").iterdir()}
    for name in shown:
        assert (DOCS / "px4" / name).stat().st_size < 80_000, f"{name}: draw less of it"
