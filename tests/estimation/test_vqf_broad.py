"""VQF on the trials of the BROAD benchmark.

D. Laidig et al., Data 6(7):72, 2021, CC BY 4.0. The reference is optical motion capture.
"""

from __future__ import annotations

import numpy as np
import pytest
import vqf
from scipy.spatial.transform import Rotation

from strapdown.estimation.vqf import OfflineVqf, VqfFilter
from strapdown.evaluation import evaluate_orientation
from strapdown.series import ImuSeries, Trajectory

pytestmark = pytest.mark.data

STEP_NS = 3_500_000  # 2000/7 Hz
ESTIMATORS = {"online": VqfFilter, "offline": OfflineVqf}


def paths(data_dir):
    files = sorted((data_dir / "broad").glob("*.npz"))
    if not files:
        pytest.skip(f"no trials in {data_dir / 'broad'}")
    return files


def read(path, stop=None):
    with np.load(path) as trial:
        columns = {name: trial[name][:stop].astype(np.float64) for name in ("gyr", "acc", "mag")}
        stamps = np.arange(len(columns["gyr"])) * STEP_NS
        w, x, y, z = trial["ref"][:stop].T
        moving = trial["mov"][:stop]
    readings = ImuSeries(stamps, columns["gyr"], columns["acc"], magnetic_field=columns["mag"])
    return readings, Trajectory(stamps, np.stack([x, y, z, w], 1), moving=moving)


@pytest.fixture(scope="module")
def trials(data_dir):
    return [read(path) for path in paths(data_dir)]


def as_peer(readings):
    return readings.angular_velocity, readings.specific_force, readings.magnetic_field


def farthest_deg(q_xyzw, peer_wxyz):
    apart = Rotation.from_quat(q_xyzw) * Rotation.from_quat(peer_wxyz[:, [1, 2, 3, 0]]).inv()
    return np.degrees(apart[1:].magnitude().max())


def agree(readings):
    """Assert that every output equals that of the authors' implementation."""
    gyr, acc, mag = (np.array(column) for column in as_peer(readings))
    # Level ends: otherwise the other program learns a false bias from the first tilt correction.
    gyr[[0, -1]], acc[[0, -1]] = 1e-12, [0.0, 0.0, 9.8]
    readings = readings.replace(angular_velocity=gyr, specific_force=acc)
    dt = STEP_NS * 1e-9
    for result, six, peer, peer_six in (
        (
            VqfFilter().run(readings),
            VqfFilter().run(readings, use_magnetic_field=False),
            vqf.VQF(dt).updateBatch(gyr, acc, mag),
            vqf.VQF(dt).updateBatch(gyr, acc),
        ),
        (
            OfflineVqf().run(readings),
            OfflineVqf().run(readings, use_magnetic_field=False),
            vqf.offlineVQF(gyr, acc, mag, dt),
            vqf.offlineVQF(gyr, acc, None, dt),
        ),
    ):
        assert farthest_deg(result.q_world_from_body, peer["quat9D"]) < 1e-6
        assert farthest_deg(six.q_world_from_body, peer_six["quat6D"]) < 1e-6
        assert np.degrees(np.abs(result.gyro_bias - peer["bias"])[1:-1]).max() < 1e-6
        assert (result.rest == peer["restDetected"])[1:].all()
        assert (result.magnetic_disturbance == peer["magDistDetected"])[1:].all()


def test_two_minutes_of_a_trial_are_as_the_authors_program_has_them(data_dir):
    agree(read(paths(data_dir)[1], stop=120_000_000_000 // STEP_NS)[0])


@pytest.mark.slow
def test_all_trials_are_as_the_authors_program_has_them(trials):
    for readings, _ in trials:
        agree(readings)


def mean_total_deg(trials, estimator, damage=None, *, nine_axes=True):
    errors = []
    for readings, reference in trials:
        damaged = readings if damage is None else damage(readings)
        result = estimator().run(damaged, use_magnetic_field=nine_axes)
        evaluation = evaluate_orientation(
            result.trajectory(), reference, align="none" if nine_axes else "heading"
        )
        errors.append(evaluation.total_deg)
    return np.mean(errors)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "nine", "six"), [("online", 2.31, 4.77), ("offline", 1.88, 4.75)])
def test_the_errors_are_those_that_the_authors_program_has(trials, name, nine, six):
    assert abs(mean_total_deg(trials, ESTIMATORS[name]) - nine) < 0.02
    assert abs(mean_total_deg(trials, ESTIMATORS[name], nine_axes=False) - six) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clean"), [("online", 2.31), ("offline", 1.88)])
def test_two_per_cent_of_lost_samples_cost_next_to_nothing(trials, name, clean):
    random = np.random.default_rng(1)

    def drop(readings):
        kept = random.random(len(readings)) >= 0.02
        kept[[0, -1]] = True
        return readings[kept]

    assert mean_total_deg(trials, ESTIMATORS[name], drop) < clean + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "clean"), [("online", 2.31), ("offline", 1.88)])
def test_two_per_cent_of_broken_readings_cost_next_to_nothing(trials, name, clean):
    random = np.random.default_rng(2)

    def blind(readings):
        columns = {}
        for column in ("angular_velocity", "specific_force", "magnetic_field"):
            values = getattr(readings, column).copy()
            values[random.random(len(values)) < 0.02] = np.nan
            columns[column] = values
        return readings.replace(**columns)

    assert mean_total_deg(trials, ESTIMATORS[name], blind) < clean + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nine", "six"), [("online", 9.67, 18.9 * 1.05), ("offline", 5.32, 18.9 * 1.05)]
)
def test_gaps_cost_less_than_linear_interpolation_and_the_authors_program(trials, name, nine, six):
    def cut(readings):
        into = (readings.t_ns - 5_000_000_000) % 20_000_000_000
        return readings[(readings.t_ns < 5_000_000_000) | (into >= 300_000_000)]

    assert mean_total_deg(trials, ESTIMATORS[name], cut) < nine
    assert mean_total_deg(trials, ESTIMATORS[name], cut, nine_axes=False) < six
