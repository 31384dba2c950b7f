"""The difference of two recordings: a constant offset gives a constant angle."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.viewer import RecordingSource, ViewModel

SECOND = 1_000_000_000
ANGLE = np.radians(7.0)


def motion(start_s=0.0, seconds=20.0, rate=100, offset=(0.0, 0.0, 0.0), later=0.0):
    """A turn about all axes at a rate, in a world that is turned by an offset (rotation vector)."""
    s = np.arange(int(seconds * rate)) / rate + later
    t = ((start_s + s - later) * SECOND).round().astype(np.int64)
    angles = np.stack([0.4 * np.sin(s), 0.3 * np.cos(0.7 * s), 0.5 * s], axis=1)
    q = quaternion.from_rotation_vector(angles)
    q = quaternion.multiply(quaternion.from_rotation_vector(np.array(offset)), q)
    rates = np.stack([np.sin(s), np.cos(s), 0.1 * s], axis=1)
    force = np.tile([0.0, 0.0, 9.8], (len(s), 1))
    return ImuSeries(t, rates, force), Trajectory(t, q)


def source(series=None, track=None, name="run"):
    held = Recording(
        imu={} if series is None else {"imu": series},
        trajectories={} if track is None else {"truth": track},
    )
    return RecordingSource(held, name=name)


def lines(model):
    return {
        panel.name: {line.label: line.points for line in panel.lines}
        for panel in model.difference_panels()
    }


@pytest.mark.parametrize(
    ("offset", "heading", "inclination"),
    [((0.0, 0.0, ANGLE), 7.0, 0.0), ((ANGLE, 0.0, 0.0), 0.0, 7.0)],
)
def test_a_world_that_is_turned_gives_a_constant_angle(offset, heading, inclination):
    first, second = source(*motion(offset=offset)), source(*motion())
    found = lines(ViewModel([first, second]))["attitude difference"]
    for label, angle in (("total", 7.0), ("heading", heading), ("inclination", inclination)):
        np.testing.assert_allclose(found[label][:, 1], angle, atol=1e-6)


def test_a_sensor_that_is_mounted_turned_gives_a_constant_total_angle():
    series, track = motion()
    mount = quaternion.from_rotation_vector([0.0, ANGLE, 0.0])
    turned = track.replace(q_world_from_body=quaternion.multiply(track.q_world_from_body, mount))
    found = lines(ViewModel([source(series, turned), source(series, track)]))
    np.testing.assert_allclose(found["attitude difference"]["total"][:, 1], 7.0, atol=1e-6)


def test_rates_are_interpolated_at_the_stamps_of_the_second_in_its_body_frame():
    series, track = motion()
    slower, _ = motion(rate=50)
    biased = series.replace(angular_velocity=series.angular_velocity + np.array([0.1, 0.0, -0.2]))
    model = ViewModel([source(biased.in_frames(body="FRD"), track), source(slower)])
    found = lines(model)["angular velocity difference"]
    assert len(found["x"]) == len(slower)
    for label, bias in (("x", 0.1), ("y", 0.0), ("z", -0.2)):
        np.testing.assert_allclose(found[label][:, 1], bias, atol=1e-12)
    np.testing.assert_allclose(lines(model)["specific force difference"]["z"][:, 1], 0.0)
    assert "attitude difference" not in lines(model)  # the second has none
    assert {panel.frame for panel in model.difference_panels()} == {"body FLU"}


def test_recordings_that_overlap_are_compared_in_their_clock():
    model = ViewModel([source(*motion(5.0, later=5.0)), source(*motion(0.0))])
    assert model.difference.alignment.startswith("aligned in time (shared clock)")
    points = lines(model)["attitude difference"]["total"]
    known = np.isfinite(points[:, 1])
    assert points[known, 0].min() == pytest.approx(5.0)
    np.testing.assert_allclose(points[known, 1], 0.0, atol=1e-5)


def test_recordings_of_different_days_are_compared_from_their_first_samples():
    model = ViewModel([source(*motion(90_000.0), name="a"), source(*motion(), name="b")])
    assert model.difference.name == "a minus b"
    assert "first samples at one time" in model.difference.alignment
    points = lines(model)["attitude difference"]["total"]
    np.testing.assert_allclose(points[:, 1], 0.0, atol=1e-5)
    assert points[0, 0] == 0.0


def test_only_two_recordings_with_something_in_common_are_compared():
    series, track = motion()
    assert ViewModel([source(series)]).difference is None
    assert ViewModel([source(series), source(track=track)]).difference is None
    assert ViewModel([source(series)] * 3).difference is None
    assert ViewModel([source(series)] * 3).difference_panels() == []


def test_a_calibration_that_is_applied_changes_the_difference():
    class Doubled:
        provenance = type("Provenance", (), {"method": "doubled"})

        def apply(self, series):
            return series.replace(specific_force=2.0 * series.specific_force)

    first, second = source(motion()[0]), source(motion()[0])
    model = ViewModel([first, second])
    assert np.all(lines(model)["specific force difference"]["z"][:, 1] == 0.0)
    first.apply(Doubled())
    np.testing.assert_allclose(lines(model)["specific force difference"]["z"][:, 1], 9.8)
