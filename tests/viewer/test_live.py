"""A live topic as a source: its newest samples, its estimate, its losses."""

from __future__ import annotations

import time
from uuid import uuid4

import numpy as np
import pytest

from strapdown.estimation import FILTERS
from strapdown.messages import Imu, Pose3D
from strapdown.series import ImuSeries
from strapdown.transport import Topic
from strapdown.viewer import LiveSource, ViewModel
from strapdown.viewer.live import KEPT
from strapdown.viewer.signals import Span

MS = 1_000_000


def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def topic():
    with Topic(Imu, name=f"view_{uuid4().hex[:8]}", backend="local") as handle:
        yield handle


@pytest.fixture
def live(topic):
    sources = []

    def start(**options):
        reader = Topic(Imu, name=topic.name, backend="local")
        sources.append((LiveSource(reader, **options), reader))
        return sources[-1][0]

    yield start
    for source, reader in sources:
        source.close()
        reader.close()


def message(number, spin=0.0):
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, spin, timestamp_ns=number * 10 * MS)


def newest_ms(source):
    span = source.span()
    return None if span is None else (span.stop_ns - 1) // MS


def test_samples_are_shown_back_from_the_newest(topic, live):
    source = live()
    for number in range(200):
        topic.send(message(number, spin=0.1))
    until(lambda: newest_ms(source) == 1990)
    model = ViewModel([source])
    rates = model.panels(0)[0]
    assert rates.name == "angular velocity"
    z = rates.lines[2].points
    assert z[-1] == pytest.approx([0.0, 0.1])
    assert z[0] == pytest.approx([-1.99, 0.1])
    assert source.series_within(Span(0, 50 * MS)).t_ns.tolist() == [
        0,
        10 * MS,
        20 * MS,
        30 * MS,
        40 * MS,
    ]


def test_the_estimate_turns_with_the_sensor(topic, live):
    source = live(estimator=FILTERS["vqf"]())
    for number in range(301):
        topic.send(message(number, spin=0.5))
    until(lambda: newest_ms(source) == 3000)
    yaw = {name: values for name, _, _, values in ViewModel([source]).values(0)}["attitude"][2]
    assert yaw == pytest.approx(np.degrees(1.5), abs=1.0)


def test_the_machine_code_of_the_filter_is_loaded_though_blocks_are_short(live, monkeypatch):
    loaded = []
    monkeypatch.setattr(
        "strapdown._kernels.compilation.MachineCode.load", lambda code: loaded.append(code.name)
    )
    live(estimator=FILTERS["vqf"]())
    until(lambda: loaded == ["vqf"])


def test_a_paused_view_stays_where_it_was_while_samples_arrive(topic, live):
    source = live()
    for number in range(100):
        topic.send(message(number))
    until(lambda: newest_ms(source) == 990)
    model = ViewModel([source])
    model.toggle()
    for number in range(100, 150):
        topic.send(message(number))
    until(lambda: newest_ms(source) == 1490)
    assert model.span_of(0).stop_ns == 990 * MS
    model.toggle()
    assert model.span_of(0).stop_ns == 1490 * MS


def test_a_stamp_that_goes_back_is_counted_and_left_out(topic, live):
    source = live()
    for number in (0, 1, 2, 1, 3):
        topic.send(message(number))
    until(lambda: newest_ms(source) == 30)
    late = {figure.name: figure for figure in source.health()}["late"]
    assert late.value == "1"
    assert not late.is_good
    assert len(source.series_within(Span(0, 100 * MS))) == 4


def test_memory_is_bounded_and_the_newest_samples_are_kept(live):
    source = live()
    count = 1000
    for block in range(2 * KEPT // count + 300):
        t = (block * count + np.arange(count)) * MS
        source._take(ImuSeries(t, np.full((count, 3), float(block)), np.zeros((count, 3))))
    span = source.span()
    assert span.stop_ns == t[-1] + 1
    assert (span.stop_ns - 1 - span.start_ns) // MS == KEPT - 1
    kept = source.series_within(span)
    assert len(kept) == KEPT
    np.testing.assert_array_equal(kept.angular_velocity[:, 0], kept.t_ns // (count * MS))


def test_a_topic_of_other_messages_is_refused():
    with (
        Topic(Pose3D, name=f"view_{uuid4().hex[:8]}", backend="local") as handle,
        pytest.raises(TypeError, match="expected a topic of Imu, got Pose3D"),
    ):
        LiveSource(handle)
