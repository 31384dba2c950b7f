"""Calibrations in the form of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strapdown.calibration import (
    ImuCalibration,
    TemperatureCurve,
    TriadCalibration,
    split_matrix,
    to_px4,
)
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.geometry.frames import convert_vector
from strapdown.px4.calibration import apply, calibration_from_parameters

RNG = np.random.default_rng(5)
DEVICE = 1310988


@pytest.mark.parametrize("kind", ["polar", "qr"])
def test_a_matrix_is_the_product_of_its_parts(kind):
    for _ in range(20):
        A = np.eye(3) + 0.3 * RNG.normal(size=(3, 3))
        A = A if np.linalg.det(A) > 0 else -A
        parts = split_matrix(A, kind)
        np.testing.assert_allclose(parts.matrix, A, atol=1e-14)
        np.testing.assert_allclose(parts.rotation @ parts.rotation.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(parts.rotation) == pytest.approx(1.0)
        np.testing.assert_allclose(np.diag(parts.misalignment), 1.0, atol=1e-15)
        assert np.all(parts.scale > 0.0) or kind == "polar"
        rest = parts.misalignment * parts.scale
        lower = np.tril(rest, -1) if kind == "qr" else rest - rest.T
        np.testing.assert_allclose(lower, 0.0, atol=1e-14)


def test_splits_that_do_not_exist_are_named():
    with pytest.raises(UnknownNameError, match="no split 'lu'"):
        split_matrix(np.eye(3), "lu")
    with pytest.raises(ValueRangeError, match="mirrors"):
        split_matrix(np.diag([1.0, 1.0, -1.0]))


def diagonal(unit=""):
    return ImuCalibration(
        accel=TriadCalibration(
            matrix=np.diag([1.02, 0.98, 1.01]), bias=[0.3, -0.2, 0.1], unit_in=unit
        ),
        gyro=TriadCalibration(bias=[0.05, -0.02, 0.03]),
    )


@pytest.mark.parametrize("sensor", ["accel", "gyro"])
def test_px4_applies_what_it_can_represent_exactly(sensor):
    c = diagonal()
    theirs = to_px4(c, sensor, device_id=DEVICE, slot=1)
    assert theirs.lost == ()
    tracked = calibration_from_parameters(theirs.parameters, sensor, DEVICE)
    raw = RNG.normal(size=(50, 3)) * 5.0
    mine = getattr(c, sensor).calibrated(raw)
    frd = convert_vector(raw, "FLU", "FRD")
    for calibration in (theirs.calibration, tracked):
        np.testing.assert_allclose(
            convert_vector(apply(calibration, frd), "FRD", "FLU"), mine, atol=2e-5
        )
    prefix = "CAL_ACC1" if sensor == "accel" else "CAL_GYRO1"
    assert theirs.parameters[f"{prefix}_ID"] == DEVICE
    assert (f"{prefix}_XSCALE" in theirs.parameters) is (sensor == "accel")


def test_what_px4_cannot_represent_is_reported():
    c = diagonal()
    matrix = np.eye(3)
    matrix[0, 1] = np.radians(2.0)
    matrix[2, 2] = 1.03
    curve = TemperatureCurve(
        reference_c=25.0, coefficients=np.full((1, 3), 1e-3), lowest_c=0.0, highest_c=50.0
    )
    c = replace(
        c, gyro=TriadCalibration(matrix=matrix, temperature=curve), g_sensitivity=1e-3 * np.eye(3)
    )
    lost = to_px4(c, "gyro", device_id=DEVICE).lost
    assert lost[0].startswith("scale of the gyro, up to 3.00 %")
    assert lost[1].startswith("misalignment, up to 2.00 deg")
    assert "sensitivity of the gyro" in lost[2]
    assert "temperature curve" in lost[3]


def test_a_mounting_becomes_a_numbered_rotation():
    turned = replace(
        diagonal(), accel=TriadCalibration(matrix=[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0, 0, 1.0]])
    )
    theirs = to_px4(turned, "accel", device_id=DEVICE)
    assert theirs.rotation == 2  # yaw by 90 deg, in FRD
    assert theirs.lost == ("mounting: set SENS_BOARD_ROT to 2, which turns every sensor",)


def test_conversions_that_do_not_exist_are_named():
    with pytest.raises(UnknownNameError, match="no sensor 'baro'"):
        to_px4(diagonal(), "baro", device_id=DEVICE)
    with pytest.raises(ValueRangeError, match=r"SI units, .* got 'raw'"):
        to_px4(diagonal("raw"), "accel", device_id=DEVICE)
    with pytest.raises(ValueRangeError, match="slot of 0 to 3, got 4"):
        to_px4(diagonal(), "accel", device_id=DEVICE, slot=4)
