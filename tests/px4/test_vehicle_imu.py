"""From the messages of two sensors to ``vehicle_imu`` and its status."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorGyro,
    SensorGyroFifo,
    VehicleImu,
)
from strapdown.px4.calibration import SensorCalibration
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.vehicle_imu import (
    PipelineSettings,
    VehicleImuIntegrator,
    vehicle_imu_from_fifo,
    vehicle_imu_from_sensors,
    vehicle_imu_from_series,
)
from strapdown.series import ImuSeries

F = np.float32
G = 9.80665
PX4 = PipelineSettings(mode="px4")


def stamps(count=400, step_us=1250, start_us=1_000_000, seed=0):
    rng = np.random.default_rng(seed)
    return start_us + np.cumsum(rng.integers(step_us - 3, step_us + 4, count))


def noise(count, seed=1):
    return np.random.default_rng(seed).standard_normal((count, 3))


def streamed(gyro, accel, settings):
    """Feed messages one by one, in the order of their stamps."""
    integrator = VehicleImuIntegrator(settings)
    queue = [(int(row["timestamp_sample"]), 0, SensorAccel.from_record(row)) for row in accel]
    queue += [(int(row["timestamp_sample"]), 1, SensorGyro.from_record(row)) for row in gyro]
    windows = []
    for _, is_gyro, message in sorted(queue, key=lambda entry: entry[:2]):
        update = integrator.update_gyro if is_gyro else integrator.update_accel
        windows.append(update(message))
    return [window for window in windows if window] + integrator.flush(), integrator


def test_the_golden_windows_come_out_of_the_whole_pipeline(golden, messages):
    gyro = messages(SensorGyro, golden.t_us, golden.gyro)
    accel = messages(SensorAccel, golden.t_us, golden.accel)
    settings = PipelineSettings(mode="px4", first_window="keep")
    result = vehicle_imu_from_sensors(gyro, accel, settings)
    dt_us = golden.dt_us[golden.ready]
    assert (result.vehicle_imu["delta_angle_dt"] == dt_us).all()
    seconds = (F(1e-6) * dt_us.astype(F))[:, None]
    for name in ("delta_angle", "delta_velocity"):
        # PX4 calibrates mean rates: a delta is divided by its time and multiplied again.
        delta = getattr(golden, name)[golden.ready]
        assert (result.vehicle_imu[name] == (delta * (F(1) / seconds)) * seconds).all()
    streams, _ = streamed(gyro, accel, settings)
    assert (VehicleImu.array(streams) == result.vehicle_imu).all()


def test_the_window_from_boot_is_left_out_unless_kept(messages):
    t_us = stamps()
    gyro, accel = messages(SensorGyro, t_us, 1.0), messages(SensorAccel, t_us, 2.0)
    dropped = vehicle_imu_from_sensors(gyro, accel, PX4)
    kept = vehicle_imu_from_sensors(gyro, accel, PipelineSettings(mode="px4", first_window="keep"))
    assert kept.vehicle_imu["delta_angle_dt"][0] == t_us[3]
    assert (kept.vehicle_imu[1:] == dropped.vehicle_imu).all()
    assert (dropped.report.left_out, kept.report.left_out) == (1, 0)
    old = PipelineSettings(mode="px4", px4_version=(1, 15))
    assert vehicle_imu_from_sensors(gyro, accel, old).report.left_out == 0


@pytest.mark.parametrize("mode", ["px4", "savage"])
@pytest.mark.parametrize(("gyro_us", "accel_us"), [(1250, 1250), (1250, 1000), (1000, 2500)])
def test_a_stream_gives_the_bits_of_a_batch(messages, mode, gyro_us, accel_us):
    gyro_stamps, count = stamps(step_us=gyro_us), 400 * gyro_us // accel_us
    same = gyro_us == accel_us
    accel_stamps = gyro_stamps if same else stamps(count, accel_us, 1_000_300, seed=2)
    clips = (np.random.default_rng(3).random((count, 3)) < 0.01).astype(np.uint8)
    gyro = messages(SensorGyro, gyro_stamps, noise(400), temperature=30.0)
    accel = messages(SensorAccel, accel_stamps, noise(count, 2), clip_counter=clips)
    settings = PipelineSettings(
        mode=mode,
        gyro_calibration=SensorCalibration(offset=[0.1, 0.2, -0.3], count=3),
        accel_calibration=SensorCalibration(scale=[1.1, 0.9, 1.0], count=7),
    )
    batch = vehicle_imu_from_sensors(gyro, accel, settings)
    windows, integrator = streamed(gyro, accel, settings)
    assert len(batch.vehicle_imu) > 70
    if mode == "px4" or same:
        assert (VehicleImu.array(windows) == batch.vehicle_imu).all()
    else:  # the sum of the velocity has another start
        stream = VehicleImu.array(windows)
        np.testing.assert_allclose(
            stream["delta_velocity"], batch.vehicle_imu["delta_velocity"], rtol=1e-5, atol=1e-9
        )
        assert (stream["delta_angle"] == batch.vehicle_imu["delta_angle"]).all()
    assert bytes(integrator.status) == batch.status[-1:].tobytes()
    assert set(batch.vehicle_imu["gyro_calibration_count"]) == {3}


def test_a_stream_goes_on_from_a_kept_state(messages):
    t_us = stamps(100)
    gyro, accel = messages(SensorGyro, t_us, noise(100)), messages(SensorAccel, t_us, noise(100, 2))
    for settings in (PX4, PipelineSettings()):
        first, second = VehicleImuIntegrator(settings), VehicleImuIntegrator(settings)
        for row in range(100):
            if row == 50:
                second.state = first.state
                assert second.state == first.state
            pair = (SensorGyro.from_record(gyro[row]), SensorAccel.from_record(accel[row]))
            out = [(one.update_gyro(pair[0]), one.update_accel(pair[1])) for one in (first, second)]
            if row >= 50:
                ours, theirs = ([bytes(w) for w in windows if w] for windows in out)
                assert ours == theirs
        assert first.state == second.state


def test_offsets_and_mounting_are_applied_to_both_modes(messages):
    t_us = stamps()
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    gyro = messages(SensorGyro, t_us, [0.3, 0.2, 0.1])
    accel = messages(SensorAccel, t_us, [1.0, 2.0, -G])
    calibrations = {
        "gyro_calibration": SensorCalibration(offset=[0.1, 0, 0], rotation=turn),
        "accel_calibration": SensorCalibration(offset=[0.5, 0, 0], scale=[2, 1, 1], rotation=turn),
    }
    for mode in ("px4", "savage"):
        result = vehicle_imu_from_sensors(gyro, accel, PipelineSettings(mode=mode, **calibrations))
        seconds = result.vehicle_imu["delta_angle_dt"][:, None] * 1e-6
        rates = result.vehicle_imu["delta_angle"] / seconds
        np.testing.assert_allclose(rates, [[-0.2, 0.2, 0.1]] * len(rates), rtol=2e-6)
        forces = result.vehicle_imu["delta_velocity"] / seconds
        np.testing.assert_allclose(forces, [[-2.0, 1.0, -G]] * len(forces), rtol=2e-6)


def test_the_readings_of_a_driver_are_means_and_of_a_simulator_values(messages):
    # A ramp of 2 rad/s^2: its mean over 1.25 ms lags half of that behind its value.
    t_us = 1_000_000 + np.arange(1, 41) * 1250
    values = np.zeros((40, 3))
    for samples, lag_us in ((1, 0), (10, 625)):
        values[:, 0] = 2e-6 * (t_us - 1_000_000 - lag_us)
        gyro = messages(SensorGyro, t_us, values, samples=samples)
        accel = messages(SensorAccel, t_us, [0, 0, -G], samples=samples)
        result = vehicle_imu_from_sensors(gyro, accel)
        ends, lengths = result.increments.t_ns / 1e9 - 1.0, 0.005
        truth = ends**2 - (ends - lengths) ** 2
        np.testing.assert_allclose(result.increments.delta_angle[:, 0], truth, rtol=1e-5)
    px4 = vehicle_imu_from_sensors(gyro, accel, PX4).vehicle_imu["delta_angle"][:, 0]
    late = (ends - 625e-6) ** 2 - (ends - lengths - 625e-6) ** 2
    np.testing.assert_allclose(px4, late, rtol=1e-5)


def fifo(kind, values, scale, *, packet_us=1250):
    """Return packets of ten samples at 8 kHz."""
    packets = np.zeros(len(values) // 10, kind.dtype)
    packets["timestamp_sample"] = 1_000_000 + packet_us * np.arange(1, len(packets) + 1)
    packets["samples"], packets["scale"], packets["dt"] = 10, scale, 125.0
    for column, axis in enumerate("xyz"):
        packets[axis][:, :10] = np.round(values[:, column] / scale).reshape(-1, 10)
    return packets


def test_savage_mode_integrates_the_samples_within_packets():
    # Coning of half a degree at 50 Hz; 8000 samples a second in packets of ten.
    t, w, half_cone = np.arange(1, 8001) * 125e-6, 2 * np.pi * 50.0, np.radians(1.0)
    rates = np.zeros((8000, 3))
    rates[:, 0] = -w * np.sin(half_cone) * np.sin(w * t)
    rates[:, 1] = w * np.sin(half_cone) * np.cos(w * t)
    rates[:, 2] = -2 * w * np.sin(half_cone / 2) ** 2
    gyro = fifo(SensorGyroFifo, rates, 1e-3)
    accel = fifo(SensorAccelFifo, np.tile([0, 0, -G], (8000, 1)), 1e-3)
    errors = {}
    for name, made in (
        ("samples", vehicle_imu_from_fifo(gyro, accel)),
        ("px4", vehicle_imu_from_fifo(gyro, accel, PX4)),
        ("means", vehicle_imu_from_sensors(*map(messages_from_fifo, (gyro, accel)))),
    ):
        imu = made.increments[1:]
        ends = imu.t_ns * 1e-9 - 1.0
        starts = ends - 0.005
        exact = half_cone * (np.sin(w * ends) - np.sin(w * starts))
        errors[name] = np.abs(imu.delta_angle[:, 1] - exact).max()
        assert len(imu) == 198
    assert errors["samples"] < 1e-5 < errors["means"] * 10
    assert errors["px4"] > 20 * errors["samples"]


def test_packets_without_samples_are_left_out_and_counted():
    gyro = fifo(SensorGyroFifo, np.zeros((800, 3)), 1e-3)
    accel = fifo(SensorAccelFifo, np.zeros((800, 3)), 1e-3)
    gyro["samples"][40], accel["scale"][41] = 0, np.nan
    for settings in (PX4, PipelineSettings()):
        report = vehicle_imu_from_fifo(gyro, accel, settings).report
        assert (report.gyro_messages, report.not_finite) == (80, 2)
        assert report.windows >= 17
    with pytest.raises(ShapeError, match=r"SensorGyroFifo\.dtype"):
        vehicle_imu_from_fifo(accel[["x"]], accel)


def test_clipping_is_turned_to_body_axes_counted_and_makes_a_status_urgent(messages):
    t_us = stamps()
    clips = np.zeros((400, 3), np.uint8)
    clips[201] = (7, 0, 0)
    gyro = messages(SensorGyro, t_us, 0.0)
    accel = messages(SensorAccel, t_us, 0.0, clip_counter=clips)
    turn = SensorCalibration(rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    settings = PipelineSettings(mode="px4", accel_calibration=turn)
    result = vehicle_imu_from_sensors(gyro, accel, settings)
    clipped = result.vehicle_imu["delta_velocity_clipping"]
    window = int(np.flatnonzero(clipped)[0])
    assert clipped[window] == VehicleImu.CLIPPING_Y
    assert np.count_nonzero(clipped) == 1
    assert not result.vehicle_imu["delta_angle_clipping"].any()
    assert result.status["accel_clipping"][-1].tolist() == [0, 7, 0]
    steps = np.diff(result.status["timestamp"].astype(np.int64))
    assert result.vehicle_imu["timestamp"][window] in result.status["timestamp"]
    assert steps.min() < 100_000


def test_a_status_comes_ten_times_a_second_with_rates_means_and_variances(messages):
    t_us = stamps(2000)
    values, forces = noise(2000) * 0.1 + 0.5, noise(2000, 2) - [0, 0, G]
    gyro = messages(SensorGyro, t_us, values, samples=10, temperature=31.0)
    accel = messages(SensorAccel, t_us, forces, samples=5)
    status = vehicle_imu_from_sensors(gyro, accel, PX4).status
    steps = np.diff(status["timestamp"].astype(np.int64))
    assert (steps >= 100_000).all()
    assert (steps <= 105_100).all()
    np.testing.assert_allclose(status["gyro_rate_hz"][-1], 800.0, rtol=1e-3)
    np.testing.assert_allclose(status["gyro_raw_rate_hz"][-1], 8000.0, rtol=1e-3)
    np.testing.assert_allclose(status["accel_raw_rate_hz"][-1], 4000.0, rtol=1e-3)
    since, until = status["timestamp"][-2:].astype(np.int64)
    rows = (t_us > since) & (t_us <= until)
    np.testing.assert_allclose(status["mean_gyro"][-1], values[rows].mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(status["var_accel"][-1], forces[rows].var(axis=0, ddof=1), rtol=1e-4)
    assert status["temperature_gyro"][-1] == 31.0
    assert np.isnan(status["temperature_accel"]).all()


def test_a_changed_error_count_makes_a_status_urgent(messages):
    t_us = stamps()
    errors = np.where(np.arange(400) >= 210, 3, 0)
    gyro = messages(SensorGyro, t_us, 0.0, error_count=errors)
    status = vehicle_imu_from_sensors(gyro, messages(SensorAccel, t_us, 0.0), PX4).status
    row = int(np.flatnonzero(status["gyro_error_count"] == 3)[0])
    assert status["timestamp"][row].astype(np.int64) - t_us[210] < 5100
    assert status["timestamp"][row] - status["timestamp"][row - 1] < 100_000


def test_the_vibration_metric_of_rest_starts_with_a_hundredth_of_gravity(messages):
    t_us = stamps(44)
    gyro, accel = messages(SensorGyro, t_us, 0.0), messages(SensorAccel, t_us, [0, 0, -G])
    result = vehicle_imu_from_sensors(gyro, accel, PX4)
    assert result.status["accel_vibration_metric"][0] == pytest.approx(0.01 * G, rel=1e-5)
    assert result.status["gyro_vibration_metric"][0] == 0.0


def test_a_dropped_message_shows_in_the_lengths_of_windows_and_nowhere_else(messages):
    t_us = 1_000_000 + np.arange(1, 401) * 1250
    gyro, accel = messages(SensorGyro, t_us, [0, 0, 0.7]), messages(SensorAccel, t_us, [0, 0, -G])
    for mode in ("px4", "savage"):
        whole = vehicle_imu_from_sensors(gyro, accel, PipelineSettings(mode=mode)).vehicle_imu
        less = vehicle_imu_from_sensors(
            np.delete(gyro, 203), np.delete(accel, 203), PipelineSettings(mode=mode)
        ).vehicle_imu
        assert sorted(set(less["delta_angle_dt"].tolist())) == [5000, 6250]
        assert np.count_nonzero(less["delta_angle_dt"] != 5000) == 1
        rates = less["delta_angle"] / (less["delta_angle_dt"][:, None] * 1e-6)
        np.testing.assert_allclose(rates[:, 2], 0.7, rtol=1e-6)
        assert set(whole["delta_angle_dt"].tolist()) == {5000}


def test_the_increments_cover_the_time_without_holes(messages):
    t_us = stamps(3000)
    accel_us = stamps(1500, 2500, 1_000_400, seed=5)
    gyro, accel = messages(SensorGyro, t_us, 0.1), messages(SensorAccel, accel_us, 1.0)
    imu = vehicle_imu_from_sensors(gyro, accel, PX4).vehicle_imu
    steps = np.diff(imu["timestamp_sample"].astype(np.int64))
    assert (steps == imu["delta_angle_dt"][1:]).all()
    assert abs(int(imu["delta_velocity_dt"].sum()) - int(imu["delta_angle_dt"].sum())) < 5000


def test_an_accelerometer_that_pauses_makes_one_long_window(messages):
    t_us = 1_000_000 + np.arange(1, 1201) * 1250
    pause = (t_us > 1_500_000) & (t_us < 1_900_000)
    gyro, accel = messages(SensorGyro, t_us, 0.1), messages(SensorAccel, t_us[~pause], 1.0)
    imu = vehicle_imu_from_sensors(gyro, accel, PX4).vehicle_imu
    lengths = imu["delta_angle_dt"].astype(np.int64)
    long = np.flatnonzero(lengths > 100_000)
    assert len(long) == 1
    assert abs(int(imu["delta_velocity_dt"][long[0]]) - lengths[long[0]]) <= 12_500
    assert (np.abs(imu["delta_velocity_dt"][long[0] + 2 :].astype(np.int64) - 5000) <= 1250).all()


def test_bad_messages_are_left_out_and_counted(messages):
    t_us = stamps()
    values = noise(400)
    values[100, 1], values[101, 2] = np.nan, np.inf
    gyro, accel = messages(SensorGyro, t_us, values), messages(SensorAccel, t_us, 1.0)
    gyro["timestamp_sample"][150] = gyro["timestamp_sample"][149]
    gyro["timestamp_sample"][201] = gyro["timestamp_sample"][199] - 1
    for mode in ("px4", "savage"):
        result = vehicle_imu_from_sensors(gyro, accel, PipelineSettings(mode=mode))
        report = result.report
        assert (report.not_finite, report.repeated, report.out_of_order) == (2, 1, 1)
        assert np.isfinite(result.vehicle_imu["delta_angle"]).all()
        assert report.windows > 90


@given(
    steps=st.lists(st.integers(-(10**7), 10**12) | st.just(0), min_size=1, max_size=40),
    value=st.floats(allow_nan=True, allow_infinity=True, width=32),
    mode=st.sampled_from(["px4", "savage"]),
)
def test_no_stamps_and_values_break_the_pipeline(steps, value, mode):
    t_us = np.abs(10**8 + np.cumsum(steps))
    records = np.zeros(len(t_us), SensorGyro.dtype)
    records["timestamp_sample"], records["x"], records["samples"] = t_us, value, 1
    result = vehicle_imu_from_sensors(
        records, records.astype(SensorAccel.dtype), PipelineSettings(mode=mode)
    )
    assert result.report.gyro_messages == len(t_us)


def test_a_sensor_of_priority_zero_publishes_nothing(messages):
    t_us = stamps()
    gyro, accel = messages(SensorGyro, t_us, 0.0), messages(SensorAccel, t_us, 0.0)
    settings = PipelineSettings(gyro_calibration=SensorCalibration(priority=0))
    result = vehicle_imu_from_sensors(gyro, accel, settings)
    assert (len(result.vehicle_imu), len(result.status), result.report.left_out) == (0, 0, 100)


def test_one_sensor_alone_gives_no_window(messages):
    gyro = messages(SensorGyro, stamps(), 0.0)
    for settings in (PX4, PipelineSettings()):
        result = vehicle_imu_from_sensors(gyro, messages(SensorAccel, [], np.zeros(3)), settings)
        assert (result.report.windows, result.report.unfinished) == (0, 400)
        integrator = VehicleImuIntegrator(settings)
        assert not any(integrator.update_gyro(SensorGyro.from_record(row)) for row in gyro)
        assert len(integrator.state.gyro.waiting) <= 8


def test_a_series_in_flu_becomes_messages_in_frd():
    t_ns = 1_000_000_000 + np.arange(200) * 2_500_000
    series = ImuSeries(t_ns, np.tile([0.1, 0.2, 0.3], (200, 1)), np.tile([0, 0, G], (200, 1)))
    for mode in ("px4", "savage"):
        imu = vehicle_imu_from_series(series, PipelineSettings(mode=mode)).vehicle_imu
        assert len(imu) >= 97
        seconds = imu["delta_angle_dt"][:, None] * 1e-6
        np.testing.assert_allclose(
            imu["delta_angle"] / seconds, [[0.1, -0.2, -0.3]] * len(imu), rtol=1e-6
        )
        np.testing.assert_allclose(imu["delta_velocity"][:, 2] / seconds[:, 0], -G, rtol=1e-6)
        assert set(imu["gyro_device_id"]) == {0x14010C}


def test_samples_stream_in_as_a_series_comes():
    rng = np.random.default_rng(4)
    t_ns = 1_000_000_000 + np.arange(200) * 2_500_000
    rates, forces = rng.standard_normal((2, 200, 3))
    series = ImuSeries(t_ns, rates, forces, body="FRD")
    for mode in ("px4", "savage"):
        settings = PipelineSettings(mode=mode)
        integrator = VehicleImuIntegrator(settings)
        rows = zip(t_ns.tolist(), series.angular_velocity, series.specific_force, strict=True)
        windows = [integrator.update(*row) for row in rows]
        windows = [window for window in windows if window] + integrator.flush()
        batch = vehicle_imu_from_series(series, settings).vehicle_imu
        assert (VehicleImu.array(windows) == batch).all()


def test_bad_settings_and_records_are_refused():
    with pytest.raises(UnknownNameError, match="mode 'fast'"):
        PipelineSettings(mode="fast")
    with pytest.raises(UnknownNameError, match="first_window"):
        PipelineSettings(first_window="maybe")
    with pytest.raises(ValueRangeError, match="rate_hz"):
        PipelineSettings(rate_hz=float("nan"))
    with pytest.raises(ShapeError, match=r"SensorGyro\.dtype"):
        vehicle_imu_from_sensors(np.zeros(3), np.zeros(3))
    with pytest.raises(ShapeError, match="3 components"):
        VehicleImuIntegrator().update(0, (1.0, 2.0), (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("banana", TypeError),
        ("1.13", TypeError),
        (1.13, TypeError),
        ((1.0, 13.0), TypeError),
        ((1, 13, 0), ValueRangeError),
        ((), ValueRangeError),
        ((1, -1), ValueRangeError),
    ],
)
def test_a_release_is_a_pair_of_integers(version, error):
    with pytest.raises(error, match=r"px4_version .* such as \(1, 16\), got") as raised:
        PipelineSettings(px4_version=version)
    assert str(raised.value).endswith(repr(version))


@pytest.mark.parametrize("t_ns", ["x", None, 1.5e9])
def test_a_time_that_is_no_integer_is_refused_by_name(t_ns):
    integrator = VehicleImuIntegrator()
    with pytest.raises(TypeError, match=r"expected t_ns as an integer.* got"):
        integrator.update(t_ns, (0.0, 0.0, 0.0), (0.0, 0.0, -9.8))
    assert integrator.report.gyro_messages == 0
    assert integrator.update(np.int64(5), (0.0, 0.0, 0.0), (0.0, 0.0, -9.8)) is None
