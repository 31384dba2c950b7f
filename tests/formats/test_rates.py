"""Conversion of increments to rates: stamps, attitude, noise and clock, also in blocks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from strapdown.errors import UnknownNameError
from strapdown.formats import ReadReport, Recording
from strapdown.formats.rates import RateOptions, RateStream
from strapdown.messages import VehicleImuStatus
from strapdown.messages.conversion import series_from_sensor_combined
from strapdown.messages.px4 import SensorCombined, SensorSelection, VehicleAttitude
from strapdown.series import ImuSeries, Increments, Trajectory

MS = 1_000_000
TOPIC = "vehicle_imu.1"


def flight(rows=400, step_ns=5 * MS, dt_ns=5 * MS, seed=1):
    """Windows that end at multiples of the step."""
    rng = np.random.default_rng(seed)
    return Increments(
        (1 + np.arange(rows)) * step_ns,
        rng.normal(size=(rows, 3)) * 1e-3,
        rng.normal(size=(rows, 3)) * 1e-2,
        np.full(rows, dt_ns),
        np.full(rows, dt_ns - 1000),
        gyro_clipping=np.where(np.arange(rows) % 10 == 0, 4, 0).astype(np.uint8),
        accel_clipping=np.where(np.arange(rows) % 20 == 5, 1, 0).astype(np.uint8),
        body="FRD",
    )


def attitude(rows=41, step_ns=50 * MS, seed=2, name="vehicle_attitude"):
    q = Rotation.random(rows, random_state=np.random.default_rng(seed)).as_quat()
    return Trajectory(np.arange(rows) * step_ns, q, body="FRD", world="NED", name=name)


def at_once(recording, **options):
    stream = RateStream(RateOptions(**options))
    parts = [stream.convert(recording), stream.finish()]
    return parts, stream.report


def joined(parts, topic=TOPIC):
    return ImuSeries.concatenate([part.imu[topic] for part in parts if topic in part.imu])


def records_of(kind, **columns):
    records = np.zeros(len(columns["timestamp"]), kind.dtype)
    for name, values in columns.items():
        records[name] = values
    return records


def log_with(*parts):
    """Stub of a PX4 log with some topics: kind, instance and records of each."""
    held = {(kind.topic, number): (kind, records) for kind, number, records in parts}

    def read(wanted, multi_id=0, *, topic=None):
        kind, records = held[topic, multi_id]
        assert wanted == kind
        return SimpleNamespace(records=records.copy(), absent=())

    return SimpleNamespace(topics=dict.fromkeys(held), records=read)


def log_of(kind, multi_id, **columns):
    return log_with((kind, multi_id, records_of(kind, **columns)))


MEANS = "sensor_combined"


def means(rows=400, dt_us=5000):
    """Consecutive rows of sensor_combined of different lengths."""
    lengths = dt_us + np.arange(rows) % 3
    return records_of(
        SensorCombined,
        timestamp=1_000_000 + np.cumsum(lengths),
        gyro_rad=np.random.default_rng(4).normal(size=(rows, 3)),
        accelerometer_m_s2=np.random.default_rng(5).normal(size=(rows, 3)),
        gyro_integral_dt=lengths,
        accelerometer_integral_dt=lengths - 20,
    )


def of_means(records, **others):
    """The recording of these rows."""
    series = series_from_sensor_combined(records)
    return Recording(imu={MEANS: series}, sensor_combined={MEANS: records}, **others)


def test_increments_become_mean_rates_at_the_middle_of_their_windows():
    source = flight()
    (block, rest), report = at_once(Recording(increments={TOPIC: source}))
    series = block.imu[TOPIC]
    assert not block.increments
    assert not rest.imu
    assert series.t_ns.tolist() == (source.t_ns - 5 * MS // 2).tolist()
    assert np.allclose(series.angular_velocity, source.delta_angle / 0.005, rtol=1e-15)
    assert np.allclose(series.specific_force, source.delta_velocity / 0.004999, rtol=1e-15)
    assert (series.body, series.world) == ("FRD", "NED")
    assert report.rows == {TOPIC: 400}
    assert report.clipped == {TOPIC: 60}
    assert report.coverage[TOPIC].share == 1.0


def test_the_end_of_the_window_can_stamp_the_rate():
    source = flight()
    (block, _), _ = at_once(Recording(increments={TOPIC: source}), stamp="end")
    assert block.imu[TOPIC].t_ns.tolist() == source.t_ns.tolist()


def test_increments_can_stay():
    source = Recording(increments={TOPIC: flight()})
    (block, _), report = at_once(source, rates=False)
    assert block.increments == source.increments
    assert not block.imu
    assert not report.lines()


def test_white_noise_becomes_a_covariance():
    (block, _), _ = at_once(
        Recording(increments={TOPIC: flight()}), gyro_noise_density=1e-4, accel_noise_density=2e-3
    )
    series = block.imu[TOPIC]
    assert np.allclose(series.angular_velocity_covariance, np.eye(3) * 1e-8 / 0.005, rtol=1e-12)
    assert np.allclose(series.specific_force_covariance, np.eye(3) * 4e-6 / 0.004999, rtol=1e-12)


def test_a_window_now_and_then_is_no_stream():
    source = flight(rows=10, step_ns=500 * MS, dt_ns=4 * MS)
    _, report = at_once(Recording(increments={TOPIC: source}))
    assert report.coverage[TOPIC].share == pytest.approx(40 / 4504, rel=1e-12)
    assert any("0.9%" in line and "full rate" in line for line in report.lines())


def test_attitude_is_interpolated_where_both_neighbours_are_near():
    track = attitude()
    keep = np.ones(41, np.bool_)
    keep[10:14] = False  # a gap of 250 ms, where twice the period is 100 ms
    source = Recording(
        imu={"sensor_combined": ImuSeries(np.array([3]), np.zeros((1, 3)), np.zeros((1, 3)))},
        trajectories={"vehicle_attitude": track[keep]},
        increments={TOPIC: flight()},
    )
    parts, report = at_once(source, attitude="vehicle_attitude")
    series = joined(parts)
    inside = (series.t_ns > 450 * MS) & (series.t_ns < 700 * MS)
    far = inside & ((series.t_ns > 550 * MS) | (series.t_ns < 600 * MS))
    q = series.q_world_from_body
    assert np.isnan(q[far]).all()
    times = track.t_ns[keep]
    slerp = Slerp(times, Rotation.from_quat(track.q_world_from_body[keep]))
    known = ~np.isnan(q).any(axis=1)
    assert known.sum() == report.joined[TOPIC] == 400 - inside.sum()
    angle = (Rotation.from_quat(q[known]) * slerp(series.t_ns[known]).inv()).magnitude()
    assert angle.max() < 1e-9
    assert report.joined["sensor_combined"] == 1


def test_no_attitude_is_interpolated_across_a_reset():
    track = attitude()
    counts = (np.arange(41) > 20).astype(np.uint8)
    log = log_of(
        VehicleAttitude, 0, timestamp_sample=track.t_ns // 1000, timestamp=track.t_ns // 1000,
        quat_reset_counter=counts,
    )  # fmt: skip
    source = Recording(
        trajectories={"vehicle_attitude": track}, increments={TOPIC: flight()}, log=log
    )
    parts, _ = at_once(source, attitude="auto")
    series = joined(parts)
    without = np.isnan(series.q_world_from_body).any(axis=1)
    across = (series.t_ns > 1000 * MS) & (series.t_ns < 1050 * MS)
    assert without.tolist() == across.tolist()


@given(st.lists(st.integers(1, 120), min_size=1, max_size=8), st.booleans())
def test_blocks_give_what_the_whole_gives(sizes, with_truth):
    source, track = flight(), attitude()
    tracks = {"vehicle_attitude": track}
    if with_truth:
        tracks["truth"] = attitude(seed=9)
    whole, report = at_once(
        Recording(trajectories=tracks, increments={TOPIC: source}), attitude="auto"
    )
    stream = RateStream(RateOptions(attitude="auto"))
    parts, start = [], 0
    for size in [*sizes, 400]:
        stop = min(start + size, 400)
        begin, end = (source.t_ns[start] if start < 400 else 10**18), source.t_ns[stop - 1]
        if start == 0:
            begin = 0
        if stop == 400:
            end = 10**17
        block = Recording(
            trajectories={
                name: each[(each.t_ns >= begin) & (each.t_ns < end + 5 * MS)]
                for name, each in tracks.items()
            },
            increments={TOPIC: source[start:stop]},
        )
        parts.append(stream.convert(block))
        start = stop
    parts.append(stream.finish())
    assert np.array_equal(joined(parts).t_ns, joined(whole).t_ns)
    assert joined(parts) == joined(whole)
    assert stream.report.joined == report.joined
    assert stream.report.clipped == report.clipped
    assert stream.report.coverage == report.coverage


def test_rows_do_not_wait_for_an_attitude_that_has_stopped():
    source = flight(rows=2000)  # 10 s, attitude ends after 2 s
    stream = RateStream(RateOptions(attitude="auto"))
    first = stream.convert(
        Recording(trajectories={"vehicle_attitude": attitude()}, increments={TOPIC: source})
    )
    assert first.imu[TOPIC].t_ns[-1] >= (10_000 - 2_010) * MS
    assert len(joined([first, stream.finish()])) == 2000


def test_white_noise_of_means_goes_over_the_intervals_that_are_known():
    records = means()
    (block, _), report = at_once(
        of_means(records), gyro_noise_density=1e-4, accel_noise_density=2e-3
    )
    series = block.imu[MEANS]
    for field, density, found in (
        ("gyro", 1e-4, series.angular_velocity_covariance),
        ("accelerometer", 2e-3, series.specific_force_covariance),
    ):
        seconds = records[f"{field}_integral_dt"] * 1e-6
        expected = np.eye(3) * (density**2 / seconds)[:, None, None]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert report.coverage[MEANS].share == 1.0
    assert series.angular_velocity.tolist() == records["gyro_rad"].tolist()
    (plain, _), _ = at_once(of_means(records), gyro_noise_density=1e-4)
    assert plain.imu[MEANS].specific_force_covariance is None


def test_the_end_of_the_interval_can_stamp_a_mean():
    records = means()
    ends_ns = records["timestamp"].astype(np.int64) * 1000
    half_ns = records["gyro_integral_dt"].astype(np.int64) * 500
    for stamp, expected in (("end", ends_ns), ("middle", ends_ns - half_ns)):
        (block, _), _ = at_once(of_means(records), stamp=stamp)
        assert block.imu[MEANS].t_ns.tolist() == expected.tolist()
        assert not block.sensor_combined
    with pytest.raises(UnknownNameError, match="middle"):
        RateStream(RateOptions(stamp="begin"))


def test_half_a_packet_is_taken_off_means_of_the_imu_in_use():
    records = means()
    half_us = records["gyro_integral_dt"].astype(np.int64) / 2
    ends_us = records["timestamp"].astype(np.int64)
    packets = {11: (800, 8000), 12: (1000, 1000)}  # rate, raw rate: 625 us late, and not
    parts = [
        (
            VehicleImuStatus, number, records_of(
                VehicleImuStatus, timestamp=[900_000, 1_900_000, 2_900_000],
                gyro_device_id=[device] * 3, gyro_rate_hz=[rate] * 3, gyro_raw_rate_hz=[raw] * 3,
            ),
        )
        for number, (device, (rate, raw)) in enumerate(packets.items())
    ]  # fmt: skip
    switched = records_of(SensorSelection, timestamp=[500_000, 2_000_000], gyro_device_id=[12, 11])
    chosen = (SensorSelection, 0, switched)
    for log, late_us in (
        (log_with(*parts, chosen), np.where(ends_us < 2_000_000, 0, 625)),
        (log_with(parts[0]), 625),
        (log_with(*parts), 0),  # it is unknown which of the two is in use
    ):
        (block, _), report = at_once(of_means(records, log=log), fifo_delay=True)
        expected = (ends_us - half_us - late_us) * 1000
        assert block.imu[MEANS].t_ns.tolist() == expected.tolist()
        unknown = [line for line in report.lines() if "vehicle_imu_status" in line]
        assert len(unknown) == (log.topics.keys() == {*log_with(*parts).topics})


def test_means_that_leave_time_out_are_said_to():
    _, report = at_once(of_means(means()[::2]))
    (line,) = (line for line in report.lines() if "too little to integrate" in line)
    assert line.startswith("sensor_combined: its intervals cover 50.")


def test_lines_are_of_the_topic_that_is_written_and_that_of_means_is_one():
    sources = Recording(increments={f"vehicle_imu.{number}": flight() for number in range(3)})
    _, report = at_once(sources, attitude="auto", fifo_delay=True)
    (of_all,) = (line for line in report.lines() if "mean rates" in line)
    assert of_all.startswith("vehicle_imu.0, vehicle_imu.1, vehicle_imu.2: ")
    assert len(report.lines("vehicle_imu.1")) == len(report.lines()) // 3 + 1 > 3
    for line in report.lines("vehicle_imu.1"):
        assert line.startswith("vehicle_imu.1: ")
    assert report.lines("vehicle_attitude") == []


def test_without_attitude_every_block_still_has_the_column():
    source = flight()
    stream = RateStream(RateOptions(attitude="auto"))
    parts = [stream.convert(Recording(increments={TOPIC: source})), stream.finish()]
    assert np.isnan(joined(parts).q_world_from_body).all()


def test_an_attitude_that_is_nowhere_is_named():
    stream = RateStream(RateOptions(attitude="vehicle_atitude"))
    stream.convert(Recording(trajectories={"vehicle_attitude": attitude()}))
    with pytest.raises(UnknownNameError, match="vehicle_attitude"):
        stream.finish()


def test_an_imu_with_its_own_attitude_keeps_it():
    q = np.tile([0.0, 0.0, 0.0, 1.0], (5, 1))
    series = ImuSeries(np.arange(5), np.zeros((5, 3)), np.zeros((5, 3)), q_world_from_body=q)
    source = Recording(imu={"imu": series}, trajectories={"pose": attitude()})
    (block, _), report = at_once(source, attitude="auto")
    assert block.imu["imu"] == series
    assert not report.joined


def test_half_a_packet_is_taken_off_where_the_status_says_so():
    source = flight()
    log = log_of(
        VehicleImuStatus, 1, timestamp=[0, 1_000_000], gyro_rate_hz=[800, 1000],
        gyro_raw_rate_hz=[8000, 1000],
    )  # fmt: skip
    recording = Recording(increments={TOPIC: source}, log=log)
    (block, _), _ = at_once(recording, fifo_delay=True)
    delays = np.where(source.t_ns < 1000 * MS, 625_000, 0)  # 1 / (2 * 800 Hz)
    assert block.imu[TOPIC].t_ns.tolist() == (source.t_ns - 2_500_000 - delays).tolist()
    (plain, _), report = at_once(Recording(increments={TOPIC: source}), fifo_delay=True)
    assert plain.imu[TOPIC].t_ns.tolist() == (source.t_ns - 2_500_000).tolist()
    assert any("vehicle_imu_status" in line for line in report.lines())


@pytest.mark.parametrize("epoch", [True, False])
def test_every_stamp_is_moved_to_the_epoch(epoch):
    offset = 1_700_000_000 * 10**9
    source = Recording(
        imu={"sensor_combined": ImuSeries(np.array([7]), np.zeros((1, 3)), np.zeros((1, 3)))},
        trajectories={"vehicle_attitude": attitude()},
        increments={TOPIC: flight()},
        clock_offset_ns=offset,
    )
    parts, report = at_once(source, epoch=epoch, attitude="auto")
    moved = offset if epoch else 0
    assert joined(parts, "sensor_combined").t_ns.tolist() == [7 + moved]
    assert parts[0].trajectories["vehicle_attitude"].t_ns[1] == 50 * MS + moved
    assert joined(parts).t_ns[-1] == 2000 * MS - 2_500_000 + moved
    assert report.joined[TOPIC] == 400
    assert parts[0].clock_offset_ns == (0 if epoch else offset)


def test_a_log_without_a_clock_says_so():
    _, report = at_once(Recording(report=ReadReport("ulog"), increments={TOPIC: flight()}))
    assert any("start of the autopilot" in line for line in report.lines())
    _, report = at_once(Recording(increments={TOPIC: flight()}))
    assert not any("start of the autopilot" in line for line in report.lines())


@pytest.mark.parametrize("epoch", [False, True])
def test_a_row_whose_interval_is_longer_than_the_clock_runs_is_left_out_and_counted(epoch):
    dt_ns = np.full(400, 5 * MS)
    dt_ns[7] = (2**32 - 1) * 1000
    whole = flight().replace(delta_angle_dt_ns=dt_ns)
    clock_ns = 10**18
    parts, report = at_once(
        Recording(increments={TOPIC: whole}, clock_offset_ns=clock_ns), epoch=epoch
    )
    stamps = whole.t_ns - dt_ns // 2 + (clock_ns if epoch else 0)
    assert joined(parts).t_ns.tolist() == stamps[stamps >= 0].tolist()
    assert len(joined(parts)) == 399 + epoch
    lost = [f"{TOPIC}: 1 rows whose interval would begin before the clock"]
    assert report.lost == ([] if epoch else lost)
