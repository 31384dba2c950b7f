"""A recording that is read while it is shown: it draws what the whole in memory draws."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from threading import Event

import numpy as np
import pytest

from strapdown import formats
from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.estimation import FILTERS
from strapdown.formats import ReadReport, Recording
from strapdown.formats import long_files as entry
from strapdown.formats.mcap.scan import McapScan
from strapdown.series import ImuSeries, Trajectory
from strapdown.simulation import simulate
from strapdown.viewer import LongRecordingSource, RecordingSource, ViewModel
from strapdown.viewer.bodies import in_scene
from strapdown.viewer.quantities import Frames

SECOND = 1_000_000_000


class Blocks:
    """Parts of a recording, each after a permission."""

    report = ReadReport("test", lost_messages=3)
    progress = 0.2

    def __init__(self, recording, count, permission=None):
        first, last = recording.span_ns
        edges = np.linspace(first, last + 1, count + 1).astype(np.int64)
        self._parts = [recording.between_ns(int(a), int(b)) for a, b in pairwise(edges)]
        self._permission = permission

    def __iter__(self):
        for number, part in enumerate(self._parts):
            if number and self._permission is not None:
                assert self._permission.wait(20.0)
            yield part


class Given:
    """Given blocks."""

    report = ReadReport("test")
    progress = 1.0

    def __init__(self, *parts):
        self._parts = parts

    def __iter__(self):
        return iter(self._parts)


def opened(recording, count=5, permission=None, **options):
    return shown_of(Blocks(recording, count, permission), **options)


def shown_of(blocks, **options):
    return LongRecordingSource(lambda: nullcontext(blocks), name="run", **options)


@pytest.fixture(scope="module")
def recording():
    run = simulate("wander", "MPU-6050", 40.0, seed=3)
    series = run.samples.series(stamps="true")
    field = np.full((len(series), 3), np.nan)
    field[::10] = [20e-6, 0.0, -40e-6]
    clipped = np.zeros(len(series), np.uint8)
    clipped[100:105] = 2
    series = series.replace(magnetic_field=field, accel_clipping=clipped)
    keep = np.r_[0:2000, 2500 : len(series)]
    return Recording(imu={"imu": series[keep]}, trajectories={"truth": run.truth})


@pytest.fixture(scope="module")
def both(recording):
    whole = RecordingSource(recording, estimator=FILTERS["vqf"], name="run")
    parts = opened(recording, estimator=FILTERS["vqf"]())
    parts.wait()
    return whole, parts


@pytest.mark.parametrize("frames", [None, Frames("NED", "FRD")])
@pytest.mark.parametrize("window_s", [None, (3.0, 30.0), (12.0, 12.4)])
@pytest.mark.parametrize("bins", [20, 500])
def test_the_lines_are_those_of_the_whole_in_memory(both, frames, window_s, bins):
    drawn = []
    for source in both:
        model = ViewModel([source], frames=frames)
        if window_s is not None:
            model.zoom(*window_s)
        drawn.append(model.panels(0, bins))
    assert [each[:3] for each in drawn[0]] == [each[:3] for each in drawn[1]]
    assert len(drawn[0]) == 8
    for one, other in zip(*drawn, strict=True):
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(line.points, same.points, rtol=0, atol=1e-9)


def test_values_poses_health_and_events_are_those_of_the_whole(both):
    whole, parts = both
    for source in both:
        source.detect()
    assert len(whole.events()) > 0
    np.testing.assert_array_equal(whole.events().t_start_ns, parts.events().t_start_ns)
    assert list(whole.health()) == list(parts.health())
    assert parts.report.lost_messages == 3
    models = [ViewModel([source]) for source in both]
    for time_s in (0.0, 7.0, 39.0):
        found = []
        for model in models:
            model.seek(time_s)
            found.append((model.values(0), model.bodies(0), model.arrows(0)))
        for (name, *_, one), (other, *_, same) in zip(found[0][0], found[1][0], strict=True):
            assert name == other
            np.testing.assert_allclose(one, same, atol=1e-9)
        for one, same in zip(found[0][1], found[1][1], strict=True):
            np.testing.assert_allclose(one.R_scene_from_body, same.R_scene_from_body, atol=1e-12)
            np.testing.assert_array_equal(one.position_scene, same.position_scene)
        for name, arrow in found[0][2].items():
            np.testing.assert_allclose(arrow, found[1][2][name], atol=1e-12)
    np.testing.assert_array_equal(whole.trail(), parts.trail())
    span = models[0].span_of(0)
    one, same = whole.series_within(span), parts.series_within(span)
    for name in ("t_ns", "specific_force", "magnetic_field", "accel_clipping"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))


def test_the_page_grows_while_the_recording_is_read(recording):
    permission = Event()
    source = opened(recording, permission=permission)
    model = ViewModel([source])
    assert source.is_loading
    loading = source.health()[0]
    assert loading.name == "loading"
    assert loading.value.startswith("20%, ")
    assert model.extent_s[1] == pytest.approx(8.0, abs=0.1)
    assert len(model.panels(0)) > 0
    permission.set()
    source.wait()
    model.refresh()
    assert not source.is_loading
    assert model.extent_s[1] == pytest.approx(40.0, abs=0.1)
    assert model.window_s == model.extent_s


def test_a_peak_of_one_sample_is_visible_in_the_extremes_of_many_blocks():
    count, peak = 400_000, 123_457
    t = np.arange(count) * 1_000_000
    force = np.zeros((count, 3))
    force[peak] = [7.0, 0.0, 0.0]
    source = opened(Recording(imu={"imu": ImuSeries(t, np.zeros((count, 3)), force)}), 7)
    source.wait()
    for width in (count, 50_000, 500):
        model = ViewModel([source])
        model.zoom((peak - width // 2) / 1e3, (peak + width // 2) / 1e3)
        panel = {each.name: each for each in model.panels(0)}["specific force"]
        assert np.nanmax(panel.lines[0].points[:, 1]) == 7.0


def test_samples_that_go_back_between_blocks_are_counted_and_left_out():
    series = ImuSeries(np.arange(100) * 10_000_000, np.zeros((100, 3)), np.ones((100, 3)))
    parts = [Recording(imu={"imu": each}) for each in (series[:60], series[50:])]

    source = shown_of(Given(*parts))
    source.wait()
    figures = {each.name: each.value for each in source.health()}
    assert figures["samples"] == "100"
    assert figures["out of order"] == "10"


COLUMNS = {
    "gyro_clipping": 3,
    "accel_clipping": 2,
    "magnetic_field": [20e-6, 0.0, -40e-6],
}


@pytest.mark.parametrize("there", [(1,), (0, 2), (0,)])
def test_a_column_that_some_blocks_lack_is_shown_at_the_times_of_its_samples(there):
    t_ns = np.arange(300) * 10_000_000
    vectors = np.random.default_rng(5).standard_normal((2, 300, 3))
    marked = np.isin(t_ns // SECOND, there)
    values = {name: np.zeros((300, *np.shape(value))) for name, value in COLUMNS.items()}
    for name, value in COLUMNS.items():
        values[name][marked] = value
    values["magnetic_field"][~marked] = np.nan
    bits = {name: values[name].astype(np.uint8) for name in ("gyro_clipping", "accel_clipping")}
    whole = ImuSeries(t_ns, *vectors, magnetic_field=values["magnetic_field"], **bits)
    q = np.tile([0.0, 0.0, 0.0, 1.0], (300, 1))
    place = np.where(marked[:, None], np.arange(300.0)[:, None] + [0.0, 1.0, 2.0], np.nan)
    truth = Trajectory(t_ns, q, position_world=place)
    blocks = []
    for second in range(3):
        rows = slice(100 * second, 100 * second + 100)
        imu, track = whole[rows], truth[rows]
        if second not in there:
            imu = imu.replace(**dict.fromkeys(COLUMNS))
            track = track.replace(position_world=None)
        blocks.append(Recording(imu={"imu": imu}, trajectories={"truth": track}))
    source = shown_of(Given(*blocks))
    source.wait()
    shown = source.series_within(source.span())
    for name in ("t_ns", "angular_velocity", "specific_force", *COLUMNS):
        np.testing.assert_array_equal(getattr(shown, name), getattr(whole, name))
    field = {each.name: each for each in source.signals(source.span())}["magnetic field"]
    np.testing.assert_array_equal(field.t_ns, t_ns[marked])
    for second in range(3):
        pose = source.body(second * SECOND + 370_000_000)
        np.testing.assert_array_equal(pose.position_world, place[100 * second + 37])
        assert (in_scene(pose).position_scene is not None) == (second in there)
    assert len(source.trail()) == 100 * len(there)


def test_an_estimate_that_begins_after_the_reference_is_drawn_as_in_memory(recording):
    late = recording.imu["imu"][3000:]
    whole = replace(recording, imu={"imu": late})
    truth = recording.trajectories["truth"]
    begin_ns = int(late.t_ns[0])
    first = Recording(trajectories={"truth": truth[truth.t_ns < begin_ns]})
    second = Recording(imu={"imu": late}, trajectories={"truth": truth[truth.t_ns >= begin_ns]})
    parts = shown_of(Given(first, second), estimator=FILTERS["vqf"]())
    parts.wait()
    in_memory = RecordingSource(whole, estimator=FILTERS["vqf"], name="run")
    drawn = [ViewModel([source]).panels(0, 5) for source in (in_memory, parts)]
    assert [each.name for each in drawn[0]] == [each.name for each in drawn[1]]
    for one, other in zip(*drawn, strict=True):
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(line.points, same.points, rtol=0, atol=1e-9)


def test_what_cannot_be_read_raises_at_once_and_later_is_shown(recording):
    with pytest.raises(UnknownNameError, match="nothing"):
        opened(recording, topic="nothing")

    @contextmanager
    def broken():
        yield Damaged()

    class Damaged:
        progress = 0.5

        def __iter__(self):
            yield recording
            raise FormatError("damaged at offset 7")

    source = LongRecordingSource(broken, name="run")
    source.wait()
    assert any("offset 7" in each.value and not each.is_good for each in source.health())
    assert source.report.losses() == ["run: damaged at offset 7"]


def test_a_span_that_memory_should_not_hold_is_refused(recording, monkeypatch):
    monkeypatch.setattr("strapdown.viewer.long_recording._MOST", 1000)
    source = opened(recording)
    source.wait()
    with pytest.raises(ValueRangeError, match="zoom in"):
        source.series_within(source.span())
    with pytest.raises(ValueRangeError, match="calibrate"):
        source.apply(None)


def test_messages_are_shown_from_blocks(tmp_path, monkeypatch):
    vectors = np.random.default_rng(1).standard_normal((2, 5000, 3))
    series = ImuSeries(np.arange(5000) * 1_000_000, *vectors)
    formats.write(tmp_path / "a.mcap", series)
    monkeypatch.setattr(entry, "_BLOCKWISE", 0)
    monkeypatch.setattr(McapScan, "batch_bytes", 100_000)
    opening = partial(formats.open_blocks, tmp_path / "a.mcap")
    source = LongRecordingSource(opening, name="run")
    source.wait()
    shown = source.series_within(source.span())
    assert shown == series
    assert source.report.messages == 5000
