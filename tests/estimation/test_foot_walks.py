"""Foot-mounted navigator on recorded walks, with the same parameters for all."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation.foot import FootNavigator
from strapdown.evaluation import closing_error, evaluate_position
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY


@pytest.fixture(scope="module")
def walks(data_dir):
    """The walks with a reference in the plane: z points down in sensor and world."""
    found = {}
    for path in sorted((data_dir / "pyshoe").glob("*.npz")):
        with np.load(path) as data:
            t_ns = np.round((data["t"] - data["t"][0]) * 1e9).astype(np.int64)
            series = ImuSeries(t_ns, data["gyr"], data["acc"], body="FRD", world="NED")
            place = np.column_stack([data["gt_xy"], np.zeros(len(t_ns))])
        attitude = np.tile([0.0, 0.0, 0.0, 1.0], (len(t_ns), 1))
        reference = Trajectory(t_ns, attitude, position_world=place, world="NED", body="FRD")
        found[path.stem] = series, reference
    if not found:
        pytest.skip("no walks: see the data's README")
    return found


@pytest.mark.parametrize(("smooth", "mean", "worst"), [(False, 0.075, 0.13), (True, 0.065, 0.11)])
def test_all_walks_stay_near_their_reference(walks, smooth, mean, worst):
    # a detector trained on walks like these: mean 0.080 m; bound: 0.12 m
    errors = [
        evaluate_position(
            FootNavigator().run(series, smooth=smooth).trajectory(), reference, align="rigid2d"
        ).ate_2d
        for series, reference in walks.values()
    ]
    assert np.mean(errors) <= mean
    assert max(errors) <= worst


def test_strides_of_the_walks_are_counted(walks, data_dir):
    series, _ = walks["2017-11-22-11-22-03"]
    with np.load(data_dir / "pyshoe" / "2017-11-22-11-22-03.npz") as data:
        strides = len(data["stride_idx"])
    gait = FootNavigator().run(series, smooth=True).gait()
    assert abs(len(gait) - strides) <= 2
    assert gait.distance == pytest.approx(27.3, rel=0.05)  # path length of the reference


@pytest.mark.parametrize("smooth", [False, True])
def test_a_walk_that_ends_where_it_began_closes(data_dir, smooth):
    # closing error published with the recording: 82 mm
    path = data_dir / "gait_tracking" / "short_walk.csv"
    if not path.is_file():
        pytest.skip("no short walk: see the data's README")
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    t_ns = np.round(rows[:, 0] * 1e9).astype(np.int64)
    series = ImuSeries(t_ns, rows[:, 1:4] * RAD_PER_DEG, rows[:, 4:] * STANDARD_GRAVITY)
    whole, plane = closing_error(FootNavigator().run(series, smooth=smooth).trajectory())
    assert plane <= 0.06
    assert whole <= 0.08
