"""Real hands, real magnets: the trials of the BROAD benchmark.

D. Laidig et al., Data 6(7):72, 2021, CC BY 4.0. The reference is optical motion capture.
"""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation import ComplementaryFilter
from strapdown.evaluation import evaluate_orientation
from strapdown.series import ImuSeries, Trajectory

pytestmark = pytest.mark.data

STEP_NS = 3_500_000  # 2000/7 Hz


@pytest.fixture(scope="module")
def trials(data_dir):
    files = sorted((data_dir / "broad").glob("*.npz"))
    if not files:
        pytest.skip(f"no trials in {data_dir / 'broad'}")
    return [read(path) for path in files]


def read(path):
    with np.load(path) as trial:
        stamps = np.arange(len(trial["gyr"])) * STEP_NS
        readings = ImuSeries(
            stamps, trial["gyr"], trial["acc"], magnetic_field=trial["mag"] * np.float64(1e-6)
        )
        w, x, y, z = trial["ref"].T
        return readings, Trajectory(stamps, np.stack([x, y, z, w], 1), moving=trial["mov"])


def mean_errors(trials, damage=lambda readings: readings, *, nine_axes=True):
    """Return the mean over trials of the RMS total and inclination errors [deg]."""
    errors = []
    for readings, reference in trials:
        result = ComplementaryFilter().run(damage(readings), use_magnetic_field=nine_axes)
        evaluation = evaluate_orientation(
            result.trajectory(), reference, align="none" if nine_axes else "heading"
        )
        errors.append((evaluation.total_deg, evaluation.inclination_deg))
    return np.mean(errors, axis=0)


def test_nine_axes_stay_within_the_recorded_errors(trials):
    total, inclination = mean_errors(trials)
    assert total < 2.38
    assert inclination < 0.98


def test_six_axes_stay_within_the_recorded_errors(trials):
    total, inclination = mean_errors(trials, nine_axes=False)
    assert total < 4.95
    assert inclination < 0.98


def test_two_per_cent_of_lost_samples_cost_next_to_nothing(trials):
    random = np.random.default_rng(1)

    def drop(readings):
        kept = random.random(len(readings)) >= 0.02
        kept[[0, -1]] = True
        return readings[kept]

    assert mean_errors(trials, drop)[0] < 2.33 + 0.1


def test_two_per_cent_of_broken_readings_cost_next_to_nothing(trials):
    random = np.random.default_rng(2)

    def blind(readings):
        columns = {}
        for name in ("angular_velocity", "specific_force", "magnetic_field"):
            column = getattr(readings, name).copy()
            column[random.random(len(readings)) < 0.02] = np.nan
            columns[name] = column
        return readings.replace(**columns)

    assert mean_errors(trials, blind)[0] < 2.33 + 0.1


def test_gaps_of_a_third_of_a_second_are_survived(trials):
    def cut(readings):
        into = (readings.t_ns - 5_000_000_000) % 20_000_000_000
        return readings[(readings.t_ns < 5_000_000_000) | (into >= 300_000_000)]

    # vqf over linear interpolation of the same gaps: 9.67
    assert mean_errors(trials, cut)[0] < 9.0
