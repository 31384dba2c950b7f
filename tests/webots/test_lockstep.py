"""Several controllers on one world."""

from __future__ import annotations

import pytest

from strapdown.errors import DeviceError
from strapdown.webots.run import lockstep as module
from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.world.world import World

SOURCE = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 10 }
Robot { name "one" children [ GPS { } ] }
Robot { name "two" children [ GPS { } ] }
"""


@pytest.fixture
def world():
    return World(SOURCE)


def answered(lockstep):
    return {port.robot.name: answer for port, answer in lockstep.ready()}


def test_time_goes_on_when_all_wait_and_each_is_answered_at_its_time(world):
    lockstep = Lockstep(world, ["one", "two"])
    one, two = world.port("one"), world.port("two")
    assert lockstep.ready() == []
    assert lockstep.submit(one, 30, [(1, "period", (10,))]) == 3
    assert lockstep.ready() == []
    assert world.step_count == 0
    lockstep.submit(two, 10, ())
    assert list(answered(lockstep)) == ["two"]
    assert world.step_count == 1
    assert lockstep.ready() == []
    lockstep.submit(two, 25, ())
    answers = answered(lockstep)
    assert list(answers) == ["one"]
    assert [sample[1] for sample in answers["one"].samples] == [0.03]
    lockstep.submit(one, 5, ())
    assert list(answered(lockstep)) == ["two", "one"]
    assert world.step_count == 4


def test_requests_take_effect_when_they_are_submitted(world):
    lockstep = Lockstep(world, ["one", "two"])
    one, two = world.port("one"), world.port("two")
    lockstep.submit(one, 10, [(1, "period", (10,))])
    lockstep.submit(two, 10, [(1, "period", (10,))])
    answers = answered(lockstep)
    assert {name: len(answer.samples) for name, answer in answers.items()} == {"one": 1, "two": 1}


def test_a_step_of_no_time_is_answered_while_others_run(world):
    lockstep = Lockstep(world, ["one", "two"])
    lockstep.submit(world.port("one"), 0, ())
    assert answered(lockstep)["one"].delay == 0
    assert world.step_count == 0


def test_who_was_dropped_is_not_awaited_until_it_submits_again(world):
    lockstep = Lockstep(world, ["one", "two"])
    one, two = world.port("one"), world.port("two")
    lockstep.submit(one, 10, ())
    lockstep.submit(two, 20, [(1, "period", (10,))])
    lockstep.drop(two)
    assert list(answered(lockstep)) == ["one"]
    lockstep.submit(one, 10, ())
    assert list(answered(lockstep)) == ["one"]
    assert two.configure().time_s == 0.02
    assert two.exchange(0, ()).samples == []
    lockstep.submit(two, 10, ())
    lockstep.submit(one, 10, ())
    assert list(answered(lockstep)) == ["two", "one"]


def test_who_asks_for_something_wrong_is_not_taken_to_wait(world):
    lockstep = Lockstep(world, ["one"])
    with pytest.raises(DeviceError, match="tag"):
        lockstep.submit(world.port("one"), 10, [(9, "period", (10,))])
    assert lockstep.ready() == []
    lockstep.submit(world.port("one"), 10, ())
    assert list(answered(lockstep)) == ["one"]


def test_a_robot_that_nobody_awaits_may_join(world):
    lockstep = Lockstep(world, ["one"])
    lockstep.submit(world.port("one"), 10, ())
    assert list(answered(lockstep)) == ["one"]
    lockstep.submit(world.port("two"), 10, ())
    assert lockstep.ready() == []
    lockstep.submit(world.port("one"), 10, ())
    assert sorted(answered(lockstep)) == ["one", "two"]


def test_the_end_answers_all_with_minus_one():
    world = World(SOURCE, duration_s=0.02)
    lockstep = Lockstep(world, ["one", "two"])
    lockstep.submit(world.port("one"), 30, ())
    lockstep.submit(world.port("two"), 500, ())
    assert {name: answer.delay for name, answer in answered(lockstep).items()} == {
        "one": -1,
        "two": -1,
    }
    assert world.step_count == 2


def test_quitting_answers_who_waits_though_another_runs(world):
    lockstep = Lockstep(world, ["one", "two"])
    lockstep.submit(world.port("one"), 10, ())
    world.quit()
    assert answered(lockstep)["one"].delay == -1
    lockstep.submit(world.port("two"), 10, ())
    assert answered(lockstep)["two"].delay == -1


def test_who_waits_over_a_reset_waits_for_the_rest_of_its_time(world):
    lockstep = Lockstep(world, ["one", "two"])
    lockstep.submit(world.port("one"), 50, ())
    lockstep.submit(world.port("two"), 20, ())
    assert list(answered(lockstep)) == ["two"]
    world.reset()
    lockstep.submit(world.port("two"), 30, ())
    answers = answered(lockstep)
    assert sorted(answers) == ["one", "two"]
    assert world.step_count == 3
    assert {answer.time_s for answer in answers.values()} == {0.03}


class Clock:
    """Wall clock that advances only by sleeping."""

    def __init__(self, monkeypatch):
        self.now_s = 100.0
        monkeypatch.setattr(module, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(module, "sleep", self.pass_by)

    def pass_by(self, seconds):
        assert 0.0 < seconds <= module.NAP_S
        self.now_s += seconds


def step(lockstep, port, ms):
    lockstep.submit(port, ms, ())
    while not lockstep.ready():
        pass


@pytest.mark.parametrize(("realtime", "took_s"), [(True, 1.4), (2.0, 0.7), (False, 0.0)])
def test_real_time_is_not_outrun(monkeypatch, realtime, took_s):
    clock = Clock(monkeypatch)
    world = World(SOURCE)
    lockstep = Lockstep(world, ["one"], realtime=realtime)
    for _ in range(20):
        step(lockstep, world.port("one"), 20)
    step(lockstep, world.port("one"), 1000)
    assert clock.now_s - 100.0 == pytest.approx(took_s)


def test_a_short_delay_is_caught_up_and_a_long_one_is_not(monkeypatch):
    clock = Clock(monkeypatch)
    world = World(SOURCE)
    lockstep = Lockstep(world, ["one"], realtime=True)
    port = world.port("one")
    step(lockstep, port, 20)
    clock.now_s += 0.05
    for _ in range(5):
        step(lockstep, port, 20)
    assert clock.now_s - 100.0 == pytest.approx(0.12)
    clock.now_s += 10.0
    for _ in range(50):
        step(lockstep, port, 20)
    assert clock.now_s - 110.12 == pytest.approx(49 * 0.02 - module.LAG_S)
