"""Figures of fitted noise."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown import ImuSeries, plots
from strapdown.calibration import allan
from strapdown.formats import Recording


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(1)
    rate = rng.standard_normal((20_000, 3)) * 1e-3
    force = rng.standard_normal((20_000, 3)) * 1e-2
    return ImuSeries(np.arange(20_000) * 100_000_000, rate, force)


def texts(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_each_channel_has_a_panel_in_readable_units(series):
    result = allan(series)
    fit = result.fit()
    axes = plots.plot_noise(result, fit, title="at rest").axes
    assert [axis.get_title() for axis in axes][::3] == ["angular velocity x", "specific force x"]
    assert axes[0].get_ylabel() == "Allan deviation [deg/h]"
    assert axes[5].get_ylabel() == "Allan deviation [µg]"
    density = fit["angular_velocity.x"].coefficients["N"].value * 3437.747
    assert f"N: {density:.4g} deg/√h" in texts(axes[0])
    assert "read off the curve" in texts(axes[0])
    points = axes[0].get_lines()[0].get_ydata()
    np.testing.assert_allclose(points, result.deviation[:, 0] * 206264.806, rtol=1e-6)


def test_a_model_that_does_not_fit_is_marked():
    t_s = np.arange(20_000) / 10.0
    values = np.random.default_rng(2).standard_normal(20_000) + 3.0 * np.sin(t_s)
    result = allan(values, rate_hz=10.0)
    (axis,) = plots.plot_noise(result, result.fit()).axes
    assert any(text.startswith("model off by a factor of") for text in texts(axis))


def test_a_result_can_be_drawn_without_a_fit_and_with_constant_channels():
    values = np.zeros((1000, 4))
    values[:, 0] = np.random.default_rng(3).standard_normal(1000)
    result = allan(values, rate_hz=1.0)
    figure = plots.plot_noise(result, result.fit(), title="$x")
    assert sum(axis.get_visible() for axis in figure.axes) == 4
    assert len(texts(plots.plot_noise(result).axes[0])) == 1


def test_the_spectrum_has_white_noise_at_its_one_sided_level(series, tmp_path):
    path = tmp_path / "still.csv"
    plots_of = Recording(path, imu={"imu": series})
    fit = allan(series).fit()
    gyro, accel = plots.plot_spectrum(plots_of, noise=fit).axes
    for axis, quantity in ((gyro, "angular_velocity"), (accel, "specific_force")):
        x = axis.get_lines()[0].get_ydata()
        level = axis.get_lines()[3].get_ydata()[0]
        assert level == pytest.approx(np.sqrt(2.0) * fit[f"{quantity}.x"].model.N)
        assert level == pytest.approx(np.sqrt(np.mean(x[:-1] ** 2)), rel=0.03)
        assert "one-sided" in axis.get_ylabel()


def test_a_line_in_the_spectrum_is_listed_as_no_noise(tmp_path):
    rng = np.random.default_rng(4)
    count = 60_000
    rate, force = rng.standard_normal((2, count, 3)) * 1e-3
    rate += 5e-3 * np.sin(2.0 * np.pi * 3.0 * np.arange(count) / 10.0)[:, None]
    series = ImuSeries(np.arange(count) * 100_000_000, rate, force)
    recording = Recording(tmp_path / "hum.csv", imu={"imu": series})
    gyro, accel = plots.plot_spectrum(recording, noise=allan(series).fit()).axes
    assert [text.get_text() for text in gyro.texts] == ["not noise: lines at 3 Hz"]
    assert not accel.texts
    assert not plots.plot_spectrum(recording).axes[0].texts
