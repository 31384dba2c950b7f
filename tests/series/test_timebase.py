"""Order, gaps and rate of time stamps, and resampling that counts what it does."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation, Slerp

from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory, timebase

MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000


def imu(t_ns, **columns):
    """Return a series whose rows tell where they come from."""
    n = len(t_ns)
    w = np.arange(3.0 * n).reshape(n, 3)
    return ImuSeries(t_ns, w, -w, sensor=SensorIdentity("imu"), **columns)


def track(t_ns, seed=0):
    """Return a trajectory of unrelated attitudes."""
    n = len(t_ns)
    rng = np.random.default_rng(seed)
    q = Rotation.random(n, random_state=seed).as_quat()
    return Trajectory(t_ns, q, position_world=rng.standard_normal((n, 3)), name="truth")


stamps_in_any_order = hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(-20, 20))
increasing_stamps = st.lists(st.integers(0, 10**9), min_size=1, max_size=30, unique=True).map(
    sorted
)
positive_steps = hnp.arrays(np.int64, st.integers(2, 30), elements=st.integers(1, 10**10))


# Report


def test_a_regular_clock_has_one_rate_and_nothing_to_complain_about():
    found = timebase.report(EPOCH + np.arange(201) * 5 * MS)
    assert asdict(found) == {
        "samples": 201,
        "duration_ns": 1000 * MS,
        "rate_hz": 200.0,
        "rate_min_hz": 200.0,
        "rate_max_hz": 200.0,
        "jitter_ns": 0.0,
        "duplicates": 0,
        "backward": 0,
        "gaps": 0,
        "longest_gap_ns": 0,
        "lost_ns": 0,
        "gap_after_ns": 25 * MS,
    }


def test_jitter_is_the_rms_deviation_from_the_median_at_any_epoch():
    steps = np.array([10, 11, 9, 10, 10, 13, 10]) * MS
    found = timebase.report(EPOCH + np.cumsum(steps))
    assert found.jitter_ns == pytest.approx(MS * np.sqrt((1 + 1 + 9) / 6), rel=1e-12)
    assert found.rate_hz == 100.0
    assert found.rate_min_hz == pytest.approx(1e3 / 13)
    assert found.rate_max_hz == pytest.approx(1e3 / 9)


def test_a_gap_is_counted_apart_from_the_rate():
    found = timebase.report(np.array([0, 10, 20, 30, 330, 340, 400, 410]) * MS)
    assert (found.gaps, found.longest_gap_ns, found.gap_after_ns) == (2, 300 * MS, 50 * MS)
    assert found.lost_ns == 340 * MS
    assert found.rate_min_hz == found.rate_max_hz == 100.0
    assert found.jitter_ns == 0.0


def test_a_fast_sensor_needs_twenty_milliseconds_for_a_gap():
    found = timebase.report(np.array([0, 1, 2, 3, 23, 24, 25, 46]) * MS)
    assert found.gap_after_ns == 20 * MS
    assert (found.gaps, found.longest_gap_ns) == (1, 21 * MS)


def test_the_limit_of_a_gap_can_be_named():
    found = timebase.report(np.array([0, 10, 20, 35, 45]) * MS, gap_after_ns=14 * MS)
    assert (found.gaps, found.lost_ns, found.gap_after_ns) == (1, 5 * MS, 14 * MS)


def test_duplicates_and_backward_samples_are_counted_and_leave_the_rate_alone():
    found = timebase.report(np.array([0, 10, 20, 20, 15, 30, 30, 40]) * MS)
    assert (found.samples, found.duplicates, found.backward) == (8, 2, 1)
    assert found.rate_min_hz == found.rate_max_hz == 100.0
    assert found.duration_ns == 40 * MS


@pytest.mark.parametrize("t_ns", [[], [7], [7, 7, 7]])
def test_without_an_interval_the_rate_is_unknown(t_ns):
    found = timebase.report(t_ns)
    assert np.isnan([found.rate_hz, found.rate_min_hz, found.rate_max_hz, found.jitter_ns]).all()
    assert (found.samples, found.duration_ns, found.gaps) == (len(t_ns), 0, 0)


@given(t_ns=stamps_in_any_order)
def test_a_report_is_one_line_and_fits_in_json(t_ns):
    found = timebase.report(t_ns)
    assert "\n" not in str(found)
    assert json.loads(json.dumps(asdict(found)))["samples"] == len(t_ns)


@given(steps=positive_steps)
def test_the_regular_rates_enclose_the_median_rate(steps):
    found = timebase.report(np.cumsum(steps))
    assert found.rate_min_hz <= found.rate_hz <= found.rate_max_hz
    assert found.duration_ns == steps[1:].sum()


def test_float_stamps_and_tables_are_refused():
    with pytest.raises(TypeError, match="float64 cannot hold nanoseconds"):
        timebase.report([0.0, 1.0])
    with pytest.raises(ShapeError, match="t_ns"):
        timebase.report([[0, 1], [2, 3]])


# Order


def test_strict_names_the_row_and_both_stamps_where_time_goes_back():
    t_ns = np.arange(1000) * MS + 426 * MS
    t_ns[812] = 1_233 * MS
    with pytest.raises(TimeOrderError) as caught:
        timebase.ordered(imu(t_ns))
    assert str(caught.value) == (
        "row 812: time goes back by 0.004 s (1.233 after 1.237); use timebase.ordered with "
        'policy="sort" or policy="drop"'
    )
    assert (caught.value.row, caught.value.t_ns, caught.value.previous_ns) == (
        812,
        1_233 * MS,
        1_237 * MS,
    )


def test_strict_writes_a_repeated_stamp_without_rounding():
    t_ns = [EPOCH, EPOCH + 1, EPOCH + 1]
    with pytest.raises(TimeOrderError, match=r"row 2: the stamp 1700000000\.000000001 s repeats"):
        timebase.ordered(track(t_ns))


@pytest.mark.parametrize("policy", ["strict", "drop", "sort"])
@pytest.mark.parametrize("t_ns", [[], [5], [1, 2, 9]])
def test_what_is_in_order_passes_unchanged(policy, t_ns):
    series = imu(t_ns)
    same, done = timebase.ordered(series, policy)
    assert same is series
    assert done == timebase.OrderReport(len(t_ns), 0, 0, 0)


def test_drop_keeps_what_is_later_than_everything_before():
    series = imu([10, 30, 20, 30, 25, 40, 40, 50])
    kept, done = timebase.ordered(series, "drop")
    assert kept == series[[0, 1, 5, 7]]
    assert done == timebase.OrderReport(4, dropped_duplicates=2, dropped_backward=2, moved=0)
    assert str(done) == "kept 4 samples, dropped 2 duplicates and 2 backward, moved 0"


def test_drop_waits_until_time_has_caught_up_after_a_jump_back_of_an_hour():
    t_ns = np.arange(100) * MS
    t_ns[50:] -= 3_600_000 * MS
    kept, done = timebase.ordered(imu(t_ns), "drop")
    assert kept.t_ns.tolist() == t_ns[:50].tolist()
    assert done.dropped_backward == 50


def test_sort_keeps_the_first_of_equal_stamps_and_counts_the_late_ones():
    series = imu([10, 30, 20, 30, 25, 40, 10])
    kept, done = timebase.ordered(series, "sort")
    assert kept == series[[0, 2, 4, 1, 5]]
    assert done == timebase.OrderReport(5, dropped_duplicates=2, dropped_backward=0, moved=2)


def test_increments_are_ordered_too():
    sums = Increments([20, 10], [[1, 0, 0], [2, 0, 0]], np.zeros((2, 3)), 10, 10)
    kept, _ = timebase.ordered(sums, "sort")
    assert kept.delta_angle[:, 0].tolist() == [2.0, 1.0]


@given(t_ns=stamps_in_any_order)
def test_drop_counts_add_up_and_agree_with_the_report(t_ns):
    series, found = imu(t_ns), timebase.report(t_ns)
    kept, done = timebase.ordered(series, "drop")
    assert done.kept + done.dropped_duplicates + done.dropped_backward == len(t_ns)
    assert (done.dropped_duplicates, done.dropped_backward) == (found.duplicates, found.backward)
    assert len(kept) == done.kept
    latest = -100
    expected = [latest := t for t in t_ns.tolist() if t > latest]
    assert kept.t_ns.tolist() == expected


@given(t_ns=stamps_in_any_order)
def test_sort_leaves_each_stamp_once_with_its_first_row(t_ns):
    series = imu(t_ns)
    kept, done = timebase.ordered(series, "sort")
    assert kept.t_ns.tolist() == sorted(set(t_ns.tolist()))
    assert kept == series[np.unique(t_ns, return_index=True)[1]]
    assert done.kept + done.dropped_duplicates == len(t_ns)
    assert done.moved <= done.kept


@given(t_ns=increasing_stamps, data=st.data())
def test_sort_restores_a_shuffled_series(t_ns, data):
    series = track(t_ns)
    shuffled = series[data.draw(st.permutations(range(len(t_ns))))]
    restored, done = timebase.ordered(shuffled, "sort")
    assert restored == series
    latest = np.maximum.accumulate(shuffled.t_ns)
    assert done == timebase.OrderReport(len(t_ns), 0, 0, int((shuffled.t_ns < latest).sum()))


def test_an_unknown_policy_gives_the_nearest_name():
    with pytest.raises(
        UnknownNameError, match="no order policy 'sorted'; the nearest names: 'sort'"
    ):
        timebase.ordered(imu([1, 2]), "sorted")


# Resampling


@given(t_ns=increasing_stamps)
def test_resampling_onto_its_own_stamps_changes_nothing(t_ns):
    series = track(t_ns)
    same, done = timebase.resample(series, t_ns=series.t_ns)
    assert same == series
    assert (done.exact, done.interpolated, done.in_gaps, done.outside) == (len(t_ns), 0, 0, 0)


def test_vectors_are_interpolated_linearly_and_attitude_by_slerp():
    rng = np.random.default_rng(1)
    t_ns = EPOCH + np.cumsum(rng.integers(1, 10 * MS, 50))
    at = np.sort(rng.integers(t_ns[0], t_ns[-1], 200))
    series = track(t_ns, seed=1)
    result, done = timebase.resample(series, t_ns=at)
    since, known = (at - EPOCH).astype(float), (t_ns - EPOCH).astype(float)
    for axis in range(3):
        np.testing.assert_allclose(
            result.position_world[:, axis],
            np.interp(since, known, series.position_world[:, axis]),
            atol=1e-14,
        )
    expected = Slerp(known, Rotation.from_quat(series.q_world_from_body))(since)
    turn = Rotation.from_quat(result.q_world_from_body) * expected.inv()
    assert turn.magnitude().max() < 1e-13
    assert done.interpolated + done.exact == 200
    assert done.method == {"q_world_from_body": "slerp", "position_world": "linear"}


def test_a_grid_is_rounded_point_by_point_without_a_running_sum():
    series = imu(EPOCH + np.arange(2001) * 10 * MS)
    result, _ = timebase.resample(series, rate_hz=30.0)
    expected = [EPOCH + (2 * k * 10**9 + 30) // 60 for k in range(601)]  # round(k 1e9 / 30)
    assert result.t_ns.tolist() == expected


@pytest.mark.parametrize("rate_hz", [1.0, 7.0, 100.0, 333.3, 1e4])
def test_a_grid_begins_with_the_first_stamp_and_stays_inside(rate_hz):
    result, done = timebase.resample(imu([5 * MS, 12 * MS, 20 * MS]), rate_hz=rate_hz)
    assert result.t_ns[0] == 5 * MS
    assert 20 * MS - 1e9 / rate_hz < result.t_ns[-1] <= 20 * MS
    assert done.outside == 0


def test_rows_in_gaps_and_outside_are_nan_and_counted():
    t_ns = np.array([0, 10, 20, 120, 130]) * MS
    series = imu(t_ns, gyro_clipping=[7] * 5)
    at = np.array([-1, 0, 5, 20, 21, 119, 120, 125, 131]) * MS
    result, done = timebase.resample(series, t_ns=at)
    empty = [0, 4, 5, 8]
    assert np.flatnonzero(np.isnan(result.specific_force).all(axis=1)).tolist() == empty
    assert np.isfinite(np.delete(result.specific_force, empty, axis=0)).all()
    assert np.flatnonzero(result.gyro_clipping == 0).tolist() == empty
    assert (done.exact, done.interpolated, done.in_gaps, done.outside) == (3, 2, 2, 2)
    assert str(done) == (
        "3 rows exact, 2 interpolated (linear, union), 2 empty in gaps, 2 empty outside"
    )


def test_the_longest_bridged_interval_can_be_named():
    series, at = imu([0, 10 * MS, 110 * MS]), [60 * MS]
    assert timebase.resample(series, t_ns=at, max_gap_ns=100 * MS)[1].interpolated == 1
    assert timebase.resample(series, t_ns=at, max_gap_ns=100 * MS - 1)[1].in_gaps == 1


def test_clipping_is_the_union_and_a_flag_is_the_one_before():
    series = imu([0, 10], gyro_clipping=[1, 4], accel_clipping=[0, 2])
    result, _ = timebase.resample(series, t_ns=[0, 9, 10])
    assert result.gyro_clipping.tolist() == [1, 5, 4]
    assert result.accel_clipping.tolist() == [0, 2, 2]
    poses = Trajectory([0, 10], [[0, 0, 0, 1]] * 2, moving=[True, False])
    assert timebase.resample(poses, t_ns=[0, 9, 10, 11])[0].moving.tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_covariances_are_linear_but_never_mixed_with_a_mark():
    known, unknown, absent = np.eye(3), np.zeros((3, 3)), np.zeros((3, 3))
    absent[0, 0] = -1.0
    blocks = np.array([known, 3.0 * known, unknown, known, absent, absent])
    series = imu(np.arange(0, 60, 10), orientation_covariance=blocks)
    result, _ = timebase.resample(series, t_ns=[5, 15, 25, 35, 45])
    expected = [2.0 * known, unknown, unknown, absent, absent]
    np.testing.assert_array_equal(result.orientation_covariance, expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_neighbour_without_a_value_spoils_only_what_touches_it(bad):
    series = imu(np.arange(0, 50, 10))
    force = series.specific_force.copy()
    force[2, 1] = bad
    result, _ = timebase.resample(series.replace(specific_force=force), t_ns=[10, 15, 25, 30])
    assert np.argwhere(~np.isfinite(result.specific_force)).tolist() == [[1, 1], [2, 1]]
    assert np.isfinite(result.angular_velocity).all()


def test_the_identity_and_frames_stay_when_resampling():
    series = imu([0, 10]).in_frames(body="FRD", world="NED")
    result, _ = timebase.resample(series, t_ns=[5])
    assert (result.body, result.world, result.sensor) == ("FRD", "NED", SensorIdentity("imu"))


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_samples_give_nothing_but_themselves(count):
    series = imu([0] * count)
    result, done = timebase.resample(series, t_ns=[-1, 0, 1])
    assert (done.exact, done.outside, len(result)) == (count, 3 - count, 3)
    assert len(timebase.resample(series, rate_hz=10.0)[0]) == count


@given(
    t_ns=increasing_stamps,
    at=hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-10, 10**9 + 10)),
)
def test_the_counts_of_resampling_add_up_and_nothing_is_extrapolated(t_ns, at):
    series = imu(t_ns)
    result, done = timebase.resample(series, t_ns=at, max_gap_ns=10**8)
    assert done.exact + done.interpolated + done.in_gaps + done.outside == len(at)
    assert done.outside == ((at < t_ns[0]) | (at > t_ns[-1])).sum()
    assert done.exact == np.isin(at, t_ns).sum()
    assert np.isnan(result.angular_velocity[:, 0]).sum() == done.in_gaps + done.outside
    assert np.nanmax(result.angular_velocity, initial=0.0) <= series.angular_velocity.max()


def test_increments_cannot_be_interpolated():
    sums = Increments([10, 20], np.zeros((2, 3)), np.zeros((2, 3)), 10, 10)
    with pytest.raises(TypeError, match=r"got Increments.*resample the ImuSeries"):
        timebase.resample(sums, rate_hz=100.0)


@pytest.mark.parametrize("arguments", [{}, {"rate_hz": 1.0, "t_ns": [1]}])
def test_the_target_is_either_a_rate_or_stamps(arguments):
    with pytest.raises(TypeError, match="one of rate_hz and t_ns"):
        timebase.resample(imu([0, 1]), **arguments)


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, np.nan, np.inf, 2e9])
def test_an_impossible_rate_is_refused(rate_hz):
    with pytest.raises(ValueRangeError, match="rate_hz"):
        timebase.resample(imu([0, 1]), rate_hz=rate_hz)


def test_unordered_samples_and_float_targets_are_refused():
    with pytest.raises(TimeOrderError, match="row 1"):
        timebase.resample(imu([1, 0]), rate_hz=1.0)
    with pytest.raises(TypeError, match="t_ns"):
        timebase.resample(imu([0, 1]), t_ns=[0.5])


# Attitude at a time


def test_the_attitude_half_way_is_half_the_turn_and_nothing_is_made_up():
    half = np.sqrt(0.5)
    poses = Trajectory([0, 10 * MS, 90 * MS], [[0, 0, 0, 1], [0, 0, half, half], [0, 0, 1, 0]])
    q = timebase.orientation_at(poses, np.array([5, 10, 50, 91]) * MS, max_gap_ns=50 * MS)
    angle = np.pi / 8
    np.testing.assert_allclose(q[0], [0, 0, np.sin(angle), np.cos(angle)], atol=1e-15)
    assert q[1].tolist() == [0.0, 0.0, half, half]
    assert np.isnan(q[2:]).all()
    bridged = timebase.orientation_at(poses, [50 * MS], max_gap_ns=80 * MS)
    np.testing.assert_allclose(bridged, [[0, 0, np.sin(3 * angle), np.cos(3 * angle)]], atol=1e-15)


def test_an_unknown_attitude_makes_its_neighbourhood_unknown():
    poses = Trajectory([0, 10, 20, 30], [[0, 0, 0, 1], [np.nan] * 4, [0, 0, 0, 1], [0, 0, 0, 1]])
    q = timebase.orientation_at(poses, [0, 5, 10, 15, 20, 25])
    assert np.isnan(q).any(axis=1).tolist() == [False, True, True, True, False, False]
    assert np.isnan(q).all(axis=1).sum() == 3


def test_the_short_way_round_is_taken_whatever_the_sign():
    q = np.array([[0, 0, 0, 1], [0, 0, -np.sin(0.1), -np.cos(0.1)]])
    found = timebase.orientation_at(Trajectory([0, 10], q), [5])
    np.testing.assert_allclose(found, [[0, 0, np.sin(0.05), np.cos(0.05)]], atol=1e-15)


def test_a_step_back_that_wraps_around_64_bits_is_backward():
    limits = np.iinfo(np.int64)
    found = timebase.report(np.array([0, limits.max, limits.min, limits.max]))
    assert (found.duplicates, found.backward) == (1, 1)
