"""Calibration from parameters: the order of operations, the slots, and the counts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from pyulog import ULog
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.px4.calibration import (
    CalibrationTracker,
    SensorCalibration,
    apply,
    calibration_from_parameters,
    correct,
    thermal_offset,
)

SIM = 1310988
SPI = 0x380022
SERIAL = 0x38000D
F = np.float32


def parameters(slot="CAL_GYRO0", device_id=SIM, offset=(0.0, 0.0, 0.0), scale=None, **others):
    values = {f"{slot}_ID": device_id}
    values |= {f"{slot}_{a}OFF": v for a, v in zip("XYZ", offset, strict=True)}
    if scale:
        values |= {f"{slot}_{a}SCALE": v for a, v in zip("XYZ", scale, strict=True)}
    return values | others


def accel(offset=(0.0, 0.0, 0.0), scale=(1.0, 1.0, 1.0), **others):
    return parameters("CAL_ACC0", offset=offset, scale=scale, **others)


def test_the_order_is_temperature_offset_scale_rotation():
    calibration = SensorCalibration(
        offset=[0.25, 0.5, 0.75],
        scale=[2.0, 4.0, 8.0],
        rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        thermal_offset=[1.0, 2.0, 3.0],
    )
    raw = [[2.0, 3.0, 4.0], [1.25, 2.5, 3.75]]
    # (2 - 1 - 0.25) 2 = 1.5, (3 - 2 - 0.5) 4 = 2, (4 - 3 - 0.75) 8 = 2
    expected = [[-2.0, 1.5, 2.0], [0.0, 0.0, 0.0]]
    assert apply(calibration, raw).tolist() == expected
    assert correct(calibration, raw).tolist() == expected
    assert apply(calibration, raw[0]).tolist() == expected[0]


def test_the_autopilot_rounds_every_operation_to_float32():
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(3, 3))
    calibration = SensorCalibration(*rng.normal(size=(2, 3)), matrix, rng.normal(size=3))
    raw = rng.normal(size=(50, 3)).astype(F)
    expected = np.empty((50, 3), F)
    for row, reading in enumerate(raw):
        v = [
            F(F(F(x - t) - o) * s)
            for x, t, o, s in zip(
                reading,
                calibration.thermal_offset,
                calibration.offset,
                calibration.scale,
                strict=True,
            )
        ]
        for axis, (a, b, c) in enumerate(calibration.rotation):
            expected[row, axis] = F(F(F(a * v[0]) + F(b * v[1])) + F(c * v[2]))
    result = apply(calibration, raw)
    assert result.dtype == np.float32
    assert result.tobytes() == expected.tobytes()
    double = correct(calibration, raw)
    assert double.dtype == np.float64
    np.testing.assert_allclose(double, expected, rtol=1e-5, atol=1e-5)
    assert np.abs(double - expected).max() > 1e-9


def test_nothing_to_calibrate_changes_no_bit():
    raw = np.array([[0.1, -0.2, 9.7]], np.float32)
    assert apply(SensorCalibration(), raw).tobytes() == raw.tobytes()


def test_values_are_frozen_compared_and_checked():
    calibration = SensorCalibration(offset=[1.0, 2.0, 3.0])
    assert calibration == SensorCalibration(offset=[1.0, 2.0, 3.0])
    assert calibration != SensorCalibration(offset=[1.0, 2.0, 3.0], count=1)
    assert calibration != SensorCalibration()
    assert calibration != "calibration"
    with pytest.raises(ValueError, match="read-only"):
        calibration.offset[0] = 5.0
    with pytest.raises(FrozenInstanceError):
        calibration.count = 3
    with pytest.raises(ShapeError, match="offset"):
        SensorCalibration(offset=[1.0, 2.0])
    with pytest.raises(ValueRangeError, match="scale"):
        SensorCalibration(scale=[1.0, np.nan, 1.0])


@pytest.mark.parametrize("slot", range(4))
def test_the_slot_is_found_by_the_id_of_the_device(slot):
    values = {f"CAL_GYRO{n}_ID": SIM + 8 * (n - slot) for n in range(4)}
    values |= {f"CAL_GYRO{n}_XOFF": 0.5 + n for n in range(4)}
    assert calibration_from_parameters(values, "gyro", SIM).offset[0] == 0.5 + slot


def test_a_device_without_slot_is_not_calibrated():
    values = parameters(device_id=SIM + 8, offset=(0.5, 0.5, 0.5))
    assert calibration_from_parameters(values, "gyro", SIM) == SensorCalibration()
    empty = parameters(device_id=0, offset=(0.5, 0.5, 0.5))
    assert calibration_from_parameters(empty, "gyro", 0).offset.tolist() == [0.0, 0.0, 0.0]


def test_a_calibrated_gyroscope_starts_at_one_and_an_accelerometer_at_zero_to_two():
    def count(sensor, values):
        return calibration_from_parameters(values, sensor, SIM).count

    assert count("gyro", parameters()) == 1
    assert count("gyro", parameters(offset=(0.001, 0.0, 0.0))) == 1
    assert count("accel", accel()) == 0
    assert count("accel", accel(offset=(0.02, 0.0, 0.0))) == 1
    assert count("accel", accel(scale=(1.02, 1.0, 1.0))) == 1
    assert count("accel", accel(offset=(0.02, 0.0, 0.0), scale=(1.02, 1.0, 1.0))) == 2


def test_a_gyroscope_takes_a_small_offset_only_as_its_first():
    tracker = CalibrationTracker("gyro", SIM)
    assert tracker.update(parameters(offset=(0.001, 0, 0))).offset[0] == F(0.001)
    assert tracker.update(parameters(offset=(0.0105, 0, 0))).offset[0] == F(0.001)
    assert tracker.calibration.count == 1
    assert tracker.update(parameters(offset=(0.02, 0, 0))).offset[0] == F(0.02)
    assert tracker.calibration.count == 2


def test_an_accelerometer_ignores_small_changes_of_offset_and_scale():
    tracker = CalibrationTracker("accel", SIM)
    now = tracker.update(accel(offset=(0.009, 0, 0), scale=(1.009, 1, 1)))
    assert (now.count, now.offset.tolist(), now.scale.tolist()) == (0, [0.0] * 3, [1.0] * 3)


def test_changes_are_measured_as_a_euclidean_norm():
    tracker = CalibrationTracker("accel", SIM)
    assert tracker.update(accel(offset=(0.0057, 0.0057, 0.0057))).count == 0  # 0.00987
    assert tracker.update(accel(offset=(0.0058, -0.0058, 0.0058))).count == 1  # 0.01005


def test_every_change_is_taken_over_on_request():
    tracker = CalibrationTracker("accel", SIM, least_change=0.0)
    now = tracker.update(accel(offset=(0.001, 0, 0), scale=(1.001, 1, 1)))
    assert (now.count, now.offset[0], now.scale[0]) == (2, F(0.001), F(1.001))
    assert tracker.update(accel(offset=(0.001, 0, 0), scale=(1.001, 1, 1))).count == 2
    values = accel(offset=(0.001, 0, 0))
    assert calibration_from_parameters(values, "accel", SIM, least_change=0.0).count == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite_are_ignored(bad):
    tracker = CalibrationTracker("accel", SIM)
    before = tracker.update(accel(offset=(0.5, 0, 0), scale=(1.5, 1, 1)))
    assert tracker.update(accel(offset=(0.7, bad, 0), scale=(1.7, bad, 1))) == before
    gyro = CalibrationTracker("gyro", SIM).update(parameters(offset=(bad, 0, 0)))
    assert (gyro.count, gyro.offset.tolist()) == (0, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_scale_has_to_be_positive(bad):
    now = CalibrationTracker("accel", SIM).update(accel(scale=(bad, 1, 1)))
    assert (now.count, now.scale.tolist()) == (0, [1.0, 1.0, 1.0])


def test_the_count_returns_to_zero_with_another_device_or_without_slot():
    values = parameters(offset=(0.5, 0, 0)) | parameters("CAL_GYRO1", SIM + 8, (0.7, 0, 0))
    tracker = CalibrationTracker("gyro", SIM)
    tracker.update(values)
    tracker.update(values | {"CAL_GYRO0_XOFF": 0.6})
    assert tracker.calibration.count == 2
    other = tracker.update(values, device_id=SIM + 8)
    assert (other.count, other.offset[0], tracker.device_id) == (1, F(0.7), SIM + 8)
    gone = tracker.update(values | {"CAL_GYRO1_ID": 0})
    assert (gone.count, gone.offset.tolist()) == (0, [0.0, 0.0, 0.0])
    assert tracker.update(values).count == 1


def test_the_count_wraps_at_256():
    tracker = CalibrationTracker("accel", SIM)
    counts = [tracker.update(accel(offset=(n % 2, 0, 0))).count for n in range(1, 260)]
    assert counts == [n % 256 for n in range(1, 260)]


def test_an_internal_sensor_follows_the_board_and_an_external_one_its_own_rotation():
    values = parameters(device_id=SPI, CAL_GYRO0_ROT=16, SENS_BOARD_ROT=2)
    internal = calibration_from_parameters(values, "gyro", SPI)
    external = calibration_from_parameters(values, "gyro", SPI, board_external=True)
    turned = [np.rint(c.rotation @ [1, 2, 3]).tolist() for c in (internal, external)]
    assert turned == [[-2, 1, 3], [1, -3, 2]]
    assert (internal.external, external.external) == (False, True)
    serial = parameters(device_id=SERIAL, CAL_GYRO0_ROT=16, SENS_BOARD_ROT=2)
    assert calibration_from_parameters(serial, "gyro", SERIAL).external


@pytest.mark.parametrize("number", [-1, 41, 100, float("nan")])
def test_an_unknown_rotation_is_none(number):
    values = parameters(device_id=SERIAL, CAL_GYRO0_ROT=number)
    assert (
        calibration_from_parameters(values, "gyro", SERIAL).rotation.tolist() == np.eye(3).tolist()
    )
    board = parameters(SENS_BOARD_ROT=number)
    assert calibration_from_parameters(board, "gyro", SIM).rotation.tolist() == np.eye(3).tolist()


def test_the_fine_adjustment_turns_after_the_mounting():
    values = {
        "SENS_BOARD_ROT": 28,
        "SENS_BOARD_X_OFF": 1.0,
        "SENS_BOARD_Y_OFF": -2.0,
        "SENS_BOARD_Z_OFF": 3.0,
    }
    fine = Rotation.from_euler("ZYX", [3.0, -2.0, 1.0], degrees=True)
    mounting = Rotation.from_euler("ZYX", [0.0, 90.0, 90.0], degrees=True)
    rotation = calibration_from_parameters(values, "accel", SIM).rotation
    assert rotation.dtype == np.float32
    np.testing.assert_allclose(rotation, (fine * mounting).as_matrix(), rtol=0.0, atol=3e-7)


@pytest.mark.parametrize(
    ("priority", "internal", "external"), [(0, 0, 0), (100, 100, 100), (-1, 50, 75), (101, 50, 75)]
)
def test_priorities_outside_0_to_100_mean_the_default(priority, internal, external):
    values = parameters(device_id=SPI, CAL_GYRO0_PRIO=priority)
    assert calibration_from_parameters(values, "gyro", SPI).priority == internal
    outside = calibration_from_parameters(values, "gyro", SPI, board_external=True)
    assert outside.priority == external


CORRECTION = {
    "gyro_device_ids": [7, SIM, 0, 0],
    "gyro_offset_0": [1.0, 1.0, 1.0],
    "gyro_offset_1": [0.1, 0.2, 0.3],
    "gyro_offset_2": [9.0, 9.0, 9.0],
    "accel_device_ids": [0, 0, 0, 0],
}


def test_the_thermal_offset_is_that_of_the_device():
    assert thermal_offset(CORRECTION, "gyro", SIM).tolist() == [F(0.1), F(0.2), F(0.3)]
    for sensor, device_id in (("gyro", SIM + 8), ("gyro", 0), ("accel", SIM)):
        assert thermal_offset(CORRECTION, sensor, device_id).tolist() == [0.0, 0.0, 0.0]
    assert thermal_offset({}, "gyro", SIM).tolist() == [0.0, 0.0, 0.0]


def test_a_record_of_a_log_gives_the_same_thermal_offset():
    fields = [("gyro_device_ids", "<u4", 4), *((f"gyro_offset_{k}", "<f4", 3) for k in range(4))]
    rows = np.zeros(2, fields)
    rows["gyro_device_ids"][1], rows["gyro_offset_3"][1] = [1, 2, 3, SIM], [0.5, 0.25, 0.125]
    assert thermal_offset(rows[1], "gyro", SIM).tolist() == [0.5, 0.25, 0.125]
    assert thermal_offset(rows[1], "accel", SIM).tolist() == [0.0, 0.0, 0.0]


def test_the_thermal_offset_stays_until_the_device_changes_and_does_not_count():
    tracker = CalibrationTracker("gyro", SIM)
    tracker.update(parameters(offset=(0.5, 0, 0)))
    assert tracker.update_thermal(CORRECTION).thermal_offset[1] == F(0.2)
    assert tracker.update(parameters(offset=(0.505, 0, 0))).thermal_offset[1] == F(0.2)
    assert tracker.calibration.count == 1
    assert tracker.update({}).thermal_offset[1] == F(0.2)
    assert tracker.update({}, device_id=SIM + 8).thermal_offset[1] == 0.0


def test_there_are_gyroscopes_and_accelerometers_only():
    with pytest.raises(UnknownNameError, match="accel"):
        CalibrationTracker("acc", SIM)


@pytest.mark.data
@pytest.mark.parametrize(
    ("log", "sensor"),
    [
        ("sample_px4_events.ulg", "gyro"),
        ("sample_px4_events.ulg", "accel"),
        ("sample_logging_tagged_and_default_params.ulg", "accel"),
    ],
)
def test_the_counts_are_those_that_the_autopilot_logged(data_dir, log, sensor):
    file = data_dir / "px4" / "ulog" / log
    if not file.exists():
        pytest.skip("needs the sample logs")
    ulog = ULog(str(file), ["vehicle_imu"])
    assert ulog.data_list
    for stream in ulog.data_list:
        device_id = int(stream.data[f"{sensor}_device_id"][0])
        calibration = calibration_from_parameters(ulog.initial_parameters, sensor, device_id)
        assert set(stream.data[f"{sensor}_calibration_count"]) == {calibration.count} == {1}
