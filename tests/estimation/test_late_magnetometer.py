"""A magnetometer that starts 5 s late: heading before it is unknown, or comes from later rows."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.evaluation import orientation_error
from strapdown.formats import Recording, files
from strapdown.samples import ImuSample

MS, SECOND = 1_000_000, 1_000_000_000
ANY_HEADING = np.pi / np.sqrt(3.0)  # standard deviation of a uniform angle


@pytest.fixture
def late(tumble):
    """Return the readings of 30 s without a field in the first 5 s, the truth, and those rows."""
    readings, truth = tumble(np.arange(0, 30 * SECOND, 10 * MS))
    before = readings.t_ns < 5 * SECOND
    field = np.where(before[:, np.newaxis], np.nan, readings.magnetic_field)
    return readings.replace(magnetic_field=field), truth, before


def heading_sigma(result):
    return np.sqrt(result.orientation_covariance[:, 2, 2])


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_marks_the_heading_before_the_first_field_as_unknown(late, ideal, name):
    readings, truth, before = late
    result = ideal(name).run(readings)
    np.testing.assert_array_equal(result.heading_known, ~before)
    np.testing.assert_allclose(heading_sigma(result)[before], ANY_HEADING, rtol=1e-12)
    assert (result.orientation_covariance[before][:, 2, :2] == 0.0).all()
    assert heading_sigma(result)[before.sum() + 10] < 0.5 * ANY_HEADING
    tilt = orientation_error(result.q_world_from_body, truth.q_world_from_body).inclination
    assert tilt[before].max() < np.radians(2.0)  # tilt is known all the time


@pytest.mark.parametrize("name", FILTERS)
def test_streamed_estimates_say_what_heading_refers_to(late, ideal, name):
    readings, _, before = late
    orientation, whole = ideal(name), ideal(name).run(readings[:600])
    for k in range(600):
        field = None if before[k] else readings.magnetic_field[k]
        row = readings.t_ns[k], readings.angular_velocity[k], readings.specific_force[k]
        q = orientation.update(ImuSample(*row, field))
        np.testing.assert_array_equal(q, whole.q_world_from_body[k])
        assert orientation.estimate.uses_magnetic_field == whole.heading_known[k]


@pytest.mark.parametrize("name", FILTERS)
def test_a_restart_of_the_clock_makes_heading_unknown_again(still, made, name):
    readings, _ = still(np.arange(0, 40 * SECOND, 10 * MS))
    t_ns = readings.t_ns + np.where(readings.t_ns >= 10 * SECOND, 60 * SECOND, 0)
    again = (readings.t_ns >= 10 * SECOND) & (readings.t_ns < 20 * SECOND)
    field = np.where(again[:, np.newaxis], np.nan, readings.magnetic_field)
    broken = readings.replace(t_ns=t_ns, magnetic_field=field)
    result = made(name).run(broken)
    np.testing.assert_array_equal(result.heading_known, ~again)
    alone = made(name).run(broken, use_magnetic_field=False)  # relative to a lost start
    assert heading_sigma(alone)[999] < 0.2
    assert heading_sigma(alone)[1000:].min() > 0.99 * ANY_HEADING


@pytest.mark.parametrize("name", SMOOTHERS)
def test_a_smoother_takes_heading_from_later_fields(late, name):
    readings, truth, before = late
    result = SMOOTHERS[name]().run(readings)
    assert result.heading_known.all()
    error = orientation_error(result.q_world_from_body, truth.q_world_from_body).heading
    assert error[before].max() < np.radians(2.0)
    assert heading_sigma(result)[before].max() < np.radians(10.0)


@pytest.mark.parametrize("kind", [*FILTERS.values(), *SMOOTHERS.values()])
def test_without_a_magnetometer_every_heading_is_relative_and_written(late, kind):
    readings, *_ = late
    result = kind().run(readings, use_magnetic_field=False)
    assert result.heading_known is None
    assert np.isfinite(result.trajectory().q_world_from_body).all()


def test_files_do_not_hold_an_unknown_heading(late, tmp_path):
    readings, _, before = late
    attitude = FILTERS["eskf"]().run(readings).trajectory()
    product = Recording(trajectories={"attitude": attitude})
    files.write(tmp_path / "a.csv", product)
    files.write(tmp_path / "a.tum", product)
    read = files.open(tmp_path / "a.csv").trajectory()
    np.testing.assert_array_equal(np.isnan(read.q_world_from_body).all(axis=1), before)
    assert len(files.open(tmp_path / "a.tum").trajectory()) == len(readings) - before.sum()
