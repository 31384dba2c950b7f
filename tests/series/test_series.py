"""The three series as values: construction, slicing, joining, comparing, frames."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from strapdown.errors import FrameError, ShapeError, ValueRangeError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory

# Axes of each frame in ENU or FLU, row by row, written out by hand.
ROWS = {
    "ENU": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "NED": [[0, 1, 0], [1, 0, 0], [0, 0, -1]],
    "NUE": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "FLU": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "FRD": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "FUR": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
}

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
INT64 = st.integers(-(2**62), 2**62)


def imu(n=6, seed=0, **changes):
    """Return a series in which every column is there."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal
    return ImuSeries(
        np.arange(n) * 10_000_000,
        draw((n, 3)),
        draw((n, 3)),
        **{
            "magnetic_field": draw((n, 3)),
            "q_world_from_body": Rotation.random(n, random_state=seed).as_quat(),
            "orientation_covariance": draw((n, 3, 3)) ** 2,
            "angular_velocity_covariance": draw((n, 3, 3)) ** 2,
            "specific_force_covariance": draw((n, 3, 3)) ** 2,
            "gyro_clipping": rng.integers(0, 8, n),
            "accel_clipping": rng.integers(0, 8, n),
            "sensor": SensorIdentity("imu_link", 7, 8),
        }
        | changes,
    )


def trajectory(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return Trajectory(
        np.arange(n) * 10_000_000,
        Rotation.random(n, random_state=seed).as_quat(),
        position_world=rng.standard_normal((n, 3)),
        velocity_world=rng.standard_normal((n, 3)),
        moving=rng.integers(0, 2, n).astype(bool),
        name="truth",
    )


def increments(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return Increments(
        np.arange(1, n + 1) * 5_000_000,
        rng.standard_normal((n, 3)),
        rng.standard_normal((n, 3)),
        np.full(n, 5_000_000),
        rng.integers(1, 9, n),
        gyro_clipping=rng.integers(0, 8, n),
    )


EVERY = pytest.mark.parametrize("make", [imu, trajectory, increments])


def columns_of(series):
    return {name: value for name, value in vars(series).items() if isinstance(value, np.ndarray)}


@st.composite
def any_imu(draw):
    """Draw a series with stamps in any order and values of any kind."""
    n = draw(st.integers(0, 8))
    vectors = hnp.arrays(np.float64, (n, 3), elements=ANY_FLOAT)
    masks = hnp.arrays(np.uint8, n, elements=st.integers(0, 7))
    return ImuSeries(
        draw(hnp.arrays(np.int64, n, elements=INT64)),
        draw(vectors),
        draw(vectors),
        magnetic_field=draw(st.none() | vectors),
        gyro_clipping=draw(st.none() | masks),
        accel_clipping=draw(st.none() | masks),
        body=draw(st.sampled_from(BodyFrame)),
        world=draw(st.sampled_from(WorldFrame)),
        sensor=SensorIdentity(draw(st.text(max_size=3))),
    )


# Construction


@EVERY
def test_every_array_is_contiguous_read_only_and_of_one_type(make):
    series = make()
    kinds = {array.dtype for array in columns_of(series).values()}
    assert kinds <= {np.dtype(t) for t in (np.float64, np.int64, np.uint8, np.bool_)}
    for array in columns_of(series).values():
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@EVERY
def test_a_field_cannot_be_set(make):
    with pytest.raises(FrozenInstanceError):
        make().t_ns = np.arange(6)


def test_arrays_of_the_right_type_are_shared_and_stay_writable_for_their_owner():
    t, w, f = np.arange(4), np.ones((4, 3)), np.ones((4, 3))
    series = ImuSeries(t, w, f)
    assert np.shares_memory(series.t_ns, t)
    assert np.shares_memory(series.angular_velocity, w)
    assert w.flags.writeable


def test_lists_narrow_integers_and_foreign_byte_order_are_converted():
    series = ImuSeries(
        np.arange(2, dtype=np.uint32),
        [[1, 2, 3], [4, 5, 6]],
        np.ones((2, 3), ">f4"),
        gyro_clipping=[1, 7],
    )
    assert series.t_ns.dtype == np.int64
    assert series.angular_velocity.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert series.specific_force.tolist() == [[1.0, 1.0, 1.0]] * 2
    assert series.gyro_clipping.tolist() == [1, 7]


def test_columns_of_a_record_array_become_contiguous():
    records = np.zeros(5, [("t", np.int64), ("w", np.float64, 3), ("f", np.float64, 3)])
    series = ImuSeries(records["t"], records["w"], records["f"])
    assert series.angular_velocity.flags.c_contiguous


def test_frames_may_be_given_by_name():
    series = imu(body="FRD", world="NED")
    assert series.body is BodyFrame.FRD
    assert series.world is WorldFrame.NED


def test_one_whole_number_stands_for_every_row():
    series = Increments(np.arange(3), np.zeros((3, 3)), np.zeros((3, 3)), 4000, 5000)
    assert series.delta_angle_dt_ns.tolist() == [4000] * 3
    assert series.delta_velocity_dt_ns.tolist() == [5000] * 3
    assert series.gyro_calibration_count.tolist() == [0] * 3
    assert series.accel_clipping.tolist() == [0] * 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"angular_velocity": np.zeros((5, 3))},
            r"angular_velocity of shape \(6, 3\), got \(5, 3\)",
        ),
        ({"specific_force": np.zeros((6, 2))}, r"specific_force of shape \(6, 3\), got \(6, 2\)"),
        ({"magnetic_field": np.zeros(6)}, r"magnetic_field of shape \(6, 3\), got \(6,\)"),
        ({"q_world_from_body": np.zeros((6, 3))}, r"q_world_from_body of shape \(6, 4\)"),
        (
            {"orientation_covariance": np.zeros((6, 9))},
            r"orientation_covariance of shape \(6, 3, 3\)",
        ),
        ({"gyro_clipping": np.zeros((6, 3), np.uint8)}, r"gyro_clipping of shape \(6,\)"),
        ({"t_ns": np.zeros((2, 3), np.int64)}, r"t_ns of shape \(6,\), got \(2, 3\)"),
        ({"angular_velocity": 0.0}, r"angular_velocity of shape \(6, 3\), got \(\)"),
        ({"angular_velocity": [[1.0], [1.0, 2.0]]}, "angular_velocity"),
        ({"t_ns": [[1], [1, 2]]}, "t_ns as one row of numbers"),
    ],
)
def test_a_wrong_shape_names_the_column_the_expected_and_the_given(changes, message):
    with pytest.raises(ShapeError, match=message):
        imu().replace(**changes)


def test_float_stamps_are_refused_with_the_reason():
    with pytest.raises(TypeError, match=r"t_ns.*float64 cannot hold nanoseconds"):
        imu().replace(t_ns=np.arange(6.0))


@pytest.mark.parametrize("stamps", [["1", "2"], [None, None], [1j, 2j], [2**70, 0]])
def test_stamps_that_are_no_integers_are_refused(stamps):
    with pytest.raises(TypeError, match="t_ns"):
        Trajectory(stamps, np.zeros((2, 4)))


@pytest.mark.parametrize(
    "changes", [{"t_ns": np.array([2**63] * 6, np.uint64)}, {"accel_clipping": [256] * 6}]
)
def test_an_integer_that_does_not_fit_its_column_is_refused(changes):
    with pytest.raises(ValueRangeError, match=next(iter(changes))):
        imu().replace(**changes)


@pytest.mark.parametrize("frames", [{"body": "ENU"}, {"world": "FLU"}, {"body": None}])
def test_an_unknown_frame_is_refused_by_name(frames):
    (name,) = frames
    with pytest.raises(FrameError, match=f"expected {name} as one of .*got {frames[name]!r}"):
        imu(**frames)


# Taking rows


def test_a_slice_a_mask_and_row_numbers_take_the_same_rows():
    series = imu(10)
    taken = series[2:8:3]
    assert taken.t_ns.tolist() == [20_000_000, 50_000_000]
    assert taken == series[[2, 5]] == series[np.isin(np.arange(10), [2, 5])]
    assert taken == series[np.array([2, 5])]


@EVERY
def test_every_column_is_taken_along(make):
    series = make(9)
    rows = np.array([7, 0, 3])
    for name, array in columns_of(series[rows]).items():
        np.testing.assert_array_equal(array, getattr(series, name)[rows])


def test_a_plain_slice_shares_memory():
    series = imu()
    assert np.shares_memory(series[1:4].angular_velocity, series.angular_velocity)


@pytest.mark.parametrize("row", [0, np.int64(1), -1])
def test_a_single_row_number_is_refused_with_what_to_write(row):
    with pytest.raises(TypeError, match=rf"series\[{row}:"):
        imu()[row]


def test_between_is_half_open_and_keeps_the_order():
    series = imu(5)[[4, 1, 3, 2, 0]]
    inside = [10_000_000, 30_000_000, 20_000_000]
    assert series.between_ns(10_000_000, 40_000_000).t_ns.tolist() == inside
    late = series.replace(t_ns=series.t_ns + 1_700_000_000_000_000_001)
    assert late.between(start_s=0.01, stop_s=0.04) == late[1:4]
    assert late.between(start_s=0.02) == late[[0, 2, 3]]
    assert late.between(stop_s=0.02) == late[[1, 4]]
    assert late.between() == late


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_span_without_samples_is_refused_with_what_there_is(rows):
    series = imu(rows)
    with pytest.raises(ValueRangeError, match=f"from 10 to 20 s .* none: ImuSeries.{rows} sample"):
        series.between(start_s=10, stop_s=20)
    with pytest.raises(ValueRangeError, match="from 5 to 5 ns, got none: the series covers"):
        series.between_ns(5, 5)
    with pytest.raises(ValueRangeError, match="from nan to inf s"):
        series.between(start_s=float("nan"))
    with pytest.raises(TypeError, match="positional"):
        series.between(10, 20)


@settings(max_examples=50)
@given(series=any_imu(), start=st.integers(-10, 10), stop=st.integers(-10, 10))
def test_slicing_keeps_frames_identity_and_columns(series, start, stop):
    part = series[start:stop]
    assert type(part) is ImuSeries
    assert (part.body, part.world, part.sensor) == (series.body, series.world, series.sensor)
    assert part.optional_columns == series.optional_columns
    assert len(part) == len(range(len(series))[start:stop])


# Joining


@settings(max_examples=50)
@given(series=any_imu(), cuts=st.lists(st.integers(0, 8), max_size=3))
def test_the_joined_parts_of_a_split_are_the_whole(series, cuts):
    edges = [0, *sorted(cuts), len(series)]
    parts = [series[start:stop] for start, stop in pairwise(edges)]
    assert ImuSeries.concatenate(parts) == series


@EVERY
def test_each_kind_joins_to_its_own_kind(make):
    series = make(6)
    assert type(series).concatenate(iter([series[:2], series[2:]])) == series


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (imu().in_frames(body="FRD"), FrameError, r"body 'FLU'.*'FRD' in part 1.*in_frames"),
        (imu().in_frames(world="NED"), FrameError, r"world 'ENU'.*'NED' in part 1"),
        (imu(sensor=SensorIdentity("b")), ValueRangeError, r"sensor 'imu_link'.*'b' in part 1"),
        (imu(magnetic_field=None), ShapeError, r"magnetic_field.*in part 0 and not in part 1"),
        (trajectory(), TypeError, "expected ImuSeries, got Trajectory"),
    ],
)
def test_parts_that_differ_in_kind_are_not_joined(other, error, message):
    with pytest.raises(error, match=message):
        ImuSeries.concatenate([imu(), other])


def test_a_column_that_only_a_later_part_has_is_named_too():
    with pytest.raises(ShapeError, match=r"gyro_clipping.*in part 1 and not in part 0"):
        ImuSeries.concatenate([imu(gyro_clipping=None), imu()])


def test_nothing_cannot_be_joined():
    with pytest.raises(ShapeError, match="at least one Trajectory"):
        Trajectory.concatenate([])


# Comparing, copying, printing


@settings(max_examples=50)
@given(series=any_imu())
def test_a_copy_and_a_pickle_are_equal_and_read_only(series):
    for twin in (
        copy.copy(series),
        copy.deepcopy(series),
        pickle.loads(pickle.dumps(series)),  # noqa: S301 (our own bytes)
    ):
        assert twin == series
        assert not any(array.flags.writeable for array in columns_of(twin).values())


@EVERY
def test_each_difference_makes_a_difference(make):
    series = make()
    for name, array in columns_of(series).items():
        changed = array.copy()
        changed[-1] = ~changed[-1] if array.dtype == np.bool_ else changed[-1] + 1
        assert series.replace(**{name: changed}) != series
    for name in series.optional_columns:
        assert series.replace(**{name: None}) != series
    assert series.replace(body="FUR") != series
    assert series[:3] != series


def test_nan_equals_nan_and_identity_counts():
    nan = np.full((2, 4), np.nan)
    assert Trajectory([1, 2], nan) == Trajectory([1, 2], nan)
    assert Trajectory([1, 2], nan, name="a") != Trajectory([1, 2], nan, name="b")
    assert Trajectory([1, 2], nan, world="NED") != Trajectory([1, 2], nan)
    assert imu(sensor=SensorIdentity("a")) != imu(sensor=SensorIdentity("b"))


def test_another_type_is_not_comparable_and_no_series_has_a_hash():
    assert imu().__eq__(trajectory()) is NotImplemented
    assert imu() != "imu"
    with pytest.raises(TypeError, match="unhashable"):
        hash(imu())


def test_the_repr_says_what_is_inside():
    n = 6000
    series = ImuSeries(
        np.arange(n) * 10_000_000,
        np.zeros((n, 3)),
        np.zeros((n, 3)),
        magnetic_field=np.zeros((n, 3)),
        sensor=SensorIdentity("imu_link"),
    )
    assert repr(series) == (
        "ImuSeries(6000 samples, 60.0 s, 100.0 Hz, body=FLU, world=ENU, sensor='imu_link', "
        "with magnetic_field)"
    )
    assert repr(increments(1)) == "Increments(1 sample, body=FLU)"
    assert repr(trajectory(11)) == (
        "Trajectory(11 samples, 0.1 s, 100.0 Hz, body=FLU, world=ENU, name='truth', "
        "with position_world velocity_world moving)"
    )
    assert "sensor='accel 5 gyro 0'" in repr(imu(sensor=SensorIdentity(accel_device_id=5)))


def test_an_unknown_field_cannot_be_replaced():
    with pytest.raises(TypeError, match="acceleration"):
        imu().replace(acceleration=np.zeros((6, 3)))


# Rate and duration


def test_rate_is_one_over_the_median_interval():
    series = trajectory(6).replace(t_ns=[0, 10, 20, 30, 500, 510])
    assert series.rate_hz == 1e8
    assert series.duration_s == 510e-9


def test_rate_is_unknown_without_an_interval_that_runs_forward():
    assert np.isnan(trajectory(1).rate_hz)
    assert np.isnan(trajectory(3).replace(t_ns=[5, 5, 5]).rate_hz)
    assert trajectory(0).duration_s == 0.0


def test_duration_does_not_depend_on_the_order():
    assert trajectory(3).replace(t_ns=[3_000_000_000, 0, 10]).duration_s == 3.0


# Frames


@pytest.mark.parametrize("body", ["FRD", "FUR", "FLU"])
@pytest.mark.parametrize("world", ["NED", "NUE", "ENU"])
def test_every_column_of_an_imu_series_follows_its_axes(body, world):
    series = imu(seed=3)
    moved = series.in_frames(body=body, world=world)
    B, W = np.array(ROWS[body], float), np.array(ROWS[world], float)
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        assert (getattr(moved, name) == getattr(series, name) @ B.T).all()
    for name in ("angular_velocity_covariance", "specific_force_covariance"):
        assert (getattr(moved, name) == B @ getattr(series, name) @ B.T).all()
    assert (moved.orientation_covariance == W @ series.orientation_covariance @ W.T).all()
    before = Rotation.from_quat(series.q_world_from_body).as_matrix()
    after = Rotation.from_quat(moved.q_world_from_body).as_matrix()
    np.testing.assert_allclose(after, W @ before @ B.T, atol=1e-15)
    for name in ("gyro_clipping", "accel_clipping"):
        bits = np.unpackbits(getattr(series, name)[:, None], axis=1, bitorder="little")[:, :3]
        expected = (bits @ np.abs(B.T) @ [1, 2, 4]).astype(np.uint8)
        assert getattr(moved, name).tolist() == expected.tolist()
    assert (moved.t_ns == series.t_ns).all()
    assert (moved.body, moved.world) == (body, world)


def test_position_and_velocity_follow_the_world_and_increments_the_body():
    track, sums = trajectory(), increments()
    x, y, z = track.position_world.T
    assert np.array_equal(track.in_frames(world="NED").position_world.T, [y, x, -z])
    assert (track.in_frames(world="NED", body="FRD").moving == track.moving).all()
    assert (track.in_frames(body="FRD").velocity_world == track.velocity_world).all()
    x, y, z = sums.delta_velocity.T
    assert np.array_equal(sums.in_frames(body="FUR").delta_velocity.T, [x, z, -y])
    assert (sums.in_frames(body="FUR").delta_angle_dt_ns == sums.delta_angle_dt_ns).all()


def test_a_clipped_z_axis_of_flu_is_the_y_axis_of_the_webots_body():
    series = imu(3, gyro_clipping=[1, 2, 4], accel_clipping=[3, 5, 6])
    moved = series.in_frames(body="FUR")
    assert moved.gyro_clipping.tolist() == [1, 4, 2]
    assert moved.accel_clipping.tolist() == [5, 3, 6]


def test_a_covariance_that_is_marked_absent_stays_marked():
    marked = np.zeros((2, 3, 3))
    marked[0, 0, 0] = -1.0
    marked[1] = np.diag([1.0, 2.0, 3.0])
    series = imu(2, orientation_covariance=marked, specific_force_covariance=marked)
    moved = series.in_frames(world="NED", body="FUR")
    assert (moved.orientation_covariance[0] == marked[0]).all()
    assert (moved.specific_force_covariance[0] == marked[0]).all()
    assert np.diag(moved.orientation_covariance[1]).tolist() == [2.0, 1.0, 3.0]
    assert np.diag(moved.specific_force_covariance[1]).tolist() == [1.0, 3.0, 2.0]


@settings(max_examples=50)
@given(series=any_imu(), body=st.sampled_from(BodyFrame), world=st.sampled_from(WorldFrame))
def test_there_and_back_gives_the_same_bits(series, body, world):
    back = series.in_frames(body=body, world=world).in_frames(body=series.body, world=series.world)
    assert back == series
    for name in ("angular_velocity", "specific_force"):
        values, returned = getattr(series, name), getattr(back, name)
        known = ~np.isnan(values)
        assert values[known].tobytes() == returned[known].tobytes()


def test_the_frames_of_a_series_are_left_alone_where_none_is_asked():
    assert imu().in_frames() == imu()
    assert imu().in_frames(body="FLU", world="ENU") == imu()


def test_an_attitude_that_is_partly_unknown_keeps_its_known_part_in_its_own_frames():
    series = trajectory(1).replace(q_world_from_body=[[0.0, np.nan, np.inf, 1.0]])
    assert series.in_frames(body="FLU", world="ENU") == series
    assert np.isnan(series.in_frames(body="FRD", world="NED").q_world_from_body).all()


def test_increments_know_no_world():
    with pytest.raises(FrameError, match=r"no world frame, got NED.*leave world= out"):
        increments().in_frames(world="NED")


def test_an_unknown_target_frame_is_refused():
    with pytest.raises(FrameError, match=r"expected world as one of .*got 'FLU'"):
        imu().in_frames(world="FLU")
