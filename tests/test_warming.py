"""Machine code beforehand, and plain Python until it is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import strapdown
from strapdown._kernels.compilation import announce_compiling, compiling_first
from strapdown.detection import Voter
from strapdown.detection.voting.voter import _VOTE
from strapdown.errors import UnknownNameError
from strapdown.estimation import MahonyFilter, StrapdownNavigator
from strapdown.estimation.navigation import Aiding
from strapdown.estimation.navigation import execution as navigation
from strapdown.inertial import WindowRule, integrate
from strapdown.samples import ImuSample, execution
from strapdown.series import ImuSeries
from strapdown.warming import parts

pytestmark = pytest.mark.xdist_group("warming")  # they share what one of them compiled


def series(count):
    random = np.random.default_rng(3)
    return ImuSeries(
        np.arange(count) * 10_000_000,
        random.normal(size=(count, 3)),
        random.normal((0.0, 0.0, 9.81), size=(count, 3)),
        magnetic_field=random.normal((0.0, 2.0, -4.0), size=(count, 3)),
    )


def samples(count):
    data = series(count)
    vectors = data.angular_velocity, data.specific_force, data.magnetic_field
    return [ImuSample(*row) for row in zip(data.t_ns.tolist(), *vectors, strict=True)]


def in_a_process_of_its_own(program, folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.split()


SHORT = """
import sys
import numpy as np
from strapdown import ImuSeries
from strapdown.estimation import FILTERS
from strapdown.samples import ImuSample
from strapdown.simulation import simulate
simulate("wander", "BMI270", 1.0)
count = 300
force = np.tile([0.0, 0.0, 9.81], (count, 1))
series = ImuSeries(np.arange(count) * 10_000_000, 0.0 * force, force)
for make in FILTERS.values():
    made = make()
    made.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)))
    made.run(series)
print("numba" in sys.modules)
"""


def test_short_simulations_recordings_and_streams_do_not_even_import_the_compiler(tmp_path):
    assert in_a_process_of_its_own(SHORT, tmp_path) == ["False"]


WARM = """
import strapdown
from strapdown.detection import FreeFallDetector
took = strapdown.warm_up(["free_fall detector"])
print(*took, FreeFallDetector.program().machine.loaded is not None)
"""
FOUND = """
from strapdown._kernels.compilation import announce_compiling
from strapdown.detection import FreeFallDetector
with announce_compiling(print):
    print(FreeFallDetector.program().machine.load() is not None)
    FreeFallDetector(compiled=True)
"""


USED = """
import sys
import numpy as np
from strapdown import ImuSeries
from strapdown.detection import FreeFallDetector
count = 1000
force = np.tile([0.0, 0.0, 9.81], (count, 1))
FreeFallDetector().run(ImuSeries(np.arange(count) * 10_000_000, 0.0 * force, force))
print("numba" in sys.modules, FreeFallDetector.program().machine.loaded is not None)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """What a process compiled, and what it said."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, in_a_process_of_its_own(FOUND, folder)


@pytest.fixture
def cache(filled, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(filled[0], tmp_path / "cache"))


def test_what_was_compiled_beforehand_is_found_by_another_process(filled, cache):
    assert filled[1] == ["False", "free_fall"]
    assert in_a_process_of_its_own(FOUND, cache) == ["True"]
    assert in_a_process_of_its_own(WARM, cache) == ["free_fall", "detector", "True"]


def test_what_was_compiled_beforehand_runs_without_the_compiler(cache, tmp_path):
    assert in_a_process_of_its_own(USED, tmp_path / "empty") == ["False", "False"]
    assert in_a_process_of_its_own(USED, cache) == ["False", "True"]


@pytest.mark.slow
def test_machine_code_that_was_damaged_is_made_again(cache):
    (file,) = cache.glob("*.o")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:200] + b"?" + whole[201:]):
        file.write_bytes(damaged)
        assert in_a_process_of_its_own(USED, cache) == ["False", "False"]
    assert in_a_process_of_its_own(FOUND, cache) == ["False", "free_fall"]
    assert file.read_bytes() == whole


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("no folder")
    assert in_a_process_of_its_own(WARM, nowhere) == ["free_fall", "detector", "True"]


def test_an_unknown_part_is_refused():
    with pytest.raises(UnknownNameError, match="eskf"):
        strapdown.warm_up(["eskff"])
    assert {"mahony", "eskf smoother", "foot navigator", "fall detector"} <= parts().keys()
    assert "stillness detector" in parts()


def test_a_long_recording_says_that_it_compiles_and_gives_the_same_bits(monkeypatch):
    data, told = series(400), []
    plain = MahonyFilter(compiled=False).run(data)
    machine = MahonyFilter.program().machine
    monkeypatch.setattr(machine, "_loaded", None)
    monkeypatch.setattr(machine, "load", lambda: None)
    with announce_compiling(told.append), compiling_first():
        compiled = MahonyFilter().run(data)
    assert told == ["mahony"]
    assert compiled.q_world_from_body.tobytes() == plain.q_world_from_body.tobytes()
    assert compiled.orientation_covariance.tobytes() == plain.orientation_covariance.tobytes()


def test_a_stream_changes_over_to_machine_code_without_a_trace(monkeypatch):
    monkeypatch.setattr(execution, "UPDATES_BEFORE_LOADING", 5)
    machine = MahonyFilter.program().machine
    code = machine.compile()
    monkeypatch.setattr(machine, "_loaded", None)
    monkeypatch.setattr(machine, "load", lambda: monkeypatch.setattr(machine, "_loaded", code))
    changing, plain = MahonyFilter(), MahonyFilter(compiled=False)
    for sample in samples(60):
        assert changing.update(sample).tobytes() == plain.update(sample).tobytes()
    assert machine.loaded is code
    assert changing.state == plain.state
    assert changing.report == plain.report


def test_programs_of_which_only_one_has_machine_code_share_their_memory(monkeypatch):
    navigation._SAMPLES.machine.compile()
    machine = navigation._INCREMENTS.machine
    monkeypatch.setattr(machine, "_loaded", None)
    monkeypatch.setattr(machine, "load", lambda: None)
    mixed, plain = StrapdownNavigator(), StrapdownNavigator(compiled=False)
    first, second, third = (series(300)[100 * k : 100 * k + 100] for k in range(3))
    for data in (first, integrate(second, window=WindowRule(1)).increments, third):
        aiding = [Aiding.zero_velocity(t_ns, 1.0) for t_ns in data.t_ns[5::7].tolist()]
        runs = [each.run(data, aiding=aiding, smooth=True) for each in (mixed, plain)]
        assert runs[0].aiding == runs[1].aiding
        assert runs[0].covariance.tobytes() == runs[1].covariance.tobytes()
        assert mixed.state == plain.state
    assert machine.loaded is None
    assert mixed.report == plain.report


def test_aiding_of_a_stream_is_the_same_in_both_executions():
    machine, plain = StrapdownNavigator(compiled=True), StrapdownNavigator(compiled=False)
    for i, sample in enumerate(samples(60)):
        for navigator in (machine, plain):
            navigator.update(sample)
            if i % 7 == 6:
                navigator.aid_zero_velocity(t_ns=sample.t_ns - 15_000_000)
        assert machine.state == plain.state
    assert machine.report == plain.report


def test_a_voter_changes_over_to_machine_code_without_a_trace(monkeypatch):
    code = _VOTE.machine.compile()
    monkeypatch.setattr(_VOTE.machine, "_loaded", None)
    changing, plain, kinds = Voter(2), Voter(2), set()
    for i, sample in enumerate(samples(120)):
        stuck = ImuSample(sample.t_ns, (0.0, 0.0, 0.0), sample.specific_force)
        vote = plain.update([stuck, sample])
        kinds |= {event.kind for event in vote.events}
        assert plain.update([stuck, sample]).events == (), "nothing is new"
        with monkeypatch.context() as patch:
            patch.setattr(_VOTE.machine, "_loaded", code if i >= 5 else None)
            assert str(changing.update([stuck, sample])) == str(vote)
            assert changing.update([stuck, sample]).events == ()
    assert kinds == {"suspect", "selected", "failed"}
    assert changing.state == plain.state
    assert changing.gyro_states == plain.gyro_states
