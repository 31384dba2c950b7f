"""A magnetometer on a topic of its own, next to the topic of its IMU."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest
from tests.viewer.test_live import until

from strapdown.calibration import ImuCalibration, TriadCalibration
from strapdown.estimation import FILTERS
from strapdown.messages import Imu, MagneticField
from strapdown.series import ImuSeries
from strapdown.transport import Topic
from strapdown.viewer import LiveSource, ViewModel
from strapdown.viewer.cockpit import CalibrationKind, progress
from strapdown.viewer.signals import Span

MS = 1_000_000
ALL = Span(0, 10**12)
NORTH = np.array([0.0, 2e-5, -4e-5])


@pytest.fixture
def pair():
    """Senders of an IMU and of a field, and a function that starts their source."""
    name = f"view_{uuid4().hex[:8]}"
    kinds = {name: Imu, f"{name}/mag": MagneticField}
    senders = [Topic(kind, 4096, name=each, backend="local") for each, kind in kinds.items()]
    readers, sources = [], []

    def start(**options):
        readers.extend(Topic(kind, name=each, backend="local") for each, kind in kinds.items())
        sources.append(LiveSource(readers[0], field=readers[1], **options))
        return sources[0]

    yield *senders, start
    for each in [*sources, *readers, *senders]:
        each.close()


def imu(t_ns, shake=0.0):
    return Imu(shake, 0.0, 9.81, 0.0, 0.0, shake, timestamp_ns=t_ns)


def received(source):
    series = source.series_within(ALL)
    return 0 if series is None else len(series)


def test_samples_of_the_field_join_the_nearest_row_and_are_shown(pair):
    imus, fields, start = pair
    for row in range(100):
        imus.send(imu(row * 5 * MS))
        if row % 10 == 0:
            fields.send(MagneticField(row * 5 * MS + 2 * MS, "", tuple(NORTH * (1 + row))))
    source = start()
    until(lambda: received(source) == 100)
    field = source.series_within(ALL).magnetic_field
    np.testing.assert_allclose(field[::10], np.outer(1 + np.arange(0, 100, 10), NORTH))
    assert np.isfinite(field).any(axis=1).sum() == 10
    shown = {panel.name: panel for panel in ViewModel([source]).panels(0)}["magnetic field"]
    assert shown.lines[1].points[0][-1] == pytest.approx(20.0)
    left_out = {figure.name: figure for figure in source.health()}["field left out"]
    assert left_out.value == "0"
    assert left_out.is_good


@pytest.mark.parametrize("name", ["eskf", "vqf"])
def test_a_filter_takes_the_field_as_in_a_recording(pair, name):
    imus, fields, start = pair
    t_ns = np.arange(400) * 10 * MS
    source = start(estimator=FILTERS[name]())
    turned = np.array([1.5e-5, 1.5e-5, -4e-5])
    for row, stamp in enumerate(t_ns.tolist()):
        if row % 4 == 0:
            fields.send(MagneticField(stamp, "", tuple(turned)))
        imus.send(imu(stamp))
    until(lambda: received(source) == 400)
    field = np.full((400, 3), np.nan)
    field[::4] = turned
    force = np.tile([0.0, 0.0, 9.81], (400, 1))
    series = ImuSeries(t_ns, np.zeros((400, 3)), force, magnetic_field=field)
    expected = FILTERS[name]().run(series).q_world_from_body[-1]
    assert abs(source.body(int(t_ns[-1])).q_world_from_body @ expected) == pytest.approx(1.0)
    yaw = {each: values for each, _, _, values in ViewModel([source]).values(0)}["attitude"][2]
    assert yaw == pytest.approx(45.0, abs=1.0)  # the field is to the left of forward


def test_the_cockpit_covers_the_sphere_and_a_calibration_is_applied_to_what_is_shown(pair):
    imus, fields, start = pair
    source = start()
    iron = np.array([1e-5, -2e-5, 3e-5])
    source.apply(ImuCalibration(magnetometer=TriadCalibration(bias=iron, matrix=np.eye(3))))
    directions = np.random.default_rng(3).normal(size=(2000, 3))
    directions *= 5e-5 / np.linalg.norm(directions, axis=1, keepdims=True)
    for row, direction in enumerate(directions):
        imus.send(imu(row * 10 * MS, shake=direction[0] * 1e3))
        fields.send(MagneticField(row * 10 * MS, "", tuple(direction + iron)))
    until(lambda: received(source) == 2000)
    measured = source.measured_within(ALL)
    np.testing.assert_allclose(measured.magnetic_field, directions + iron)
    np.testing.assert_allclose(source.series_within(ALL).magnetic_field, directions, atol=1e-18)
    found = progress(CalibrationKind.FIELD, measured, 30.0)
    assert found.covered.all()
    assert "compute" in found.hint


def test_topics_of_other_messages_are_refused(pair):
    imus, fields, _ = pair
    with pytest.raises(TypeError, match="expected a topic of Imu, got MagneticField"):
        LiveSource(fields)
    with pytest.raises(TypeError, match="expected a topic of MagneticField, got Imu"):
        LiveSource(imus, field=imus)
