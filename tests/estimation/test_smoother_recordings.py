"""Smoother on recordings with a reference.

D. Laidig et al., BROAD, Data 6(7):72, 2021; D. Schubert et al., TUM VI, IROS 2018; CC BY 4.0.
"""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation import ErrorStateSmoother
from strapdown.evaluation import evaluate_orientation
from strapdown.evaluation.faults import surviving, with_faults
from strapdown.series import ImuSeries, Trajectory

pytestmark = pytest.mark.data

STEP_NS = 3_500_000  # 2000/7 Hz
# RMS total errors in degrees, as measured: with and without the magnetic field
RECORDED = {"broad": (1.35, 0.53), "broad without field": (1.61, 0.53), "tumvi": (0.62, 0.365)}
FAULTS = {"drop": (1.46, 1.9), "nan": (1.46, 1.9), "gap": (1.76, 13.0)}  # bounds, 9D and 6D


def broad(path):
    with np.load(path) as trial:
        stamps = np.arange(len(trial["gyr"])) * STEP_NS
        readings = ImuSeries(
            stamps, trial["gyr"], trial["acc"], magnetic_field=trial["mag"] * np.float64(1e-6)
        )
        w, x, y, z = trial["ref"].T
        return readings, Trajectory(stamps, np.stack([x, y, z, w], 1), moving=trial["mov"])


def room(path):
    with np.load(path) as data:
        readings = ImuSeries(data["t_ns"], data["gyr"], data["acc"])
        return readings, Trajectory(data["gt_t_ns"], data["gt"][:, [4, 5, 6, 3]])


@pytest.fixture(scope="module")
def trials(data_dir):
    files = sorted((data_dir / "broad").glob("*.npz"))
    if not files:
        pytest.skip(f"no trials in {data_dir / 'broad'}")
    return [broad(path) for path in files]


@pytest.fixture(scope="module")
def rooms(data_dir):
    files = sorted((data_dir / "tumvi").glob("*.npz"))
    if not files:
        pytest.skip(f"no rooms in {data_dir / 'tumvi'}")
    return [room(path) for path in files]


def mean_errors(pairs, *, align, use_magnetic_field=True):
    """Return the mean over recordings of the RMS total and inclination errors [deg]."""
    found = []
    for readings, reference in pairs:
        result = ErrorStateSmoother().run(readings, use_magnetic_field=use_magnetic_field)
        scores = evaluate_orientation(result.trajectory(), reference, align=align)
        found.append((scores.total_deg, scores.inclination_deg))
    return np.mean(found, axis=0)


def test_a_trial_of_slow_rotation_with_and_without_the_field(data_dir):
    path = data_dir / "broad" / "02_undisturbed_slow_rotation_B.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    pair = broad(path)
    assert (mean_errors([pair], align="none") < [0.85, 0.38]).all()
    six = mean_errors([pair], align="heading", use_magnetic_field=False)
    assert (six < [0.8, 0.38]).all()


@pytest.mark.slow
def test_trials_stay_within_the_recorded_errors(trials):
    nine = mean_errors(trials, align="none")
    six = mean_errors(trials, align="heading", use_magnetic_field=False)
    assert (nine < 1.02 * np.array(RECORDED["broad"])).all()
    assert (six < 1.02 * np.array(RECORDED["broad without field"])).all()


@pytest.mark.slow
def test_rooms_stay_within_the_recorded_errors(rooms):
    errors = mean_errors(rooms, align="world", use_magnetic_field=False)
    assert (errors < 1.02 * np.array(RECORDED["tumvi"])).all()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_cost_no_more_than_they_may(trials, fault):
    damaged = with_faults(fault, [readings for readings, _ in trials])
    pairs = [
        (bad, surviving(reference, bad))
        for bad, (_, reference) in zip(damaged, trials, strict=True)
    ]
    nine = mean_errors(pairs, align="none")
    six = mean_errors(pairs, align="heading", use_magnetic_field=False)
    assert nine[0] < FAULTS[fault][0]
    assert six[0] < FAULTS[fault][1]
