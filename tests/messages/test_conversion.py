"""Round trips are the identity where the target can hold the source; the rest is named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog
from scipy.spatial.transform import Rotation

from strapdown.errors import ConversionLossError, ShapeError, ValueRangeError
from strapdown.messages import (
    Batch,
    Imu,
    Odometry,
    Pose3D,
    Quaternion,
    RosImu,
    Vector3,
    VehicleImu,
    conversion,
    losses,
)
from strapdown.messages.covariance import CovarianceStatus, status
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory

ABSENT = np.array([-1.0] + [0.0] * 8)
BLOCKS = {
    CovarianceStatus.ABSENT: ABSENT,
    CovarianceStatus.UNKNOWN: np.zeros(9),
    CovarianceStatus.KNOWN: np.diag([1.0, 2.0, 3.0]).ravel(),
}
BLOCK_FIELDS = (
    "orientation_covariance",
    "angular_velocity_covariance",
    "linear_acceleration_covariance",
)
MESSAGE_STATUSES = list(itertools.product(CovarianceStatus, repeat=3))
BODIES = ["FLU", "FRD", "FUR"]
WORLDS = ["ENU", "NED", "NWU", "NUE", "EUN"]

flags = st.booleans()
seeds = st.integers(0, 2**32 - 1)
rows = st.integers(1, 6)
identities = st.builds(SensorIdentity, st.just(""), st.integers(0, 3), st.integers(0, 3))


def unit_quaternions(rng, count):
    return Rotation.random(count, rng=rng).as_quat()


def covariances(rng, count):
    factors = rng.normal(size=(count, 3, 3))
    return factors @ factors.transpose(0, 2, 1)


@st.composite
def imu_series(draw, **fixed):
    """Series with any of the optional columns, in the form in which reading gives them."""
    rng, count = np.random.default_rng(draw(seeds)), draw(rows)
    columns = {}
    if draw(flags):
        columns["q_world_from_body"] = unit_quaternions(rng, count)
        if draw(flags):
            columns["orientation_covariance"] = covariances(rng, count)
            if count > 1 and draw(flags):
                columns["q_world_from_body"][0] = np.nan
                columns["orientation_covariance"][0] = ABSENT.reshape(3, 3)
    for name in ("angular_velocity_covariance", "specific_force_covariance"):
        if draw(flags):
            columns[name] = covariances(rng, count)
            if draw(flags):
                columns[name][0] = ABSENT.reshape(3, 3)
    if draw(flags):
        columns["magnetic_field"] = rng.normal(size=(count, 3))
    for name in ("gyro_clipping", "accel_clipping"):
        if draw(flags):
            columns[name] = rng.integers(0, 8, count, dtype=np.uint8)
    columns["sensor"] = SensorIdentity(
        *draw(st.tuples(st.sampled_from(["", "imu"]), st.integers(0, 2), st.integers(0, 2)))
    )
    columns["body"], columns["world"] = draw(st.sampled_from(BODIES)), draw(st.sampled_from(WORLDS))
    return ImuSeries(
        rng.integers(0, 2**60, count),
        rng.normal(size=(count, 3)),
        rng.normal(size=(count, 3)),
        **(columns | fixed),
    )


@st.composite
def increments(draw, step_ns=1000):
    rng, count = np.random.default_rng(draw(seeds)), draw(rows)
    same = draw(flags)
    dt = rng.integers(1, 20_000, count) * step_ns
    return Increments(
        rng.integers(10**9, 10**15, count) * step_ns,
        rng.normal(size=(count, 3)).astype(np.float32),
        rng.normal(size=(count, 3)).astype(np.float32),
        dt,
        dt if same else rng.integers(1, 20_000, count) * step_ns,
        gyro_clipping=rng.integers(0, 8, count, dtype=np.uint8),
        accel_clipping=rng.integers(0, 8, count, dtype=np.uint8),
        gyro_calibration_count=rng.integers(0, 2, count, dtype=np.uint8),
        accel_calibration_count=rng.integers(0, 2, count, dtype=np.uint8),
        body=draw(st.sampled_from(BODIES)),
        sensor=draw(identities),
    )


@st.composite
def trajectories(draw):
    rng, count = np.random.default_rng(draw(seeds)), draw(rows)
    q = unit_quaternions(rng, count)
    if draw(flags):
        q[0] = np.nan
    return Trajectory(
        rng.integers(0, 2**60, count),
        q,
        position_world=rng.normal(size=(count, 3)) if draw(flags) else None,
        velocity_world=rng.normal(size=(count, 3)) if draw(flags) else None,
        moving=rng.integers(0, 2, count).astype(bool) if draw(flags) else None,
        name=draw(st.sampled_from(["", "truth"])),
        body=draw(st.sampled_from(BODIES)),
        world=draw(st.sampled_from(WORLDS)),
    )


def message_of(statuses, rng):
    message = RosImu(123_456_789, "imu", 4)
    message.block[:] = rng.normal(size=37)
    for field, said in zip(BLOCK_FIELDS, statuses, strict=True):
        setattr(message, field, BLOCKS[said])
    return message


def refused(convert, source) -> tuple[str, ...]:
    """Names that a strict conversion raises with."""
    try:
        convert(source, strict=True)
    except ConversionLossError as error:
        return error.lost
    return ()


def lost_columns(series) -> set[str]:
    clipping = {name for name in ("gyro_clipping", "accel_clipping") if clips(series, name)}
    return clipping | ({"magnetic_field"} if series.magnetic_field is not None else set())


def clips(series, name) -> bool:
    bits = getattr(series, name)
    return bits is not None and bool(bits.any())


def lost_ids(series) -> set[str]:
    names = ("accel_device_id", "gyro_device_id")
    return {f"sensor.{name}" for name in names if getattr(series.sensor, name)}


def lost_frames(series) -> set[str]:
    return {name for name in ("body", "world") if getattr(series, name) not in ("FLU", "ENU")}


def without_ros_losses(series) -> ImuSeries:
    common = series.in_frames(body="FLU", world="ENU")
    return common.replace(magnetic_field=None, gyro_clipping=None, accel_clipping=None)


class TestRosAndHorusMessages:
    def test_there_and_back_keeps_numbers_and_statuses(self, subtests):
        for statuses in MESSAGE_STATUSES:
            with subtests.test(statuses=statuses):
                message = message_of(statuses, np.random.default_rng(1))
                imu = conversion.imu_from_ros(message)
                assert tuple(status(getattr(imu, field)) for field in BLOCK_FIELDS) == statuses
                assert conversion.ros_from_imu(imu, frame_id="imu", seq=4) == message

    def test_absent_orientation_takes_the_form_of_each_dialect(self):
        message = message_of((CovarianceStatus.ABSENT,) * 3, np.random.default_rng(1))
        imu = conversion.imu_from_ros(message)
        assert imu.orientation_covariance.tolist() == [-1.0] * 9
        assert imu.linear_acceleration_covariance.tolist() == ABSENT.tolist()
        back = conversion.ros_from_imu(imu)
        assert back.orientation_covariance.tolist() == ABSENT.tolist()

    def test_covariance_bits_are_kept_on_request(self):
        message = message_of((CovarianceStatus.KNOWN,) * 3, np.random.default_rng(1))
        message.orientation_covariance = [-2.0, *range(8)]
        imu = conversion.imu_from_ros(message, keep_covariance_bits=True)
        assert imu.orientation_covariance.tolist() == [-2.0, *range(8)]
        back = conversion.ros_from_imu(imu, frame_id="imu", seq=4, keep_covariance_bits=True)
        assert back == message

    @given(frame_id=st.sampled_from(["", "imu"]), seq=st.integers(0, 2))
    def test_the_header_is_what_horus_loses(self, frame_id, seq):
        message = RosImu(7, frame_id, seq)
        named = losses(message, Imu)
        assert named == ("frame_id",) * bool(frame_id) + ("seq",) * bool(seq)
        assert refused(conversion.imu_from_ros, message) == named
        back = conversion.ros_from_imu(conversion.imu_from_ros(message))
        assert (back == message) == (not named)

    def test_horus_messages_lose_nothing_in_ros(self):
        assert losses(Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 2**64 - 1), RosImu) == ()

    def test_a_negative_stamp_has_no_place_in_horus(self):
        with pytest.raises(OverflowError, match="timestamp_ns"):
            conversion.imu_from_ros(RosImu(-1))


class TestSeriesAndImuMessages:
    @given(series=imu_series())
    def test_ros_gives_back_all_but_what_is_named(self, series):
        back = conversion.series_from_ros(conversion.ros_from_series(series))
        sensor = SensorIdentity(series.sensor.name)
        assert back == without_ros_losses(series).replace(sensor=sensor)
        named = losses(series, RosImu)
        assert set(named) == lost_columns(series) | lost_ids(series)
        assert refused(conversion.ros_from_series, series) == named

    @given(series=imu_series())
    def test_horus_gives_back_all_but_what_is_named(self, series):
        records = conversion.imu_from_series(series)
        back = conversion.series_from_imu(records)
        assert back == without_ros_losses(series).replace(sensor=SensorIdentity())
        assert conversion.series_from_imu([Imu.from_record(record) for record in records]) == back
        named = losses(series, Imu)
        assert not named or back != series
        assert set(named) == lost_columns(series) | lost_ids(series) | lost_frames(series) | (
            {"sensor.name"} if series.sensor.name else set()
        )
        assert refused(conversion.imu_from_series, series) == named

    def test_statuses_survive_a_series(self, subtests):
        for statuses in MESSAGE_STATUSES:
            with subtests.test(statuses=statuses):
                rng = np.random.default_rng(5)
                messages = [
                    message_of(statuses, rng),
                    message_of((CovarianceStatus.KNOWN,) * 3, rng),
                ]
                for sequence in (messages, messages[:1]):
                    batch = conversion.ros_from_series(conversion.series_from_ros(sequence))
                    back = RosImu.from_stamped(batch[0])
                    assert tuple(status(getattr(back, field)) for field in BLOCK_FIELDS) == statuses
                    assert np.array_equal(back.block[13:], messages[0].block[13:])
                    if statuses[0] is CovarianceStatus.ABSENT:
                        assert back.orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
                    else:
                        assert np.array_equal(back.orientation, messages[0].orientation)

    def test_an_orientation_that_no_message_has_is_no_column(self):
        series = conversion.series_from_imu([Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 5)])
        assert series == ImuSeries(np.array([5]), np.array([[0, 0, 0.1]]), np.array([[0, 0, 9.81]]))

    def test_a_row_without_orientation_is_nan_in_a_series_and_absent_in_a_message(self):
        q = np.array([[0.0, 0.0, 0.0, 1.0], [np.nan] * 4])
        series = ImuSeries(np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)), q_world_from_body=q)
        batch = conversion.ros_from_series(series)
        assert batch.values[1, :13].tolist() == [0.0, 0.0, 0.0, 1.0, *ABSENT]
        back = conversion.series_from_ros(batch)
        assert np.array_equal(back.q_world_from_body, q, equal_nan=True)

    def test_a_nan_covariance_reads_as_absent(self):
        message = RosImu(angular_velocity_covariance=[np.nan] * 9)
        back = conversion.series_from_ros(message)
        assert back.angular_velocity_covariance.ravel().tolist() == ABSENT.tolist()

    def test_rest_in_px4_axes_is_written_with_gravity_up(self):
        series = ImuSeries(np.zeros(1, int), [[0.1, 0.2, 0.3]], [[0.0, 0.0, -9.81]], body="FRD")
        batch = conversion.ros_from_series(series)
        assert batch.values[0, 25:28].tolist() == [0.0, 0.0, 9.81]
        assert batch.values[0, 13:16].tolist() == [0.1, -0.2, -0.3]

    def test_the_frame_name_is_the_name_of_the_sensor_where_it_is_one(self):
        two = [RosImu(1, "left"), RosImu(2, "right")]
        assert conversion.series_from_ros(two[:1]).sensor.name == "left"
        assert conversion.series_from_ros(two).sensor.name == ""
        assert losses(two, ImuSeries) == ("frame_id",)
        assert losses([RosImu(1, "a", 0), RosImu(2, "a", 1)], ImuSeries) == ()
        assert refused(conversion.series_from_ros, [RosImu(1, "a", 3)]) == ("seq",)

    def test_stamps_that_do_not_fit_are_refused(self):
        with pytest.raises(ValueRangeError, match="9223372036854775808"):
            conversion.series_from_imu(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2**63))
        series = ImuSeries(np.array([4, -5]), np.zeros((2, 3)), np.zeros((2, 3)))
        with pytest.raises(ValueRangeError, match="-5"):
            conversion.imu_from_series(series)

    def test_messages_of_another_type_are_refused(self):
        with pytest.raises(TypeError, match="Pose3D"):
            conversion.series_from_imu([Pose3D()])
        with pytest.raises(ShapeError, match=r"Imu\.dtype"):
            conversion.series_from_imu(np.zeros(2, Pose3D.dtype))
        with pytest.raises(TypeError, match="Imu in row 0"):
            conversion.series_from_ros([Imu.new()])
        with pytest.raises(ShapeError, match="37 numbers a message, got 7"):
            conversion.series_from_ros(
                Batch(np.zeros(1, int), np.zeros((1, 7)), ("",), np.zeros(1))
            )

    def test_empty_goes_to_empty(self):
        for back in (
            conversion.series_from_ros(conversion.ros_from_series(conversion.series_from_ros([]))),
            conversion.series_from_imu(conversion.imu_from_series(conversion.series_from_imu([]))),
        ):
            assert len(back) == 0

    def test_the_magnetic_field_has_its_own_message(self):
        field = np.array([[1e-5, 2e-5, -4e-5], [np.nan] * 3])
        series = ImuSeries(
            np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)), magnetic_field=field, body="FRD"
        )
        batch = conversion.ros_from_magnetic_field(series)
        assert batch.values.shape == (2, 12)
        assert batch.values[0].tolist() == [1e-5, -2e-5, 4e-5] + [0.0] * 9
        with pytest.raises(ShapeError, match="magnetic_field"):
            conversion.ros_from_magnetic_field(series.replace(magnetic_field=None))


class TestIncrements:
    @given(source=increments())
    def test_px4_gives_back_what_is_in_its_units(self, source):
        assert losses(source, VehicleImu) == ()
        records = conversion.vehicle_imu_from_increments(source, strict=True)
        back = conversion.increments_from_vehicle_imu(records, strict=True)
        assert back == source.in_frames(body="FRD")
        messages = [VehicleImu.from_record(record) for record in records]
        assert conversion.increments_from_vehicle_imu(messages) == back

    @given(source=increments(step_ns=1))
    def test_what_px4_loses_is_named(self, source):
        source = source.replace(sensor=SensorIdentity("imu"))
        named = losses(source, VehicleImu)
        assert refused(conversion.vehicle_imu_from_increments, source) == named
        times = ("t_ns", "delta_angle_dt_ns", "delta_velocity_dt_ns")
        fine = [name for name in times if (getattr(source, name) % 1000).any()]
        assert named == (*(f"{name} below one microsecond" for name in fine), "sensor.name")
        back = conversion.increments_from_vehicle_imu(
            conversion.vehicle_imu_from_increments(source)
        )
        for name in times:
            error = np.abs(getattr(back, name) - getattr(source, name)).max()
            assert (name in fine) == (error > 0)
            assert error <= 500

    def test_a_message_becomes_its_mean_rate_at_the_middle_of_its_interval(self):
        message = VehicleImu(
            timestamp=1_005_200,
            timestamp_sample=1_005_000,
            delta_angle=[0.5, -0.25, 0.125],
            delta_velocity=[0.0, 0.0, -0.0625],
            delta_angle_dt=5000,
            delta_velocity_dt=4000,
            delta_angle_clipping=VehicleImu.CLIPPING_Y,
        )
        source = conversion.increments_from_vehicle_imu(message)
        series = conversion.series_from_increments(source)
        assert series.t_ns.tolist() == [1_002_500_000]
        assert series.angular_velocity.tolist() == [[100.0, -50.0, 25.0]]
        assert series.specific_force.tolist() == [[0.0, 0.0, -15.625]]
        assert series.gyro_clipping.tolist() == [2]
        assert series.body == "FRD"
        records = conversion.imu_from_vehicle_imu([message])
        assert records["angular_velocity"].tolist() == [[100.0, 50.0, -25.0]]
        assert records["linear_acceleration"].tolist() == [[0.0, 0.0, 15.625]]
        assert records["timestamp_ns"].tolist() == [1_002_500_000]
        assert losses(message, Imu) == (
            "timestamp",
            "delta_angle_dt",
            "delta_velocity_dt",
            "delta_angle_clipping",
        )
        assert refused(conversion.imu_from_vehicle_imu, message) == losses(message, Imu)

    def test_mean_rates_are_those_that_the_autopilot_published(self, data_dir):
        path = data_dir / "px4" / "ulog" / "sample_px4_events.ulg"
        log = ULog(str(path), ["vehicle_imu", "sensor_combined"])
        columns = log.get_dataset("vehicle_imu").data
        records = np.zeros(len(columns["timestamp"]), VehicleImu.dtype)
        for name in ("timestamp_sample", "delta_angle_dt", "delta_velocity_dt"):
            records[name] = columns[name]
        for name in ("delta_angle", "delta_velocity"):
            records[name] = np.column_stack([columns[f"{name}[{axis}]"] for axis in range(3)])
        series = conversion.series_from_increments(conversion.increments_from_vehicle_imu(records))

        theirs = log.get_dataset("sensor_combined").data
        row = np.searchsorted(theirs["timestamp"], records["timestamp_sample"])
        assert np.array_equal(theirs["timestamp"][row], records["timestamp_sample"])
        assert len(row) == 62
        for axis in range(3):
            rate, force = theirs[f"gyro_rad[{axis}]"], theirs[f"accelerometer_m_s2[{axis}]"]
            np.testing.assert_allclose(series.angular_velocity[:, axis], rate[row], rtol=2e-7)
            np.testing.assert_allclose(series.specific_force[:, axis], force[row], rtol=2e-7)

    @given(source=increments(step_ns=1))
    def test_mean_rates_with_their_interval_give_the_increments_back(self, source):
        dt = source.delta_angle_dt_ns
        source = source.replace(delta_velocity_dt_ns=dt)
        back = conversion.increments_from_mean_rates(conversion.series_from_increments(source), dt)
        for name in ("t_ns", "delta_angle_dt_ns", "gyro_clipping", "accel_clipping", "sensor"):
            assert np.array_equal(getattr(back, name), getattr(source, name))
        for name in ("delta_angle", "delta_velocity"):
            assert np.array_equal(getattr(back, name).astype(np.float32), getattr(source, name))
        counts = ("gyro_calibration_count", "accel_calibration_count")
        assert losses(source, ImuSeries) == (
            "delta_angle_dt_ns",
            "delta_velocity_dt_ns",
            *(name for name in counts if getattr(source, name).any()),
        )
        assert refused(conversion.series_from_increments, source) == losses(source, ImuSeries)

    @given(source=increments(), dt_us=st.integers(1, 30_000))
    def test_horus_messages_of_mean_rates_go_to_px4_and_back(self, source, dt_us):
        source = source.replace(
            delta_angle_dt_ns=dt_us * 1000, delta_velocity_dt_ns=dt_us * 1000, body="FRD"
        )
        first = conversion.vehicle_imu_from_increments(source)
        imu = conversion.imu_from_vehicle_imu(first)
        second = conversion.vehicle_imu_from_imu(imu, dt_us * 1000, strict=True)
        for name in ("timestamp_sample", "delta_angle_dt", "delta_angle", "delta_velocity"):
            assert np.array_equal(first[name], second[name])

    @given(series=imu_series(world="ENU", sensor=SensorIdentity()))
    def test_what_increments_lose_of_rates_is_named(self, series):
        columns = (
            "magnetic_field",
            "q_world_from_body",
            "orientation_covariance",
            "angular_velocity_covariance",
            "specific_force_covariance",
        )
        expected = tuple(name for name in columns if getattr(series, name) is not None)
        assert losses(series, Increments) == expected

        def convert(source, *, strict):
            return conversion.increments_from_mean_rates(source, 1000, strict=strict)

        assert refused(convert, series) == expected

    def test_what_px4_loses_of_a_horus_message_is_named(self):
        imu = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, 1_002_500_000)
        assert losses(imu, VehicleImu) == ()
        imu.set_orientation_from_euler(0.0, 0.0, 1.0, covariance=0.1)
        imu.angular_velocity_covariance = np.eye(3)
        named = ("orientation", "orientation_covariance", "angular_velocity_covariance")
        assert losses(imu, VehicleImu) == named

        def convert(source, *, strict):
            return conversion.vehicle_imu_from_imu(source, 5_000_000, strict=strict)

        assert refused(convert, imu) == named
        late = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, 1_002_500_001)
        assert refused(convert, late) == ("t_ns below one microsecond",)

    def test_publication_time_and_changing_sensors_are_what_increments_lose(self):
        messages = [
            VehicleImu(timestamp=2, timestamp_sample=1, accel_device_id=3, gyro_device_id=5),
            VehicleImu(timestamp=3, timestamp_sample=3, accel_device_id=4, gyro_device_id=5),
        ]
        assert losses(messages, Increments) == ("timestamp", "accel_device_id")
        assert refused(conversion.increments_from_vehicle_imu, messages) == losses(
            messages, Increments
        )
        source = conversion.increments_from_vehicle_imu(messages)
        assert source.sensor == SensorIdentity("", 0, 5)
        assert losses(messages[1:], Increments) == ()

    def test_an_interval_of_zero_gives_no_rate(self):
        source = Increments(np.arange(2), np.ones((2, 3)), np.ones((2, 3)), [0, 10**9], [10**9, 0])
        series = conversion.series_from_increments(source)
        assert np.isnan(series.angular_velocity).all(axis=1).tolist() == [True, False]
        assert np.isnan(series.specific_force).all(axis=1).tolist() == [False, True]

    @pytest.mark.parametrize("dt_ns", [0, -1, np.array([1000, 0])])
    def test_intervals_must_be_positive(self, dt_ns):
        series = ImuSeries(np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)))
        with pytest.raises(ValueRangeError, match="dt_ns"):
            conversion.increments_from_mean_rates(series, dt_ns)

    @pytest.mark.parametrize(
        "change",
        [
            {"t_ns": np.array([-1000])},
            {"delta_angle_dt_ns": np.array([2**32 * 1000])},
            {"delta_velocity": np.array([[0.0, 0.0, 1e39]])},
        ],
    )
    def test_what_does_not_fit_in_px4_is_refused(self, change):
        source = Increments(np.zeros(1, int), np.zeros((1, 3)), np.zeros((1, 3)), [1000], [1000])
        with pytest.raises(ValueRangeError, match=next(iter(change)).removesuffix("_ns")):
            conversion.vehicle_imu_from_increments(source.replace(**change))

    def test_a_stamp_beyond_nanoseconds_is_refused(self):
        with pytest.raises(ValueRangeError, match="timestamp_sample"):
            conversion.increments_from_vehicle_imu(VehicleImu(timestamp_sample=2**63 // 1000 + 1))


class TestTrajectories:
    @given(source=trajectories())
    def test_poses_give_back_all_but_what_is_named(self, source):
        named = losses(source, Pose3D)
        records = conversion.pose_from_trajectory(source)
        back = conversion.trajectory_from_pose(records)
        kept = source.replace(velocity_world=None, moving=None, name="")
        assert back == kept.in_frames(body="FLU", world="ENU")
        expected = {
            name for name in ("velocity_world", "moving") if getattr(source, name) is not None
        }
        assert set(named) == expected | lost_frames(source) | ({"name"} if source.name else set())
        assert (back == source) == (not named)
        assert refused(conversion.pose_from_trajectory, source) == named
        messages = [Pose3D.from_record(record) for record in records]
        assert conversion.trajectory_from_pose(messages) == back
        assert losses(messages, Trajectory) == ()

    @given(source=trajectories(), frame_id=st.sampled_from(["", "map"]))
    def test_ros_poses_give_back_all_but_what_is_named(self, source, frame_id):
        batch = conversion.ros_from_trajectory(source, frame_id=frame_id)
        assert batch.values.shape[1] == (4 if source.position_world is None else 7)
        back = conversion.trajectory_from_ros(batch)
        kept = source.replace(velocity_world=None, moving=None, name="")
        assert back == kept.in_frames(body="FLU", world="ENU")
        named = losses(source, Batch)
        assert named == tuple(x for x in losses(source, Pose3D) if x not in ("body", "world"))
        assert refused(conversion.ros_from_trajectory, source) == named
        lost = ("frame_id",) * bool(frame_id)
        assert refused(conversion.trajectory_from_ros, batch) == lost
        batch.seq[:] = 7
        assert refused(conversion.trajectory_from_ros, batch) == (*lost, "seq")

    def test_ros_messages_of_other_sizes_are_no_poses(self):
        batch = Batch(np.zeros(1, int), np.zeros((1, 3)), ("",), np.zeros(1))
        with pytest.raises(ShapeError, match="7 or 4 numbers"):
            conversion.trajectory_from_ros(batch)

    @given(seed=seeds, count=rows, position=flags, velocity=flags)
    def test_a_planar_trajectory_survives_odometry(self, seed, count, position, velocity):
        rng = np.random.default_rng(seed)
        turns = np.outer(rng.uniform(-3.1, 3.1, count), [0.0, 0.0, 1.0])
        q = Rotation.from_rotvec(turns).as_quat(canonical=True)
        xyz = rng.normal(size=(count, 3)) * [1.0, 1.0, 0.0]
        source = Trajectory(
            rng.integers(0, 2**60, count),
            q,
            position_world=xyz if position else None,
            velocity_world=rng.normal(size=(count, 3)) if velocity else None,
        )
        records = conversion.odometry_from_trajectory(source, strict=True)
        back = conversion.trajectory_from_odometry(records, strict=True)
        assert np.array_equal(back.t_ns, source.t_ns)
        np.testing.assert_allclose(back.q_world_from_body, q, atol=1e-12)
        for name in ("position_world", "velocity_world"):
            ours, theirs = getattr(back, name), getattr(source, name)
            assert (ours is None) == (theirs is None)
            if theirs is not None:
                np.testing.assert_allclose(ours, theirs, atol=1e-12)

    def test_odometry_is_the_projection_on_the_plane(self):
        q = Rotation.from_euler("ZYX", [90.0, 20.0, 10.0], degrees=True).as_quat()
        source = Trajectory(
            [5], [q], position_world=[[1.0, 2.0, 3.0]], velocity_world=[[0.0, 2.0, 0.5]], name="x"
        )
        assert losses(source, Odometry) == (
            "name",
            "position_world z",
            "q_world_from_body beyond yaw",
        )
        assert refused(conversion.odometry_from_trajectory, source) == losses(source, Odometry)
        message = Odometry.from_record(conversion.odometry_from_trajectory(source)[0])
        assert (message.x, message.y) == (1.0, 2.0)
        assert message.theta == pytest.approx(np.pi / 2)
        assert message.linear == pytest.approx([2.0, 0.0, 0.5])
        assert message.pose_timestamp_ns == message.twist_timestamp_ns == message.timestamp_ns == 5

    def test_what_a_trajectory_loses_of_odometry_is_named(self):
        message = Odometry(1.0, 2.0, 0.5, 0.3)
        assert losses(message, Trajectory) == ()
        message = Odometry(1.0, 2.0, 4.0, 0.3, 0.1, 7)
        message.set_frames("odom", "base_link")
        message.pose_covariance[0] = message.twist_covariance[0] = 1.0
        named = (
            "theta beyond half a turn",
            "angular",
            "pose_covariance",
            "twist_covariance",
            "frame_id",
            "child_frame_id",
            "pose_timestamp_ns",
            "twist_timestamp_ns",
        )
        assert losses(message, Trajectory) == named
        assert refused(conversion.trajectory_from_odometry, message) == named

    def test_unknown_attitude_stays_unknown(self):
        source = Trajectory([5], [[np.nan] * 4])
        assert np.isnan(conversion.odometry_from_trajectory(source)["theta"]).all()


class TestVectors:
    @pytest.mark.parametrize(("kind", "size"), [(Vector3, 3), (Quaternion, 4)])
    def test_arrays_and_messages_are_the_same_numbers(self, kind, size):
        values = np.arange(2.0 * size).reshape(2, size)
        records = conversion.messages_from_floats(values, kind)
        assert kind.from_record(records[1]) == kind(*values[1])
        assert np.array_equal(conversion.floats_from_messages(records, kind), values)
        assert conversion.floats_from_messages(kind(*values[1]), kind).tolist() == [
            values[1].tolist()
        ]
        with pytest.raises(ShapeError, match=kind.__name__):
            conversion.messages_from_floats(np.zeros((2, 5)), kind)


def test_losses_of_a_conversion_that_does_not_exist_are_refused():
    with pytest.raises(TypeError, match="Trajectory"):
        losses(Trajectory([1], [[0.0, 0.0, 0.0, 1.0]]), VehicleImu)
    with pytest.raises(TypeError, match="list"):
        losses([], Imu)


def test_the_error_of_a_strict_conversion_names_everything_in_one_line():
    source = RosImu(1, "imu", 3)
    with pytest.raises(ConversionLossError, match="frame_id, seq in use") as caught:
        conversion.imu_from_ros(source, strict=True)
    assert caught.value.lost == ("frame_id", "seq")
    assert "\n" not in str(caught.value)


class TestWhatWasNotMeasured:
    """A triad that is NaN in all its axes is absent: ``sensor_msgs/Imu`` says so by -1."""

    series = ImuSeries(
        [1, 2, 3],
        [[np.nan] * 3, [0.1, 0.2, 0.3], [0.1, np.nan, 0.3]],
        [[1.0, 2.0, 3.0], [np.nan] * 3, [np.nan, np.nan, 3.0]],
    )

    @pytest.mark.parametrize("covariance", [None, np.tile(np.eye(3) * 0.04, (3, 1, 1))])
    def test_a_message_says_it_for_its_row_alone(self, covariance):
        whole = self.series.replace(
            angular_velocity_covariance=covariance, specific_force_covariance=covariance
        )
        known = 0.0 if covariance is None else 0.04
        ros = conversion.ros_from_series(whole).values
        horus = conversion.imu_from_series(whole)
        for gyro, accel in (
            (ros[:, 16:25], ros[:, 28:37]),
            (horus["angular_velocity_covariance"], horus["linear_acceleration_covariance"]),
        ):
            assert gyro[:, 0].tolist() == [-1.0, known, known]
            assert accel[:, 0].tolist() == [known, -1.0, known]
            assert not gyro[0, 1:].any()

    def test_a_series_without_covariances_reads_back_equal(self):
        assert conversion.series_from_ros(conversion.ros_from_series(self.series)) == self.series
