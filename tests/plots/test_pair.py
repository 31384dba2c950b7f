"""Figures of two sensors on one body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strapdown import plots
from strapdown.calibration import align_pair
from strapdown.motion import MOTIONS
from strapdown.simulation import simulate


@pytest.fixture(scope="module")
def aligned():
    one = simulate(MOTIONS["wander"], "ADIS16470", 20.0, name="one").samples.series()
    late = one.replace(t_ns=one.t_ns + 3 * 10**9)[400:]
    return one, late, align_pair(one, late)


def curve(axis, label):
    (line,) = [line for line in axis.get_lines() if line.get_label() == label]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_the_second_lies_on_the_first_after_the_alignment(aligned, tmp_path):
    figure = plots.plot_pair(*aligned)
    before, after, rates, forces = figure.axes
    t, first = curve(before, "first")
    for axis, largest in ((before, 1e3), (after, 2.0)):
        other_t, other = curve(axis, "second")
        difference = np.interp(other_t, t, first) - other
        assert np.abs(difference).max() < largest
    assert np.abs(np.interp(curve(before, "second")[0], t, first)).max() > 50.0
    assert curve(before, "second")[0][0] == pytest.approx(0.0, abs=1e-9)
    assert curve(after, "second")[0][0] == pytest.approx(2.0, abs=0.001)
    assert rates.get_ylabel() == "w residual [deg/s]"
    assert forces.get_ylabel() == "a residual [m/s$^2$]"
    plots.save(figure, tmp_path / "pair.svg")


def test_without_residuals_the_curves_alone_are_drawn(aligned):
    one, late, result = aligned
    assert len(plots.plot_pair(one, late, replace(result, residuals=None)).axes) == 2
