"""The state of a page without a browser: time, zoom, playing, frames and poses."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from strapdown.estimation import FILTERS
from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.viewer import RecordingSource, ViewModel
from strapdown.viewer.bodies import described

SECOND = 1_000_000_000


def imu(start_s=0.0, seconds=10.0, rate=100):
    t = (start_s * SECOND + np.arange(int(seconds * rate)) * (SECOND // rate)).astype(np.int64)
    force = np.tile([0.0, 0.0, 9.81], (len(t), 1))
    return ImuSeries(t, np.zeros((len(t), 3)), force)


def source(series=None, track=None, **options):
    held = Recording(
        imu={} if series is None else {"imu": series},
        trajectories={} if track is None else {"truth": track},
    )
    return RecordingSource(held, name="run", **options)


def track(q, **options):
    return Trajectory(np.arange(len(q)) * SECOND, np.asarray(q, float), **options)


def test_recordings_that_overlap_share_their_clock():
    model = ViewModel([source(imu(5.0)), source(imu(8.0))])
    assert model.extent_s == (0.0, pytest.approx(12.99, abs=1e-6))
    second = model.panels(1)[0].lines[0].points
    assert second[0, 0] == pytest.approx(3.0)


def test_recordings_of_different_days_begin_together():
    model = ViewModel([source(imu(5.0)), source(imu(5000.0))])
    assert model.panels(1)[0].lines[0].points[0, 0] == 0.0


def test_playing_advances_by_the_rate_and_begins_again():
    model = ViewModel([source(imu())])
    model.toggle()
    model.rate = 2.0
    model.advance(1.5)
    assert model.cursor_s == pytest.approx(3.0)
    model.advance(100.0)
    assert model.cursor_s == 0.0
    model.loops = False
    model.advance(100.0)
    assert model.cursor_s == pytest.approx(9.99, abs=1e-6)
    assert not model.is_playing


def test_a_step_is_a_sample():
    model = ViewModel([source(imu())])
    model.seek(2.0)
    model.step(1)
    assert model.cursor_s == pytest.approx(2.01)
    model.step(-10)
    assert model.cursor_s == pytest.approx(1.91)


def test_zoom_stays_within_the_recording_and_follows_the_cursor():
    model = ViewModel([source(imu())])
    model.seek(9.0)
    model.zoom_level(3)
    start, stop = model.window_s
    assert stop - start == pytest.approx(9.99 / 4.0, rel=1e-6)
    assert stop == pytest.approx(9.99, abs=1e-6)
    model.seek(1.0)
    assert model.window_s[0] <= 1.0 <= model.window_s[1]
    model.zoom_level(1)
    assert model.window_s == pytest.approx(model.extent_s)


def test_frames_of_display_change_values_and_are_named():
    model = ViewModel([source(imu())])
    assert model.frames_of(0) == "ENU from FLU"
    model.next_frames()
    model.next_frames()
    assert model.frames_of(0) == "NED from FRD (display)"
    force = {name: values for name, _, _, values in model.values(0)}["specific force"]
    assert force == [0.0, 0.0, -9.81]


def test_the_24_orientations_along_axes_turn_the_body_axes_where_they_point():
    turns = []
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        R = np.zeros((3, 3))
        R[list(order), range(3)] = signs
        if np.linalg.det(R) > 0:
            turns.append(R)
    assert len(turns) == 24
    for world, scene in (
        ("ENU", np.eye(3)),
        ("NED", np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])),
    ):
        q = quaternion.from_matrix(np.array(turns))
        body = "FLU" if world == "ENU" else "FRD"
        model = ViewModel([source(track=track(q, world=world, body=body))])
        for row, R in enumerate(turns):
            model.seek(float(row))
            shown, _ = model.bodies(0)
            np.testing.assert_allclose(shown.R_scene_from_body, scene @ R, atol=1e-12)


def test_both_signs_of_a_quaternion_look_alike():
    q = quaternion.from_rotation_vector([0.3, -1.0, 2.0])
    model = ViewModel([source(track=track([q, -q]))])
    first, _ = model.bodies(0)
    model.seek(1.0)
    second, _ = model.bodies(0)
    np.testing.assert_array_equal(first.R_scene_from_body, second.R_scene_from_body)


def test_an_unknown_attitude_has_no_rotation():
    model = ViewModel([source(track=track([[np.nan] * 4, [0, 0, 0, 1]]))])
    assert model.bodies(0)[0].R_scene_from_body is None


def test_an_estimate_is_the_body_and_the_reference_its_ghost():
    q = np.tile(quaternion.from_rotation_vector([0.0, 0.0, 0.4]), (11, 1))
    held = source(imu(), track(q, position_world=np.ones((11, 3))), estimator=FILTERS["vqf"])
    model = ViewModel([held])
    model.seek(5.0)
    body, ghost = model.bodies(0)
    np.testing.assert_allclose(body.R_scene_from_body, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(ghost.R_scene_from_body, quaternion.to_matrix(q[0]), atol=1e-9)
    np.testing.assert_array_equal(body.position_scene, ghost.position_scene)
    difference = {name: values for name, _, _, values in model.values(0)}
    np.testing.assert_allclose(
        difference["estimate against reference"], np.degrees([0.4, 0.4, 0.0]), atol=1e-4
    )


def test_arrows_point_where_the_sensors_say():
    q = quaternion.from_rotation_vector([np.pi / 2.0, 0.0, 0.0])  # y points up
    series = imu(seconds=1.0)
    force = np.tile([0.0, 9.81, 0.0], (len(series), 1))
    field = np.tile([0.0, 0.0, -30e-6], (len(series), 1))
    held = source(
        series.replace(specific_force=force, magnetic_field=field), track(np.tile(q, (2, 1)))
    )
    arrows = ViewModel([held]).arrows(0)
    np.testing.assert_allclose(arrows["gravity"], [0.0, 0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(arrows["magnetic field"], [0.0, 1.0, 0.0], atol=1e-12)


def test_the_scene_has_a_key_in_words():
    q = np.tile([0.0, 0.0, 0.0, 1.0], (11, 1))
    for held, words in (
        (source(imu()), "grey box: attitude unknown; --filter vqf estimates it"),
        (source(track=track(q)), "box: attitude"),
        (source(imu(), track(q)), "box: attitude; arrows: measured directions"),
        (
            source(imu(), track(q), estimator=FILTERS["vqf"]),
            "box: estimate; edges: reference; arrows: measured directions",
        ),
    ):
        assert described(ViewModel([held]).pose(0)) == words


def test_health_counts_gaps_and_missing_values():
    series = imu()
    rate = series.angular_velocity.copy()
    rate[5] = np.nan
    keep = np.r_[0:300, 400:1000]
    held = source(series.replace(angular_velocity=rate)[keep])
    figures = {figure.name: figure for figure in held.health()}
    assert figures["gaps"].value == "1"
    assert not figures["gaps"].is_good
    assert figures["NaN"].value == "3"
    assert figures["clipped"].is_good
