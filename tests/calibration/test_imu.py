"""The calibration object: what it does to data, inverse, composition, frames, files."""

from dataclasses import replace

import numpy as np
import pytest

from strapdown.calibration import (
    ImuCalibration,
    Provenance,
    TemperatureCurve,
    TriadCalibration,
    load_calibration,
    save_calibration,
)
from strapdown.errors import FormatError, FrameError, ShapeError, ValueRangeError
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries, Increments

RNG = np.random.default_rng(7)


def triad(scale, *, temperature=None, covariance=True):
    matrix = np.eye(3) + scale * RNG.normal(size=(3, 3))
    root = RNG.normal(size=(12, 12))
    return TriadCalibration(
        matrix=matrix,
        bias=RNG.normal(size=3),
        covariance=1e-6 * root @ root.T if covariance else None,
        temperature=temperature,
    )


def curve(**changes):
    fields = {"reference_c": 25.0, "lowest_c": 10.0, "highest_c": 40.0, "lag_s": 2.0}
    return TemperatureCurve(coefficients=RNG.normal(size=(2, 3)), **(fields | changes))


def calibration(*, temperature=None):
    return ImuCalibration(
        accel=triad(0.05, temperature=temperature),
        gyro=triad(0.05, temperature=temperature),
        magnetometer=triad(0.2),
        g_sensitivity=1e-3 * RNG.normal(size=(3, 3)),
        provenance=Provenance(
            method="by hand", date="2026-11-24", source='a "b".mcap',
            residuals={"norm m/s^2": 0.1 + 0.2}, notes=("one", "zwei ü"),
        ),
    )  # fmt: skip


def series(rows=50, **columns):
    return ImuSeries(
        np.arange(rows) * 10_000_000, RNG.normal(size=(rows, 3)), RNG.normal(size=(rows, 3)),
        magnetic_field=RNG.normal(size=(rows, 3)), **columns,
    )  # fmt: skip


def close(one, other):
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)


def test_the_formula():
    c, s = calibration(), series()
    f = np.array([c.accel.matrix @ (row - c.accel.bias) for row in s.specific_force])
    w = np.array(
        [
            c.gyro.matrix @ (row - c.gyro.bias - c.g_sensitivity @ force)
            for row, force in zip(s.angular_velocity, f, strict=True)
        ]
    )
    m = np.array([c.magnetometer.matrix @ (row - c.magnetometer.bias) for row in s.magnetic_field])
    close(c.apply(s), s.replace(specific_force=f, angular_velocity=w, magnetic_field=m))


def test_a_sample_is_calibrated_as_a_series():
    c, s = calibration(), series()
    whole = c.apply(s)
    for i in (0, 7):
        one = c.apply(
            ImuSample(0, s.angular_velocity[i], s.specific_force[i], s.magnetic_field[i], 5, 2)
        )
        np.testing.assert_allclose(one.angular_velocity, whole.angular_velocity[i], atol=1e-14)
        np.testing.assert_allclose(one.specific_force, whole.specific_force[i], atol=1e-14)
        np.testing.assert_allclose(one.magnetic_field, whole.magnetic_field[i], atol=1e-14)
        assert (one.gyro_clipping, one.accel_clipping) == (5, 2)


@pytest.mark.parametrize("temperature", [None, 30.0, np.linspace(0.0, 50.0, 50)])
def test_the_inverse_gives_the_readings_back(temperature):
    c = calibration(temperature=None if temperature is None else curve())
    s = series()
    back = c.inverse().apply(c.apply(s, temperature=temperature), temperature=temperature)
    close(back, s)


def test_composition_applies_one_after_the_other():
    one, other, s = calibration(temperature=curve()), calibration(), series()
    both = one.compose(other).apply(s, temperature=33.0)
    close(both, other.apply(one.apply(s, temperature=33.0)))


def test_unlike_temperature_curves_do_not_compose():
    with pytest.raises(ValueRangeError, match="one reference, range and lag"):
        calibration(temperature=curve()).compose(calibration(temperature=curve(lag_s=5.0)))


def test_other_axes_give_the_same_motion():
    c, s = calibration(temperature=curve()), series()
    there = c.in_frame("FRD").apply(s.in_frames(body="FRD"), temperature=12.0)
    close(there.in_frames(body="FLU"), c.apply(s, temperature=12.0))
    assert c.apply(s.in_frames(body="FRD"), temperature=12.0).body == "FRD"
    back = c.in_frame("FRD").in_frame("FLU")
    assert back.gyro == c.gyro


def test_the_covariance_turns_with_the_axes():
    t = triad(0.1)
    turn = np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, -1]])
    draws = RNG.multivariate_normal(np.zeros(12), t.covariance, 200_000)
    bias = draws[:, :3] @ turn.T
    matrix = turn @ draws[:, 3:].reshape(-1, 3, 3) @ turn.T
    sampled = np.cov(np.hstack([bias, matrix.reshape(-1, 9)]).T)
    turned = t.turned(turn)
    np.testing.assert_allclose(turned.covariance, sampled, atol=0.05 * np.max(t.covariance))
    np.testing.assert_allclose(turned.sigma_bias, t.sigma_bias)


def test_increments_are_calibrated_as_their_samples():
    c, s = calibration(temperature=curve()), series(60)
    dt = 0.01
    temperature = np.linspace(5.0, 45.0, 60)

    def increments(of):
        return Increments(
            of.t_ns, of.angular_velocity * dt, of.specific_force * dt, 10_000_000, 10_000_000
        )

    one = c.apply(increments(s), temperature=temperature)
    other = increments(c.apply(s, temperature=temperature))
    np.testing.assert_allclose(one.delta_angle, other.delta_angle, atol=1e-12)
    np.testing.assert_allclose(one.delta_velocity, other.delta_velocity, atol=1e-12)


def test_known_covariances_are_transformed_and_markers_stay():
    c = calibration()
    covariance = np.tile(np.diag([1.0, 2.0, 3.0]), (3, 1, 1))
    covariance[1], covariance[2, 0, 0] = 0.0, -1.0
    out = c.apply(series(3, specific_force_covariance=covariance)).specific_force_covariance
    np.testing.assert_allclose(out[0], c.accel.matrix @ covariance[0] @ c.accel.matrix.T)
    np.testing.assert_array_equal(out[1:], covariance[1:])


def test_temperature_is_held_at_the_edges_of_its_range():
    k = curve()
    np.testing.assert_array_equal(k.change([-40.0, 90.0]), k.change([10.0, 40.0]))
    np.testing.assert_array_equal(k.outside([9.9, 10.0, 40.0, 40.1]), [True, False, False, True])
    assert not k.change(25.0).any()
    step = 7.0
    expected = k.coefficients[0] * step + k.coefficients[1] * step**2
    np.testing.assert_allclose(k.change(32.0), expected, rtol=1e-14)


def test_a_missing_temperature_is_an_error():
    with pytest.raises(ValueRangeError, match="expected a temperature"):
        calibration(temperature=curve()).apply(series())
    assert not calibration(temperature=curve()).without_temperature().needs_temperature


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="expected ImuSeries, Increments or ImuSample, got list"):
        calibration().apply([1.0])
    with pytest.raises(ShapeError, match=r"temperature of shape \(50,\), got \(3,\)"):
        calibration(temperature=curve()).apply(series(), temperature=[1.0, 2.0, 3.0])
    with pytest.raises(ValueRangeError, match="can be inverted"):
        TriadCalibration(matrix=np.zeros((3, 3)))
    with pytest.raises(FrameError, match="expected a body frame"):
        ImuCalibration(body="XYZ")
    with pytest.raises(ValueRangeError, match="expected a specific force"):
        calibration().apply(ImuSample(0, (0.0, 0.0, 0.0), None))


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_files_keep_every_bit(tmp_path, ending):
    c = calibration(temperature=curve()).in_frame("FRD")
    c = replace(c, magnetometer=None) if ending == "json" else c
    path = tmp_path / f"c.{ending}"
    save_calibration(c, path)
    assert load_calibration(path) == c
    with pytest.raises(FileExistsError):
        save_calibration(c, path)
    save_calibration(ImuCalibration(), path, force=True)
    assert load_calibration(path) == ImuCalibration()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = 3", "expected format = 'strapdown calibration 1', got 3"),
        ("= 3", "expected a calibration, got"),
        ('format = "strapdown calibration 1"\nbias = 3', "got 'bias'"),
        ('format = "strapdown calibration 1"\ngyro = 3', r"expected a table \[gyro\], got 3"),
        ('format = "strapdown calibration 1"\n[gyro]\nbias = [1, 2]', r"\[gyro\]: expected bias"),
        ('format = "strapdown calibration 1"\n[gyro]\nbiass = 1', r"\[gyro\]: .*biass"),
    ],
)
def test_files_that_are_no_calibration_are_named(tmp_path, text, message):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        load_calibration(path)
    assert str(path) in str(caught.value)


def test_the_ending_is_checked(tmp_path):
    with pytest.raises(FormatError, match=r"\.toml or \.json"):
        save_calibration(ImuCalibration(), tmp_path / "c.yaml")
