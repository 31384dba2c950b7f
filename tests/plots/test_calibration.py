"""Picture of a calibration."""

from __future__ import annotations

import numpy as np

from strapdown.calibration import ImuCalibration, PoseCalibration
from strapdown.plots import plot_calibration
from strapdown.series import ImuSeries


def test_every_residual_and_attitude_is_drawn_where_it_belongs():
    t_ns = np.arange(1000) * 10_000_000
    series = ImuSeries(t_ns, np.zeros((1000, 3)), np.tile([0.0, 0.0, 9.8], (1000, 1)))
    directions = np.array([[0, 0, 1.0], [0, 0, -1.0], [0.6, 0.0, 0.8]])
    result = PoseCalibration(
        calibration=ImuCalibration(), warnings=(), gravity=9.8,
        still_ns=np.array([[0, 2], [4, 6], [7, 9]]) * 10**9, directions=directions,
        norm_error=np.array([0.001, -0.002, 0.003]), norm_error_left_out=np.full(3, np.nan),
        turn_ns=np.array([[2, 4], [6, 7]]) * 10**9,
        turn_error=np.radians([0.1, 0.2]), turn_error_left_out=np.radians([0.3, 0.4]),
    )  # fmt: skip
    figure = plot_calibration(series, result, title="one $ sign")
    session, norms, turns, upper, lower = figure.axes
    assert [text.get_text() for text in session.get_legend().get_texts()] == [
        "x", "y", "z", "still", "turn",
    ]  # fmt: skip
    points = norms.get_lines()[1:]
    assert [line.get_label() for line in points] == ["fitted"]  # nothing was left out
    np.testing.assert_allclose(points[0].get_ydata(), [1.0, -2.0, 3.0])
    np.testing.assert_allclose(turns.get_lines()[2].get_ydata(), [0.3, 0.4])
    drawn = upper.get_lines()[-1].get_xydata()
    # Lambert's projection: at the angle a from the middle, the radius is sqrt(2) sin(a/2).
    assert drawn[0].tolist() == [0.0, 0.0]
    radius = np.sqrt(2.0) * np.sin(np.arccos(0.8) / 2.0)
    np.testing.assert_allclose(drawn[1], [radius, 0.0], atol=1e-12)
    assert len(lower.get_lines()[-1].get_xydata()) == 1
    assert figure.get_suptitle() == r"one \$ sign"
