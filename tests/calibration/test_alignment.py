"""Rotation of a magnetometer to the axes of the inertial sensors."""

import os
from pathlib import Path

import numpy as np
import pytest

from strapdown.calibration import ImuCalibration, TriadCalibration, align_magnetometer, ellipsoid
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries

RATE_HZ = 50.0
FIELD_WORLD = 1e-6 * np.array([0.0, 20.0, -44.0])  # ENU, T
DIP_DEG = np.degrees(np.arctan2(44.0, 20.0))
BIAS = 1e-6 * np.array([20.0, -30.0, 10.0])
SOFT = np.array([[1.08, 0.04, 0.0], [0.04, 0.95, -0.03], [0.0, -0.03, 0.98]])
TILTED = quaternion.to_matrix(quaternion.from_rotation_vector([0.2, -0.15, 0.25]))


def simulated(rng, turn=TILTED, *, seconds=60.0, amplitudes=(1.0, 1.0, 1.0), delay_s=0.0):
    """Return a series of a device that turns about its axes, with a drifting gyro.

    ``turn`` is the rotation body from magnetometer; the magnetometer reads a delay late.
    """
    t = np.arange(0.0, seconds, 1.0 / RATE_HZ)
    rate = np.array(amplitudes) * np.column_stack(
        [1.5 * np.sin(0.9 * t), 1.7 * np.sin(0.53 * t + 1.0), 1.3 * np.sin(0.37 * t + 2.0) + 0.3]
    )
    steps = quaternion.from_rotation_vector(rate / RATE_HZ)
    q = [np.array([0.0, 0.0, 0.0, 1.0])]
    for step in steps[1:]:
        q.append(quaternion.multiply(q[-1], step))
    body_from_world = np.transpose(quaternion.to_matrix(np.array(q)), (0, 2, 1))
    field = body_from_world @ FIELD_WORLD
    field += delay_s * np.cross(rate, field)  # dm/dt = -w x m, a delay earlier
    readings = field @ turn @ np.linalg.inv(SOFT).T + BIAS
    return ImuSeries(
        (t * 1e9).astype(np.int64),
        rate + rng.normal(0.0, 0.002, rate.shape) + [0.002, -0.001, 0.003],
        body_from_world @ [0.0, 0.0, 9.81] + rng.normal(0.0, 0.02, rate.shape),
        magnetic_field=readings + rng.normal(0.0, 0.2e-6, readings.shape),
    )


def angle_deg(R):
    return np.degrees(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))


def test_rotation_bias_and_dip_are_found():
    found = align_magnetometer(simulated(np.random.default_rng(1)))
    # The rotation is relative to the symmetric matrix, which is that of the truth.
    assert angle_deg(found.rotation @ TILTED.T) < 0.15
    assert found.dip_deg == pytest.approx(DIP_DEG, abs=0.2)
    assert found.heading_error_deg < 1.5
    assert found.heading_error_before_deg > 15.0
    triad = found.calibration.magnetometer
    np.testing.assert_allclose(triad.bias, BIAS, rtol=0, atol=0.15e-6)
    scaled = triad.matrix / np.cbrt(np.linalg.det(triad.matrix))
    np.testing.assert_allclose(
        scaled, TILTED @ SOFT / np.cbrt(np.linalg.det(SOFT)), rtol=0, atol=0.005
    )
    assert abs(found.delay_s) < 0.002
    assert found.warnings == ()
    assert found.calibration.provenance.method == "ellipsoid, full, aligned by gyro"


def test_a_delay_is_not_taken_for_a_rotation():
    found = align_magnetometer(simulated(np.random.default_rng(2), delay_s=0.03))
    assert found.delay_s == pytest.approx(0.03, abs=0.003)
    assert angle_deg(found.rotation @ TILTED.T) < 0.3
    assert "the magnetometer is 3" in found.warnings[0]


def test_quarter_turns_and_left_handed_axes():
    swapped = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]) @ TILTED
    series = simulated(np.random.default_rng(3), swapped)
    assert angle_deg(align_magnetometer(series).rotation @ swapped.T) < 0.3
    mirrored = swapped @ np.diag([1.0, 1.0, -1.0])
    series = simulated(np.random.default_rng(3), mirrored)
    open_end = align_magnetometer(series)
    assert "pass the hemisphere" in open_end.warnings[0]
    assert open_end.dip_deg == pytest.approx(-DIP_DEG, abs=0.3)
    found = align_magnetometer(series, hemisphere="north")
    assert found.is_mirrored
    assert "left-handed" in found.warnings[0]
    assert angle_deg(found.rotation @ mirrored.T) < 0.3
    assert not align_magnetometer(series, hemisphere="south").is_mirrored


@pytest.mark.slow
def test_the_errors_are_within_their_sigmas():
    scaled = []
    for seed in range(8):
        found = align_magnetometer(simulated(np.random.default_rng(seed), seconds=40.0))
        error = quaternion.to_rotation_vector(
            quaternion.from_matrix(TILTED.T @ found.rotation)
        )  # in magnetometer axes
        scaled.append(np.degrees(error) / found.rotation_sigma_deg)
    assert 0.4 < np.sqrt(np.mean(np.square(scaled))) < 1.6


def test_turning_about_one_axis_is_refused_by_name():
    series = simulated(np.random.default_rng(4), amplitudes=(0.0, 0.0, 1.0))
    calibration = ImuCalibration(
        magnetometer=TriadCalibration(matrix=SOFT, bias=BIAS),
    )
    with pytest.raises(ValueRangeError, match=r"two axes, got rotation about one: .* the axis \("):
        align_magnetometer(series, calibration=calibration)


def still_poses(rng, count, turn=TILTED):
    """Return a series of poses at rest for 2 s, each in another attitude, and quick turns."""
    rows = int(2.5 * RATE_HZ)
    fields, forces, rates = [], [], []
    for q in quaternion.from_rotation_vector(rng.normal(0.0, 2.0, (count, 3))):
        R = quaternion.to_matrix(q).T
        moving = np.arange(rows) < 0.2 * rows
        fields.append(np.tile(R @ FIELD_WORLD, (rows, 1)))
        shaken = rng.normal(0.0, 3.0, (rows, 3)) * moving[:, None]
        forces.append(np.tile(R @ [0.0, 0.0, 9.81], (rows, 1)) + shaken)
        rates.append(np.full((rows, 3), np.nan))
    field, force = np.concatenate(fields), np.concatenate(forces)
    readings = field @ turn @ np.linalg.inv(SOFT).T + BIAS
    return ImuSeries(
        np.arange(len(field)) * 20_000_000,
        np.concatenate(rates),
        force + rng.normal(0.0, 0.01, force.shape),
        magnetic_field=readings + rng.normal(0.0, 0.1e-6, force.shape),
    )


def test_poses_at_rest_need_no_gyro():
    calibration = ImuCalibration(magnetometer=TriadCalibration(matrix=SOFT, bias=BIAS))
    series = still_poses(np.random.default_rng(5), 16)
    found = align_magnetometer(series, calibration=calibration, method="poses")
    assert found.samples == 16
    assert found.fit is None
    assert found.delay_s is None
    assert angle_deg(found.rotation @ TILTED.T) < 0.15
    assert found.dip_deg == pytest.approx(DIP_DEG, abs=0.2)
    assert found.heading_error_before_deg > 15.0
    assert found.heading_error_deg < 0.3
    few = series.between(stop_s=11.0)
    with pytest.raises(ValueRangeError, match=r"at least 6 poses at rest, got [45]; put"):
        align_magnetometer(few, calibration=calibration, method="poses")


def test_the_errors_by_poses_are_within_their_sigmas():
    calibration = ImuCalibration(magnetometer=TriadCalibration(matrix=SOFT, bias=BIAS))
    scaled = []
    for seed in range(8):
        series = still_poses(np.random.default_rng(seed), 16)
        found = align_magnetometer(series, calibration=calibration, method="poses")
        error = quaternion.to_rotation_vector(quaternion.from_matrix(TILTED.T @ found.rotation))
        scaled.append(np.degrees(error) / found.rotation_sigma_deg)
    assert 0.5 < np.sqrt(np.mean(np.square(scaled))) < 1.6


def test_a_calibration_is_used_and_kept():
    series = simulated(np.random.default_rng(6))
    first = ellipsoid(series, norm=50e-6).calibration
    other = ImuCalibration(
        gyro=TriadCalibration(bias=[0.002, -0.001, 0.003]), magnetometer=first.magnetometer
    )
    found = align_magnetometer(series, calibration=other)
    assert found.calibration.gyro == other.gyro
    size = np.linalg.norm(found.calibration.apply(series).magnetic_field, axis=1)
    assert size.mean() == pytest.approx(50e-6, rel=2e-3)


def test_body_axes_are_those_of_the_series():
    series = simulated(np.random.default_rng(7))
    one = align_magnetometer(series).calibration
    other = align_magnetometer(series.in_frames(world="NED", body="FRD")).calibration
    assert other.body == "FRD"
    np.testing.assert_allclose(
        one.apply(series).magnetic_field, other.apply(series).magnetic_field, rtol=0, atol=1e-9
    )


def test_reports():
    found = align_magnetometer(simulated(np.random.default_rng(8)))
    text = "\n".join(found.lines())
    assert text.startswith("magnetometer: hard and soft iron from ")
    assert "heading error: " in text
    assert found.to_dict()["fit"]["kind"] == "full"
    assert found.to_dict()["method"] == "gyro"


def test_bad_input_is_named():
    series = simulated(np.random.default_rng(9), seconds=1.0)
    full = ImuCalibration(magnetometer=TriadCalibration())
    with pytest.raises(UnknownNameError, match="gyros"):
        align_magnetometer(series, method="gyros")
    with pytest.raises(UnknownNameError, match="hemisphere"):
        align_magnetometer(series, hemisphere="up")
    with pytest.raises(ValueRangeError, match="expected a calibration of the magnetometer"):
        align_magnetometer(series, calibration=ImuCalibration())
    with pytest.raises(ValueRangeError, match=r"at least 50 readings 0\.05 s apart, got 20"):
        align_magnetometer(series, calibration=full)
    with pytest.raises(TypeError, match="series"):
        align_magnetometer(np.zeros((3, 3)))


@pytest.mark.data
def test_injected_errors_are_removed_from_a_real_recording():
    """Heading against optical motion capture, with a disturbed sensor as with the original one."""
    folder = Path(os.environ.get("STRAPDOWN_DATA", Path(__file__).parents[3] / "shared/data"))
    path = folder / "broad" / "02_undisturbed_slow_rotation_B.npz"
    if not path.exists():
        pytest.skip("STRAPDOWN_DATA has no broad")
    trial = np.load(path)
    row = slice(None, None, 4)
    original = 1e-6 * trial["mag"][row].astype(np.float64)
    readings = original @ TILTED @ np.linalg.inv(SOFT).T + BIAS
    t_ns = np.arange(len(trial["mag"])) * 3_500_000
    series = ImuSeries(t_ns[row], trial["gyr"][row], trial["acc"][row], magnetic_field=readings)
    found = align_magnetometer(series, hemisphere="north")
    known = ~np.isnan(trial["ref"][row]).any(axis=1) & trial["mov"][row]
    R = quaternion.to_matrix(quaternion.from_wxyz(trial["ref"][row][known].astype(np.float64)))

    def heading_error_deg(field):
        world = (R @ field[known][:, :, None])[:, :, 0]
        heading = np.exp(1j * np.arctan2(world[:, 0], world[:, 1]))
        return np.degrees(np.std(np.angle(heading * np.conj(heading.mean()))))

    calibrated = found.calibration.apply(series).magnetic_field
    assert heading_error_deg(readings) > 30.0
    assert heading_error_deg(calibrated) < 1.1 * heading_error_deg(original)
    assert angle_deg(found.rotation @ TILTED.T) < 1.5  # the original is misaligned by 0.5
