"""Picture of a calibration against temperature."""

import numpy as np
import pytest

from strapdown import plots
from strapdown.calibration import TemperatureReadings, temperature_curve
from strapdown.series import ImuSeries


@pytest.fixture(params=[False, True], ids=["constant attitude", "turned"])
def warm(request):
    t = np.arange(0.0, 600.0, 0.2)
    celsius = 25.0 - 10.0 * np.cos(2.0 * np.pi * t / 600.0)
    rng = np.random.default_rng(0)
    w = np.outer(celsius - 15.0, [1e-4, 0.0, 0.0]) + 1e-4 * rng.normal(size=(len(t), 3))
    f = [0.0, 0.0, 9.81] + 0.01 * rng.normal(size=(len(t), 3))
    if request.param:
        f[1000:] = f[1000:, [2, 0, 1]]
    t_ns = np.round(t * 1e9).astype(np.int64)
    return temperature_curve(ImuSeries(t_ns, w, f), TemperatureReadings(t_ns, celsius))


def test_curves_and_both_directions_are_drawn(warm, tmp_path):
    figure = plots.plot_temperature(warm, title="oven")
    gyro, *others = figure.axes
    assert len(others) == (warm.accel is not None)
    curve, rising, falling = gyro.lines[:3]
    assert curve.get_label() == "x"
    np.testing.assert_allclose(curve.get_xdata(), warm.gyro.celsius)
    # 1e-4 rad/s per K over the 20 K between the outermost bins, in deg/s
    assert np.ptp(curve.get_ydata()) == pytest.approx(np.rad2deg(2e-3), rel=0.05)
    assert (rising.get_marker(), falling.get_marker()) == ("^", "v")
    assert "deg/s" in gyro.get_ylabel()
    plots.save(figure, tmp_path / "oven.png")
