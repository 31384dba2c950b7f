"""Maps of navigation."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown import plots
from strapdown.estimation.navigation import AidingResult, NavigationResult
from strapdown.evaluation import outages
from strapdown.plots.navigation import scale_length
from strapdown.series import GnssSeries, Trajectory

S = 10**9
ORIGIN = (0.8, 0.1, 400.0)


def run(refused=()):
    """Return 60 s eastwards at 2 m/s, with a fix each second but between 20 and 40 s."""
    t_ns = np.arange(0, 60 * S, S // 10)
    n = len(t_ns)
    position = np.stack([t_ns * 2e-9, np.zeros(n), np.zeros(n)], axis=1)
    growth = np.where((t_ns > 20 * S) & (t_ns < 40 * S), (t_ns - 20 * S) * 1e-9, 0.0)
    covariance = np.zeros((n, 9, 9))
    covariance[:, 0, 0] = (0.1 + 4.0 * growth) ** 2
    covariance[:, 1, 1] = (0.1 + growth) ** 2
    covariance[:, 2, 2] = 0.01
    rows = np.flatnonzero((t_ns % S == 0) & ((t_ns <= 20 * S) | (t_ns >= 40 * S)))
    zeros = np.zeros((n, 3))
    result = NavigationResult(
        t_ns, np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)), zeros, position,
        zeros, zeros, zeros, zeros, zeros, covariance,
        aiding=tuple(
            AidingResult(int(t), "position", 1.0, 3, int(t) // S not in refused)
            for t in t_ns[rows]
        ),
    )  # fmt: skip
    variance = np.tile(0.01 * np.eye(3), (len(rows), 1, 1))
    return result, GnssSeries.from_local_enu(t_ns[rows], position[rows], ORIGIN, variance)


def line(axes, label):
    (found,) = [each for each in axes.get_lines() if each.get_label() == label]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def test_a_map_has_one_scale_and_shows_fixes_and_the_outage():
    result, fixes = run(refused={5, 50})
    figure = plots.plot_navigation(result, fixes, ORIGIN, title="eastwards")
    plan, height, spread = figure.axes
    assert plan.get_aspect() == 1.0
    assert line(plan, "fix, refused")[0] == pytest.approx([10.0, 100.0], abs=1e-3)
    assert len(line(plan, "fix")[0]) == len(fixes) - 2
    without, _ = line(plan, "estimate without fixes")
    assert np.nanmin(without) == pytest.approx(40.0)
    assert np.nanmax(without) == pytest.approx(80.0)
    shaded = [patch.get_extents().bounds for patch in spread.patches]
    assert len(shaded) == len(height.patches) == 1
    assert line(spread, "in the plane")[1].max() > 50.0


def test_the_ellipse_of_an_outage_has_the_axes_of_the_covariance():
    result, fixes = run()
    plan = plots.plot_navigation(result, fixes, ORIGIN).axes[0]
    largest = max(plan.patches, key=lambda ellipse: ellipse.width)
    worst = np.argmax(result.covariance[:, 0, 0])
    radius = np.sqrt(5.991)  # of chi-square with two degrees of freedom, 95 %
    expected = 2.0 * radius * np.sqrt(np.diagonal(result.covariance[worst])[:2])
    assert [largest.width, largest.height] == pytest.approx(expected)
    assert largest.angle % 180.0 == pytest.approx(0.0)
    assert largest.center == pytest.approx(result.position_world[worst, :2])


def test_the_scale_bar_is_as_long_as_it_states():
    result, fixes = run()
    plan = plots.plot_navigation(result, fixes, ORIGIN).axes[0]
    (text,) = [each.get_text() for each in plan.texts]
    (bar,) = [each for each in plan.get_lines() if each.get_color() == "black"]
    begin, end = bar.get_xdata()
    low, high = plan.get_xlim()
    assert text == f"{end - begin:g} m"
    assert 0.08 < (end - begin) / (high - low) <= 0.2
    assert [scale_length(most) for most in (0.11, 0.3, 7.0, 999.0)] == [0.1, 0.2, 5.0, 500.0]


def test_a_reference_is_drawn_below():
    result, fixes = run()
    truth = Trajectory(result.t_ns, result.q_world_from_body, position_world=result.position_world)
    figure = plots.plot_navigation(result, fixes, ORIGIN, reference=truth)
    assert line(figure.axes[0], "reference")[0] == pytest.approx(result.position_world[:, 0])
    assert "47" not in figure.axes[0].get_xlabel()
    assert "45.836624° N, 5.729578° E, 400.0 m" in figure.axes[0].get_xlabel()


def test_outages():
    t_ns = np.array([0, 60]) * S
    assert outages(np.array([], np.int64), t_ns) == [(0, 60 * S)]
    used = np.array([1, 2, 3, 10, 11, 12, 58]) * S
    assert outages(used, t_ns) == [(3 * S, 10 * S), (12 * S, 58 * S)]
    rare = np.arange(0, 61, 20) * S  # five intervals of 20 s are no outage
    assert outages(rare, t_ns) == []
