"""A log whose packets and windows are computed independently, with fused operations."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.messages.px4 import (
    SensorAccelFifo,
    SensorCombined,
    SensorGyroFifo,
    SensorSelection,
)
from strapdown.px4.calibration_history import LogParameters
from strapdown.px4.verification import verify

F = np.float32
GYRO_ID, ACCEL_ID = 0x260022, 0x260022
PARAMETERS = {
    "CAL_GYRO1_ID": GYRO_ID,
    "CAL_GYRO1_XOFF": 0.0123,
    "CAL_GYRO1_YOFF": -0.0045,
    "CAL_GYRO1_ZOFF": 0.0011,
    "CAL_ACC0_ID": ACCEL_ID,
    "CAL_ACC0_XOFF": 0.11,
    "CAL_ACC0_YOFF": -0.07,
    "CAL_ACC0_ZOFF": 0.2,
    "CAL_ACC0_XSCALE": 1.02,
    "CAL_ACC0_YSCALE": 0.985,
    "CAL_ACC0_ZSCALE": 1.001,
}
GYRO_SCALE, ACCEL_SCALE = F(np.radians(2000.0 / 32768.0)), F(16 * 9.80665 / 32768.0)
PACKETS, SAMPLES, WINDOW = 1600, 10, 4


def fused(a, b, c):
    """Return a * b + c, rounded once (the product of two float32 is exact in float64)."""
    return F(np.float64(a) * np.float64(b) + np.float64(c))


def cross(a, b):
    return [fused(a[i], b[j], -F(a[j] * b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]


def counts_of(kind, seed):
    """Coning of the gyroscope, or vibration of the accelerometer, with noise, in counts."""
    rng = np.random.default_rng(seed)
    t = np.arange(PACKETS * SAMPLES) / 8000.0
    w = 2 * np.pi * 40.0
    motion = {
        "gyro": np.stack([0.3 * np.sin(w * t), 0.3 * np.cos(w * t), 0.05 * np.sin(9 * t)], 1),
        "accel": np.stack([2 * np.sin(w * t), 3 * np.cos(30 * t), -9.8 + np.sin(w * t)], 1),
    }[kind]
    scale = {"gyro": GYRO_SCALE, "accel": ACCEL_SCALE}[kind]
    return np.round(motion / scale + rng.standard_normal(motion.shape)).astype(np.int64)


def stamps():
    steps = 1250 + np.random.default_rng(0).integers(-3, 4, PACKETS)
    return 600_000_000 + np.cumsum(steps)


def packets_of(kind, message, scale, device_id):
    records = np.zeros(PACKETS, message.dtype)
    records["timestamp_sample"] = stamps()
    records["timestamp"] = records["timestamp_sample"] + 300
    records["device_id"], records["dt"], records["scale"] = device_id, 125.0, scale
    records["samples"] = SAMPLES
    counts = counts_of(kind, len(kind)).reshape(PACKETS, SAMPLES, 3)
    for column, axis in enumerate("xyz"):
        records[axis][:, :SAMPLES] = counts[:, :, column]
    return records


def means_of(kind, scale):
    """Trapezoid means of the packets."""
    counts = counts_of(kind, len(kind)).reshape(PACKETS, SAMPLES, 3)
    last = np.concatenate([np.zeros((1, 3), np.int64), counts[:-1, -1]])
    twice = last + counts[:, -1] + 2 * counts[:, :-1].sum(axis=1)
    return (F(0.5) * twice.astype(F)) * F(scale / F(SAMPLES))


def windows_of(values, t_us, coning):
    """Deltas and lengths by the recursions of the autopilot, with fused operations."""
    lv, ld = [F(0)] * 3, [F(0)] * 3
    previous, out = t_us[0] - 1250, []
    for k in range(0, PACKETS - WINDOW + 1, WINDOW):
        alpha, beta, la, length = [F(0)] * 3, [F(0)] * 3, [F(0)] * 3, F(0)
        for row in range(k, k + WINDOW):
            dt = F(F(t_us[row] - previous) * F(1e-6))
            previous = t_us[row]
            length = F(length + dt)
            half = [F(F(v + o) * dt) for v, o in zip(values[row], lv, strict=True)]
            d = [F(h * F(0.5)) for h in half]
            if coning is not None:
                base = la if coning == "px4" else alpha
                lever = [fused(x, F(1) / F(6), b) for x, b in zip(ld, base, strict=True)]
                beta = [fused(c, F(0.5), b) for c, b in zip(cross(lever, d), beta, strict=True)]
            ld, la = d, alpha
            alpha = [fused(h, F(0.5), a) for h, a in zip(half, alpha, strict=True)]
            lv = values[row]
        delta = [F(a + b) for a, b in zip(alpha, beta, strict=True)]
        out.append((int(np.floor(np.float64(F(length * F(1e6))) + 0.5)), delta))
    return out


def rates_of(windows, offset, scale):
    """Calibrated rates in the form of sensor_combined."""
    rates = []
    for length, delta in windows:
        dt = F(F(1e-6) * F(length))
        reciprocal = F(1) / dt
        thermal = F(0)
        mean = [
            F(F(fused(d, reciprocal, -thermal) - o) * s)
            for d, o, s in zip(delta, offset, scale, strict=True)
        ]
        rates.append([F(F(m * dt) * F(F(1e6) / F(length))) for m in mean])
    return np.array(rates, F)


def combined_of(coning):
    t_us = stamps()
    records = np.zeros(PACKETS // WINDOW, SensorCombined.dtype)
    records["timestamp"] = t_us[WINDOW - 1 :: WINDOW]
    gyro = windows_of(means_of("gyro", GYRO_SCALE), t_us, coning)
    accel = windows_of(means_of("accel", ACCEL_SCALE), t_us, None)
    offset = [F(PARAMETERS[f"CAL_GYRO1_{axis}OFF"]) for axis in "XYZ"]
    records["gyro_rad"] = rates_of(gyro, offset, [F(1)] * 3)
    records["accelerometer_m_s2"] = rates_of(
        accel,
        [F(PARAMETERS[f"CAL_ACC0_{axis}OFF"]) for axis in "XYZ"],
        [F(PARAMETERS[f"CAL_ACC0_{axis}SCALE"]) for axis in "XYZ"],
    )
    records["gyro_integral_dt"] = [length for length, _ in gyro]
    records["accelerometer_integral_dt"] = [length for length, _ in accel]
    records["gyro_calibration_count"], records["accel_calibration_count"] = 1, 2
    return records


@pytest.fixture(scope="module")
def packets():
    return (
        packets_of("gyro", SensorGyroFifo, GYRO_SCALE, GYRO_ID),
        packets_of("accel", SensorAccelFifo, ACCEL_SCALE, ACCEL_ID),
    )


@pytest.fixture(scope="module")
def combined():
    return combined_of("px4")


def check(packets, combined, parameters=PARAMETERS, changes=(), **more):
    gyro, accel = packets
    return verify([gyro], [accel], combined, parameters=LogParameters(parameters, changes), **more)


def test_a_log_is_made_again_from_its_packets(packets, combined):
    result = check(packets, combined)
    assert result.accepted
    assert result.windows == len(combined) - 1
    assert (result.gyro_period_mismatches, result.accel_period_mismatches) == (0, 0)
    assert result.max_gyro_residual <= 6e-8
    assert result.max_accel_residual <= 4e-6
    assert min(result.gyro_identical_share, result.accel_identical_share) >= 0.5


@pytest.mark.parametrize("coning", ["savage", None])
def test_another_coning_correction_or_none_is_noticed(packets, coning):
    result = check(packets, combined_of(coning))
    assert not result.accepted
    assert result.max_gyro_residual > 1e-6
    assert result.max_accel_residual <= 4e-6


def test_windows_with_missing_packets_are_skipped_and_the_others_still_agree(packets, combined):
    gyro, accel = packets
    result = check((np.delete(gyro, [700, 701]), np.delete(accel, 1203)), combined)
    assert result.accepted
    # The window of a missing packet, its neighbour before, and the next, which needs its last.
    assert 4 <= result.skipped_packets <= 6
    assert result.windows == len(combined) - 1 - result.skipped_packets


def test_a_row_that_the_log_left_out_is_skipped(packets, combined):
    result = check(packets, np.delete(combined, 100))
    assert result.accepted
    assert result.skipped_rows == 2


def test_a_wrong_offset_is_noticed(packets, combined):
    result = check(packets, combined, {**PARAMETERS, "CAL_ACC0_ZOFF": 0.25})
    assert not result.accepted
    assert result.max_accel_residual == pytest.approx(0.05, rel=0.01)


def test_a_period_that_is_one_microsecond_off_is_noticed(packets, combined):
    wrong = combined.copy()
    wrong["gyro_integral_dt"][50] += 1
    result = check(packets, wrong)
    assert result.gyro_period_mismatches == 1
    assert not result.accepted


def test_a_change_of_parameters_takes_effect_where_the_count_steps(packets, combined):
    changed = combined.copy()
    changed["gyro_rad"][200:] += np.array([-0.02, 0.0, 0.0], F)
    changed["gyro_calibration_count"][200:] = 2
    before = int(changed["timestamp"][190])
    changes = [
        (before, "CAL_GYRO1_XOFF", PARAMETERS["CAL_GYRO1_XOFF"] + 0.02),
        (before, "CAL_GYRO1_YOFF", PARAMETERS["CAL_GYRO1_YOFF"]),
    ]
    result = check(packets, changed, changes=changes)
    assert result.max_gyro_residual <= 1e-7
    assert check(packets, changed).max_gyro_residual == pytest.approx(0.02, rel=0.01)


def test_a_change_below_a_hundredth_has_no_effect(packets, combined):
    changes = [(int(combined["timestamp"][50]), "CAL_GYRO1_ZOFF", 0.009)]
    assert check(packets, combined, changes=changes).accepted


def test_the_devices_in_use_are_those_of_the_selection(packets, combined):
    gyro, accel = packets
    selection = np.zeros(1, SensorSelection.dtype)
    selection["gyro_device_id"], selection["accel_device_id"] = GYRO_ID, ACCEL_ID
    other = gyro.copy()
    other["device_id"], other["x"] = 0x370022, 77
    parameters = LogParameters(PARAMETERS)
    result = verify([other, gyro], [accel], combined, parameters=parameters, selection=selection)
    assert result.accepted
    assert not verify([other, gyro], [accel], combined, parameters=parameters).accepted


def test_the_first_row_of_another_device_comes_before_the_stamp_of_its_selection(packets, combined):
    gyro, accel = packets
    other = gyro.copy()
    other["device_id"] = 0x370022
    parameters = LogParameters({**PARAMETERS, "CAL_GYRO0_ID": 0x370022, "CAL_GYRO0_XOFF": 0.5})
    changed = combined.copy()
    changed["gyro_rad"][200:, 0] += F(PARAMETERS["CAL_GYRO1_XOFF"] - 0.5)
    changed["gyro_rad"][200:, 1:] += [F(PARAMETERS[f"CAL_GYRO1_{axis}OFF"]) for axis in "YZ"]
    selection = np.zeros(2, SensorSelection.dtype)
    selection["timestamp"] = 1, changed["timestamp"][200] + 900
    selection["gyro_device_id"], selection["accel_device_id"] = (GYRO_ID, 0x370022), ACCEL_ID
    result = verify([gyro, other], [accel], changed, parameters=parameters, selection=selection)
    assert result.max_gyro_residual <= 1e-6
    assert 350 < result.windows < len(combined) - 1


def test_each_device_has_a_count_of_its_own(packets, combined):
    gyro, accel = packets
    other = gyro.copy()
    other["device_id"] = 0x370022
    offset, since = PARAMETERS["CAL_GYRO1_XOFF"], int(combined["timestamp"][300])
    names = {name.replace("GYRO1", "GYRO0"): value for name, value in PARAMETERS.items()}
    parameters = LogParameters(
        {**PARAMETERS, **names, "CAL_GYRO0_ID": 0x370022}, [(since, "CAL_GYRO0_XOFF", offset + 0.5)]
    )
    changed = combined.copy()
    changed["gyro_rad"][300:, 0] -= F(0.5)
    changed["gyro_calibration_count"] = np.repeat([9, 4, 5], [100, 200, 100])
    selection = np.zeros(2, SensorSelection.dtype)
    selection["timestamp"] = 1, changed["timestamp"][100] + 900
    selection["gyro_device_id"], selection["accel_device_id"] = (GYRO_ID, 0x370022), ACCEL_ID
    result = verify([gyro, other], [accel], changed, parameters=parameters, selection=selection)
    assert result.max_gyro_residual <= 1e-6
    assert 350 < result.windows < len(combined) - 1


def test_a_step_of_the_count_before_the_first_row_is_not_waited_for(packets, combined):
    late = combined["timestamp"][0] - 10**6
    changed = combined.copy()
    changed["gyro_rad"][:, 0] -= F(0.5)
    changed["gyro_rad"][200:, 0] -= F(0.5)
    changed["gyro_calibration_count"] = np.repeat([7, 8], 200)
    offset = PARAMETERS["CAL_GYRO1_XOFF"]
    changes = [
        (int(late), "CAL_GYRO1_XOFF", offset + 0.5),
        (int(combined["timestamp"][195]), "CAL_GYRO1_XOFF", offset + 1.0),
    ]
    result = check(packets, changed, changes=changes)
    assert result.windows == len(combined) - 1
    assert result.max_gyro_residual <= 1e-6


def test_up_to_version_1_15_no_sample_before_a_window_is_lost_to_the_longest_one(packets, combined):
    # A window of 65.5 ms takes 52 packets, so the 53rd, 106th, ... of a longer one are lost.
    few = np.delete(combined, np.arange(301 - 4 * 53, 300))
    assert check(packets, few, px4_version=(1, 15)).accepted


def test_a_log_without_packets_compares_nothing(packets, combined):
    gyro, accel = packets
    result = check((gyro[:0], accel), combined)
    assert (result.windows, result.accepted) == (0, False)


def test_offsets_by_temperature_are_subtracted(packets, combined):
    kinds = [("timestamp", "u8"), ("gyro_device_ids", "u4", 4), ("gyro_offset_2", "f4", 3)]
    correction = np.zeros(1, kinds)
    correction["timestamp"], correction["gyro_device_ids"][0, 2] = 1, GYRO_ID
    correction["gyro_offset_2"] = (0.0, 0.0, 0.5)
    result = check(packets, combined, correction=correction)
    assert result.max_gyro_residual == pytest.approx(0.5, rel=1e-5)


def test_windows_near_a_change_of_temperature_are_skipped(packets, combined):
    kinds = [("timestamp", "u8"), ("gyro_device_ids", "u4", 4), ("gyro_offset_0", "f4", 3)]
    correction = np.zeros(2, kinds)
    correction["gyro_device_ids"][:, 0] = GYRO_ID
    correction["gyro_offset_0"][1] = (0.0, 0.0, 0.5)
    correction["timestamp"] = 1, combined["timestamp"][200] + 900  # after the row that it affects
    changed = combined.copy()
    changed["gyro_rad"][200:, 2] -= F(0.5)
    result = check(packets, changed, correction=correction)
    assert result.max_gyro_residual <= 1e-6
    assert 350 < result.windows < len(combined) - 1
