"""MAVLink messages as records: layouts, golden frames, units, stamps and coverage."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pymavlink.dialects.v20 import common

from strapdown import ImuSeries, Trajectory
from strapdown.bridges import mavlink
from strapdown.bridges.mavlink import Ambient, Kind, RawScale
from strapdown.errors import (
    BackendMissingError,
    ShapeError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.messages.px4 import VehicleImu

G = 9.80665
MS = 1_000_000
HIL_SENSOR_FRAME = (
    "fd3e00000001016b000040420f0000000000000000000000003f0ae81cc10ad7233c0ad7a3bc8fc2f53ccdcc4c3e"
    "00000000cdcccc3e00507d4400000000000000000000c841ff1fd41d"
)
SCALED_IMU_FRAME = "fd1800000001011a0000e80300000100feff18fc0300fcff0500000000000000c4092b93"
ARDUPILOT = RawScale(accel=G / 1000, gyro=1e-3, mag=1e-7)

FLOATS = "Q13f"
LAYOUTS = {  # name: id, crc_extra, full length, wire order
    "HIL_SENSOR": (107, 108, 65, "<Q13fIB"),
    "HIGHRES_IMU": (105, 93, 63, "<Q13fHB"),
    "SCALED_IMU": (26, 170, 24, "<I9hh"),
    "SCALED_IMU2": (116, 76, 24, "<I9hh"),
    "SCALED_IMU3": (129, 46, 24, "<I9hh"),
    "RAW_IMU": (27, 144, 29, "<Q9hBh"),
    "ATTITUDE": (30, 39, 28, "<I6f"),
    "ATTITUDE_QUATERNION": (31, 246, 48, "<I7f4f"),
}


def level(count=3, step_ns=10 * MS, **columns):
    rows = np.ones((count, 1))
    return ImuSeries(
        1_000_000_000 + step_ns * np.arange(count),
        rows * [0.01, -0.02, 0.03],
        rows * [0.0, 0.5, -G],
        body="FRD",
        world="NED",
        **columns,
    )


def highres(stamps_us, rate=0.1):
    records = np.zeros(len(stamps_us), mavlink.DTYPES[Kind.HIGHRES_IMU])
    records["time_usec"] = stamps_us
    records["zgyro"] = rate
    records["zacc"] = -G
    records["fields_updated"] = 0x3F
    return records


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_is_that_of_the_definition_and_of_pymavlink(name):
    number, crc_extra, size, wire = LAYOUTS[name]
    theirs = getattr(common, f"MAVLink_{name.lower()}_message")
    ours = mavlink.DTYPES[Kind[name]]
    assert (theirs.id, theirs.crc_extra) == (number, crc_extra)
    assert ours.itemsize == size == struct.calcsize(wire) == theirs.unpacker.size
    values = theirs.unpacker.unpack(bytes(range(size)))
    record = np.frombuffer(bytes(range(size)), ours)[0]
    flat = [number for field in ours.names for number in np.ravel(record[field]).tolist()]
    assert np.array_equal(flat, values, equal_nan=True)


def test_a_level_sensor_with_everything_fresh_gives_the_golden_frame_of_hil_sensor():
    series = level(1, magnetic_field=[[0.2e-4, 0.0, 0.4e-4]])
    ambient = Ambient(abs_pressure=1013.25, diff_pressure=0.0, pressure_alt=0.0, temperature=25.0)
    records = mavlink.records_from_series(Kind.HIL_SENSOR, series, ambient=ambient)
    (message,) = mavlink.messages_from_records(Kind.HIL_SENSOR, records)
    sender = common.MAVLink(None, srcSystem=1, srcComponent=1)
    assert message.pack(sender).hex() == HIL_SENSOR_FRAME


def test_whole_numbers_give_the_golden_frame_of_scaled_imu():
    records = np.zeros(1, mavlink.DTYPES[Kind.SCALED_IMU])
    records[0] = (1000, 1, -2, -1000, 3, -4, 5, 0, 0, 0, 2500)
    (message,) = mavlink.messages_from_records(Kind.SCALED_IMU, records)
    sender = common.MAVLink(None, srcSystem=1, srcComponent=1)
    assert message.pack(sender).hex() == SCALED_IMU_FRAME


def test_the_golden_frames_read_back_in_si():
    reader = common.MAVLink(None)
    message = reader.decode(bytearray.fromhex(HIL_SENSOR_FRAME))
    series = mavlink.series_from_records(
        Kind.HIL_SENSOR, mavlink.records_from_messages(Kind.HIL_SENSOR, [message])
    )
    assert series.t_ns.tolist() == [1_000_000_000]
    assert (series.body, series.world) == ("FRD", "NED")
    np.testing.assert_allclose(series.specific_force, [[0.0, 0.5, -G]], rtol=1e-7)
    np.testing.assert_allclose(series.angular_velocity, [[0.01, -0.02, 0.03]], rtol=1e-7)
    np.testing.assert_allclose(series.magnetic_field, [[2e-5, 0.0, 4e-5]], rtol=1e-7)
    message = reader.decode(bytearray.fromhex(SCALED_IMU_FRAME))
    series = mavlink.series_from_records(
        Kind.SCALED_IMU, mavlink.records_from_messages(Kind.SCALED_IMU, [message])
    )
    np.testing.assert_allclose(series.specific_force, [[0.001 * G, -0.002 * G, -G]], rtol=1e-12)
    np.testing.assert_allclose(series.angular_velocity, [[0.003, -0.004, 0.005]], rtol=1e-12)
    assert series.magnetic_field is None


def test_flu_is_sent_as_frd_specific_force():
    upright = ImuSeries([0], [[0.1, 0.2, 0.3]], [[1.0, 2.0, G]])
    (row,) = mavlink.records_from_series("highres_imu", upright)
    acc = [row["xacc"], row["yacc"], row["zacc"], row["xgyro"], row["ygyro"], row["zgyro"]]
    np.testing.assert_allclose(acc, [1.0, -2.0, -G, 0.1, -0.2, -0.3], rtol=1e-7)


@pytest.mark.parametrize(
    ("measured", "bits"),
    [
        ({}, 0x3F),
        ({"magnetic_field": np.zeros((3, 3))}, 0x1FF),
        ({"angular_velocity": np.full((3, 3), np.nan)}, 0x7),
        ({"specific_force": np.full((3, 3), np.nan)}, 0x38),
        ({"specific_force": np.tile([np.inf, 0.0, 1e300], (3, 1))}, 0x3A),
    ],
)
def test_fields_updated_says_what_was_measured(measured, bits):
    records = mavlink.records_from_series(Kind.HIL_SENSOR, level().replace(**measured))
    assert records["fields_updated"].tolist() == [bits] * 3
    assert all(np.isfinite(records[name]).all() for name in records.dtype.names)


@pytest.mark.parametrize(
    ("ambient", "bits"),
    [
        (Ambient(abs_pressure=1e3, pressure_alt=[1.0, 2.0, 3.0], temperature=20.0), 0x1A00),
        (Ambient(diff_pressure=0.0), 0x400),
    ],
)
def test_ambient_measurements_have_their_bits(ambient, bits):
    records = mavlink.records_from_series(Kind.HIGHRES_IMU, level(), ambient=ambient)
    assert records["fields_updated"].tolist() == [0x3F | bits] * 3


def test_what_is_not_fresh_reads_as_nan():
    records = mavlink.records_from_series(
        Kind.HIL_SENSOR, level(magnetic_field=np.full((3, 3), 1e-5))
    )
    records["fields_updated"][1] = 0x8000_0038
    series = mavlink.series_from_records(Kind.HIL_SENSOR, records)
    assert np.isnan(series.specific_force).any(axis=1).tolist() == [False, True, False]
    assert np.isnan(series.magnetic_field).any(axis=1).tolist() == [False, True, False]
    assert np.isfinite(series.angular_velocity).all()


@given(
    hnp.arrays(np.float32, (4, 9), elements=st.floats(-1000, 1000, width=32)),
    st.sampled_from([Kind.HIL_SENSOR, Kind.HIGHRES_IMU]),
    st.integers(0, 255),
)
def test_float_messages_keep_float32_through_frames(values, kind, number):
    values = values.astype(float)
    series = level(4).replace(angular_velocity=values[:, :3], specific_force=values[:, 3:6])
    series = series.replace(magnetic_field=values[:, 6:] * 1e-4)
    records = mavlink.records_from_series(kind, series, sensor_id=number)
    sender = common.MAVLink(None)
    frames = [message.pack(sender) for message in mavlink.messages_from_records(kind, records)]
    back = mavlink.records_from_messages(
        kind, [common.MAVLink(None).decode(bytearray(frame)) for frame in frames]
    )
    assert np.array_equal(back, records)
    again = mavlink.series_from_records(kind, back)
    assert np.array_equal(again.angular_velocity, series.angular_velocity)
    assert np.array_equal(again.specific_force, series.specific_force)
    np.testing.assert_allclose(again.magnetic_field, series.magnetic_field, rtol=2e-7)
    assert np.array_equal(again.t_ns, series.t_ns)


def test_scaled_imu_truncates_toward_zero():
    series = ImuSeries(
        [1_999_999],
        [[0.0039, -0.0039, 1.0]],
        [[0.0019 * G, -0.0019 * G, -G]],
        magnetic_field=[[1.9e-7, -1.9e-7, 5e-5]],
        body="FRD",
    )
    (row,) = mavlink.records_from_series(Kind.SCALED_IMU2, series)
    assert row.tolist() == (1, 1, -1, -1000, 3, -3, 1000, 1, -1, 500, 0)


@pytest.mark.parametrize(
    ("celsius", "hundredths"),
    [(np.nan, 0), (0.0, 1), (0.004, 1), (-0.009, 1), (25.0, 2500), (-1.239, -123), (1e6, 32767)],
)
def test_the_temperature_zero_is_sent_as_one_hundredth(celsius, hundredths):
    records = mavlink.records_from_series(
        Kind.SCALED_IMU, level(), ambient=Ambient(temperature=celsius)
    )
    assert records["temperature"].tolist() == [hundredths] * 3


def test_what_does_not_fit_16_bits_is_saturated_and_marked_on_reading():
    series = ImuSeries([0, MS], [[40.0, 0, -40.0], [1, 1, 1]], [[0, 400.0, 0], [1, 1, 1]])
    records = mavlink.records_from_series(Kind.SCALED_IMU, series.replace(body="FRD"))
    assert (records["xgyro"][0], records["zgyro"][0], records["yacc"][0]) == (32767, -32768, 32767)
    back = mavlink.series_from_records(Kind.SCALED_IMU, records)
    assert back.gyro_clipping.tolist() == [5, 0]
    assert back.accel_clipping.tolist() == [2, 0]


@pytest.mark.parametrize("kind", [Kind.SCALED_IMU3, Kind.RAW_IMU])
def test_a_missing_sample_cannot_be_sent_as_a_whole_number(kind):
    series = level().replace(angular_velocity=np.full((3, 3), np.nan))
    with pytest.raises(ValueRangeError, match="HIL_SENSOR or HIGHRES_IMU"):
        mavlink.records_from_series(kind, series, scale=ARDUPILOT)


def test_raw_imu_needs_a_scale_in_both_directions():
    with pytest.raises(ValueRangeError, match="scale=RawScale"):
        mavlink.records_from_series(Kind.RAW_IMU, level())
    with pytest.raises(ValueRangeError, match="scale=RawScale"):
        mavlink.series_from_records(Kind.RAW_IMU, np.zeros(1, mavlink.DTYPES[Kind.RAW_IMU]))


def test_raw_imu_counts_in_its_scale():
    records = np.zeros(1, mavlink.DTYPES[Kind.RAW_IMU])
    records[0] = (5_000_000, 100, 0, -1000, 1, 2, -3, 200, 0, 0, 1, 0)
    series = mavlink.series_from_records(Kind.RAW_IMU, records, scale=RawScale(0.5, 0.25, 1e-6))
    assert series.specific_force.tolist() == [[50.0, 0.0, -500.0]]
    assert series.angular_velocity.tolist() == [[0.25, 0.5, -0.75]]
    np.testing.assert_allclose(series.magnetic_field, [[2e-4, 0.0, 0.0]])
    back = mavlink.records_from_series(
        Kind.RAW_IMU, series, scale=RawScale(0.5, 0.25, 1e-6), sensor_id=1
    )
    assert back.tolist() == records.tolist()


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_scale_is_positive(scale):
    with pytest.raises(ValueRangeError, match="positive scale gyro"):
        RawScale(1.0, scale, 1.0)


def test_highres_imu_of_px4_is_the_mean_rate_less_the_bias_at_the_end_of_the_window():
    messages = VehicleImu.array([VehicleImu(timestamp=7_000, timestamp_sample=6_000)])
    messages["delta_angle"] = np.float32([0.001, -0.002, 0.0003])
    messages["delta_velocity"] = np.float32([0.01, 0.02, -0.049])
    messages["delta_angle_dt"], messages["delta_velocity_dt"] = 4_985, 5_012
    (row,) = mavlink.records_from_vehicle_imu(
        Kind.HIGHRES_IMU, messages, gyro_bias=[0.01, 0.0, 0.0]
    )
    f32 = np.float32
    assert row["time_usec"] == 6_000
    assert row["xgyro"] == f32(0.001) * (f32(1e6) / f32(4985)) - f32(0.01)
    assert row["zgyro"] == f32(0.0003) * (f32(1e6) / f32(4985))
    assert row["zacc"] == f32(-0.049) * (f32(1e6) / f32(5012))
    assert (row["id"], row["fields_updated"]) == (0, 0x3F)


def test_scaled_imu_of_px4_is_stamped_when_it_was_published():
    messages = VehicleImu.array([VehicleImu(timestamp=7_999, timestamp_sample=5_000)])
    messages["delta_velocity"][0, 2] = -0.05
    messages["delta_angle_dt"] = messages["delta_velocity_dt"] = 5_000
    (row,) = mavlink.records_from_vehicle_imu(Kind.SCALED_IMU, messages)
    assert (row["time_boot_ms"], row["zacc"]) == (7, int(-10.0 * 1000 / G))


def test_a_window_without_length_is_sent_as_not_measured():
    messages = VehicleImu.array([VehicleImu(delta_angle_dt=5_000)])
    (row,) = mavlink.records_from_vehicle_imu(Kind.HIGHRES_IMU, messages)
    assert row["fields_updated"] == 0x38


@pytest.mark.parametrize("kind", [Kind.HIL_SENSOR, Kind.RAW_IMU, Kind.ATTITUDE_QUATERNION])
def test_increments_go_into_no_other_message(kind):
    with pytest.raises(UnknownNameError):
        mavlink.records_from_vehicle_imu(kind, VehicleImu())


def test_increments_of_a_steady_stream_add_up_to_the_angle():
    stamps = 1_000_000 + 5_000 * np.arange(201)
    found = mavlink.increments_from_records(Kind.HIGHRES_IMU, highres(stamps))
    assert (found.coverage.share, found.dropped) == (1.0, 0)
    assert found.increments.body == "FRD"
    assert found.increments.t_ns.tolist() == (1000 * stamps[1:]).tolist()
    np.testing.assert_allclose(found.increments.delta_angle.sum(axis=0), [0, 0, 0.1], rtol=1e-6)
    np.testing.assert_allclose(found.increments.delta_velocity.sum(axis=0)[2], -G, rtol=1e-6)


def test_a_stream_with_losses_is_refused_unless_forced():
    stamps = np.delete(5_000 * np.arange(1, 202), [50, 51, 120])
    with pytest.raises(ValueRangeError, match=r"0\.985"):
        mavlink.increments_from_records(Kind.HIGHRES_IMU, highres(stamps))
    found = mavlink.increments_from_records(Kind.HIGHRES_IMU, highres(stamps), force=True)
    assert found.coverage.share == pytest.approx(197 / 200)
    assert set(found.increments.delta_angle_dt_ns.tolist()) == {5 * MS}


def test_a_stream_slower_than_the_windows_is_refused_where_the_window_is_known():
    records = highres(20_000 * np.arange(1, 101))
    assert mavlink.increments_from_records(Kind.HIGHRES_IMU, records).coverage.share == 1.0
    with pytest.raises(ValueRangeError, match=r"0\.252"):
        mavlink.increments_from_records(Kind.HIGHRES_IMU, records, window_ns=5 * MS)


def test_stamps_that_repeat_or_go_back_and_missing_values_are_dropped():
    records = highres([5_000, 10_000, 10_000, 7_000, 15_000, 20_000, 25_000])
    records["fields_updated"][5] = 0x7
    found = mavlink.increments_from_records(Kind.HIGHRES_IMU, records, force=True)
    assert found.dropped == 3
    assert found.increments.t_ns.tolist() == [10 * MS, 15 * MS, 25 * MS]


@pytest.mark.parametrize("count", [0, 1])
def test_one_message_is_no_interval(count):
    with pytest.raises(ValueRangeError, match="two or more"):
        mavlink.increments_from_records(Kind.HIGHRES_IMU, highres([5_000] * count))


@pytest.mark.parametrize("kind", [Kind.SCALED_IMU, Kind.SCALED_IMU2, Kind.RAW_IMU])
def test_coarse_messages_are_integrated_only_by_force(kind):
    records = mavlink.records_from_series(kind, level(), scale=ARDUPILOT)
    with pytest.raises(ValueRangeError, match=f"got {kind.name}, .*force=True") as caught:
        mavlink.increments_from_records(kind, records, scale=ARDUPILOT)
    assert ("thousandths" in str(caught.value)) is (kind is not Kind.RAW_IMU)  # that has no unit
    found = mavlink.increments_from_records(kind, records, scale=ARDUPILOT, force=True)
    assert len(found.increments) == 2


def test_points_in_time_are_not_means():
    records = mavlink.records_from_series(Kind.HIL_SENSOR, level())
    with pytest.raises(UnknownNameError, match="integrate samples"):
        mavlink.increments_from_records(Kind.HIL_SENSOR, records, force=True)


def test_attitude_is_ned_from_frd_in_the_order_w_x_y_z():
    half = np.sqrt(0.5)
    facing_east = Trajectory([1_999_999_999], [[0.0, 0.0, half, half]], world="NED", body="FRD")
    (row,) = records = mavlink.attitude_records_from_trajectory(
        facing_east, angular_velocity=[[0.1, 0.2, 0.3]]
    )
    np.testing.assert_allclose([row[f"q{i}"] for i in (1, 2, 3, 4)], [half, 0, 0, half], rtol=1e-7)
    assert row["time_boot_ms"] == 1999
    assert row["yawspeed"] == np.float32(0.3)
    assert not row["repr_offset_q"].any()
    back = mavlink.trajectory_from_attitude_records(records)
    assert (back.world, back.body, back.t_ns.tolist()) == ("NED", "FRD", [1_999_000_000])
    np.testing.assert_allclose(back.q_world_from_body, facing_east.q_world_from_body, rtol=1e-7)


def test_attitude_of_a_level_flu_body_that_faces_north_is_the_identity_in_mavlink():
    half = np.sqrt(0.5)  # east of ENU turned to north: a quarter turn about up
    level_north = Trajectory([0], [[0.0, 0.0, half, half]])
    (row,) = mavlink.attitude_records_from_trajectory(level_north)
    assert abs(row["q1"]) == pytest.approx(1.0)
    assert np.isnan(row["rollspeed"])


def test_attitude_passes_through_a_frame():
    trajectory = Trajectory([5 * MS], [[0.5, 0.5, 0.5, 0.5]], world="NED", body="FRD")
    records = mavlink.attitude_records_from_trajectory(trajectory, angular_velocity=[[0, 0, 0]])
    (message,) = mavlink.messages_from_records(Kind.ATTITUDE_QUATERNION, records)
    frame = message.pack(common.MAVLink(None))
    message = common.MAVLink(None).decode(bytearray(frame))
    assert (message.q1, message.q2, message.time_boot_ms) == (0.5, 0.5, 5)
    back = mavlink.records_from_messages(Kind.ATTITUDE_QUATERNION, [message])
    assert np.array_equal(back, records)


@pytest.mark.parametrize(
    ("kind", "t_ns"),
    [("hil_sensor", -1_000), ("scaled_imu", 2**32 * MS), ("scaled_imu", -1)],
)
def test_a_stamp_that_does_not_fit_is_refused(kind, t_ns):
    with pytest.raises(ValueRangeError, match="t_ns"):
        mavlink.records_from_series(kind, level(1).replace(t_ns=np.array([t_ns])))


def test_wrong_names_and_shapes_are_refused():
    with pytest.raises(UnknownNameError, match="hil_sensor"):
        mavlink.records_from_series("hil_senor", level())
    with pytest.raises(UnknownNameError, match="IMU"):
        mavlink.series_from_records(
            Kind.ATTITUDE_QUATERNION, np.zeros(1, mavlink.DTYPES[Kind.ATTITUDE_QUATERNION])
        )
    with pytest.raises(ShapeError, match="temperature"):
        mavlink.records_from_series(
            Kind.HIL_SENSOR, level(), ambient=Ambient(temperature=[1.0, 2.0])
        )
    with pytest.raises(UnknownNameError, match="HEARTBEAT"):
        mavlink.records_from_messages(
            Kind.HIL_SENSOR, [common.MAVLink_heartbeat_message(0, 0, 0, 0, 0, 3)]
        )


def test_without_pymavlink_the_error_names_the_extra(monkeypatch):
    for name in ("pymavlink", "pymavlink.dialects.v20", "pymavlink.dialects.v20.common"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    records = mavlink.records_from_series(Kind.HIL_SENSOR, level())
    with pytest.raises(BackendMissingError, match=r"strapdown\[mavlink\]"):
        mavlink.messages_from_records(Kind.HIL_SENSOR, records)
    with pytest.raises(BackendMissingError, match=r"strapdown\[mavlink\]"):
        mavlink.MavlinkLink(to="14560")
