"""Verification of the log of a flight."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import FormatError
from strapdown.formats.px4.log import load
from strapdown.formats.px4.verification import verify_log


@pytest.fixture
def verified(px4, flight, tmp_path):
    """Write a log with changes, and verify it."""

    def check(flown=flight, **options):
        return verify_log(load(px4.write(tmp_path / "log.ulg", flown, **options)))

    return check


def test_a_log_is_made_again_through_changes_of_calibration_temperature_and_imu(
    flight_log, flight, px4
):
    found = verify_log(load(flight_log))
    assert found.accepted
    assert (found.gyro_period_mismatches, found.accel_period_mismatches) == (0, 0)
    assert found.max_gyro_residual <= 6e-8
    assert found.max_accel_residual <= 4e-6
    assert min(found.gyro_identical_share, found.accel_identical_share) >= 0.5
    # Some are left out: around the lost packet and the dropout, and where the IMU or
    # calibration in use is uncertain by a window.
    rows = len(px4.combined_of(flight))
    assert 0.75 * rows <= found.windows < rows
    assert found.skipped_packets >= 2
    assert found.skipped_rows >= 2


@pytest.mark.parametrize("coning", ["savage", "none"])
def test_another_coning_correction_or_none_is_noticed(verified, px4, coning):
    found = verified(px4.fly(coning))
    assert not found.accepted
    assert found.max_gyro_residual > 1e-6
    assert found.max_accel_residual <= 4e-6


@pytest.mark.parametrize(
    ("parameters", "sensor", "off"),
    [
        ({"CAL_GYRO2_YOFF": 0.0255}, "gyro", 0.03),
        ({"CAL_ACC2_YOFF": -0.05}, "accel", 0.02 * 0.985),
        ({"CAL_ACC2_ZSCALE": 1.002}, "accel", 9.5 * 0.001),
        ({"SENS_BOARD_ROT": 0}, "accel", 9.0),
        ({"SENS_BOARD_Y_OFF": -0.76}, "accel", 9.8 * np.radians(0.01)),
    ],
)
def test_a_wrong_calibration_is_noticed(verified, parameters, sensor, off):
    found = verified(parameters=parameters)
    assert not found.accepted
    assert found.gyro_period_mismatches == 0
    residual = {"gyro": found.max_gyro_residual, "accel": found.max_accel_residual}[sensor]
    assert 0.95 * off <= residual <= 4.0 * off  # more where vibration saturates the sensor


def test_a_change_of_calibration_that_did_not_happen_is_noticed(verified, px4, flight):
    still = px4.Flight(flight.sensors, flight.parameters, [], flight.moments)
    found = verified(still)
    assert not found.accepted
    assert found.max_gyro_residual == pytest.approx(0.02, rel=0.01)
    assert found.max_accel_residual == pytest.approx(0.05, rel=0.02)


def test_a_shifted_accelerometer_is_noticed(verified):
    def shift(rows):
        for instance in (0, 1):
            kind, records = rows["sensor_accel_fifo", instance]
            moved = records.copy()
            for axis in "xyz":
                moved[axis] = np.roll(records[axis], 1, axis=0)  # a packet later
            rows["sensor_accel_fifo", instance] = kind, moved

    found = verified(edit=shift)
    assert not found.accepted
    assert found.max_accel_residual > 0.1
    assert found.max_gyro_residual <= 6e-8


def without(*topics):
    def edit(rows):
        for key in list(rows):
            if key[0] in topics:
                del rows[key]

    return edit


def test_without_the_offsets_by_temperature_it_is_not_made_again(verified):
    found = verified(edit=without("sensor_correction"))
    assert not found.accepted
    assert found.max_gyro_residual == pytest.approx(0.003, rel=0.03)


def test_without_the_selection_the_imu_in_use_is_not_known(verified):
    assert not verified(edit=without("sensor_selection")).accepted


def test_messages_at_their_full_rate_do_in_the_place_of_packets(verified, px4, flight):
    def edit(rows):
        for (kind, imu), sensor in flight.sensors.items():
            del rows[f"sensor_{kind}_fifo", 1 - imu]
            rows[f"sensor_{kind}", imu] = rows[f"sensor_{kind}", imu][0], px4.messages_of(sensor)

    found = verified(edit=edit)
    assert found.accepted
    assert found.windows > 300


def test_a_period_of_a_microsecond_more_is_noticed(verified):
    def edit(rows):
        kind, records = rows["sensor_combined", 0]
        wrong = records.copy()
        wrong["accelerometer_integral_dt"][30] += 1
        rows["sensor_combined", 0] = kind, wrong

    found = verified(edit=edit)
    assert (found.gyro_period_mismatches, found.accel_period_mismatches) == (0, 1)
    assert not found.accepted


@pytest.mark.parametrize(
    ("topic", "missing"),
    [
        ("sensor_combined", "sensor_combined"),
        ("sensor_gyro_fifo", "raw samples of the gyro.*SDLOG_PROFILE"),
        ("sensor_accel_fifo", "raw samples of the accel.*sensor_accel_fifo"),
    ],
)
def test_what_a_log_lacks_is_named(verified, topic, missing):
    with pytest.raises(FormatError, match=missing):
        verified(edit=without(topic))
