from __future__ import annotations

import numpy as np
import pytest

from strapdown import plots
from strapdown.calibration import ImuCalibration, ellipsoid
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries


def readings():
    rng = np.random.default_rng(1)
    field = rng.normal(size=(3000, 3))
    field *= 48e-6 / np.linalg.norm(field, axis=1, keepdims=True)
    field += [30e-6, -10e-6, 5e-6]
    return field + rng.normal(0.0, 0.2e-6, field.shape)


def test_the_figure_shows_norms_projections_and_facets():
    field = readings()
    fit = ellipsoid(field)
    norms, xy, xz, yz, facets = plots.plot_magnetometer(field, fit.calibration, title="a $").axes
    before, after = norms.get_lines()
    assert before.get_ydata().std() > 10.0  # uT
    assert after.get_ydata().std() < 0.5
    assert after.get_ydata().mean() == pytest.approx(48.0, rel=0.01)
    assert [axis.get_xlabel() for axis in (xy, xz, yz)] == ["x [µT]", "x [µT]", "y [µT]"]
    calibrated = xy.get_lines()[1]
    assert abs(calibrated.get_xdata().mean()) < 1.5
    assert xy.get_lines()[0].get_xdata().mean() == pytest.approx(30.0, abs=2.0)
    assert len(facets.patches) == 32
    assert sum(int(text.get_text()) for text in facets.texts) == 3000
    assert "32 covered" in facets.get_title(loc="left")


def test_a_part_of_the_sphere_leaves_facets_hatched_and_a_series_has_time():
    field = readings()
    field = field[field[:, 2] > 5e-6]
    zero = np.zeros_like(field)
    series = ImuSeries(np.arange(len(field)) * 10_000_000, zero, zero, magnetic_field=field)
    axes = plots.plot_magnetometer(series, ellipsoid(series).calibration).axes
    assert axes[0].get_xlabel() == "time since the first reading [s]"
    hatched = [patch for patch in axes[4].patches if patch.get_hatch()]
    assert 10 <= len(hatched) <= 16


def test_bad_input_is_named():
    with pytest.raises(ValueRangeError, match="expected a calibration of the magnetometer"):
        plots.plot_magnetometer(readings(), ImuCalibration())
    with pytest.raises(ValueRangeError, match="finite readings"):
        plots.plot_magnetometer(np.full((3, 3), np.nan), ellipsoid(readings()).calibration)
