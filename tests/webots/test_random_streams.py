"""Random streams against the numbers of Marsaglia's recipe, and against their addresses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.sensors.noise import DEVICE, NoiseKey, Process, normals, sensor_number
from strapdown.webots.devices.random_streams import DeviceStream, MarsagliaStream, chosen_seed

MARSAGLIA = {
    0: (
        (545718272, 2010316800, 3890479104, 2686124032, 1575092224, 4228055040),
        (0.12705993669710125, 0.46806335450705916, 0.905822753717274, 0.625411987246288),
        (
            -1.0722486457310145,
            0.7716707096747687,
            -1.0410355800804416,
            0.3429357188987568,
            -1.7797925328713822,
            -0.12809570988531818,
        ),
    ),
    1: (
        (545736272, 2334316800, 595452751, 3733577289, 2599398206, 722187373),
        (0.12706412764868508, 0.5435004830157848, 0.1386396474490689, 0.869291203157375),
        (-1.0632021251877102, 0.36370264475002834, -0.21597280257172985, 0.4358312570541803),
    ),
    42: (
        (546474272, 2642188811, 305351449, 3032184863, 2128615504, 45128190),
        (0.1272359566636216, 0.6151825214665464, 0.07109517461103612, 0.705985553233891),
        (-0.9517272102156419, -0.401525715349801, -0.0026132699883489505, -0.21708759543207742),
    ),
}


@pytest.mark.parametrize("seed", MARSAGLIA)
def test_the_stream_of_webots_gives_its_numbers(seed):
    integers, uniforms, normals = MARSAGLIA[seed]
    stream = MarsagliaStream(seed)
    assert tuple(stream.integer() for _ in integers) == integers
    stream.reseed(seed)
    assert tuple(stream.uniform() for _ in uniforms) == uniforms
    stream.reseed(seed)
    assert [stream.gaussian() for _ in normals] == pytest.approx(normals, rel=1e-15, abs=0)


def test_a_seed_counts_modulo_two_to_the_32():
    assert MarsagliaStream(2**32 + 42).integer() == MarsagliaStream(42).integer()


def test_a_radius_of_zero_is_drawn_again(monkeypatch):
    halves = iter([0.5, 0.5, 0.75, 0.5])
    monkeypatch.setattr(MarsagliaStream, "uniform", lambda _: next(halves))
    # v = 0.5 with square 0.25: sqrt(-8 ln 0.25) / 2
    assert MarsagliaStream(0).gaussian() == pytest.approx(1.6651092223153954, rel=1e-15)


def test_minus_one_takes_the_clock_and_any_other_seed_stays(monkeypatch):
    monkeypatch.setattr("time.time_ns", lambda: 5_000_000_000)
    monkeypatch.setattr("os.getpid", lambda: 17)
    assert chosen_seed(-1) == 5017
    assert MarsagliaStream(-1).integer() == MarsagliaStream(5017).integer()
    assert [chosen_seed(seed) for seed in (0, 7)] == [0, 7]


def test_a_device_has_normal_numbers_of_its_own():
    stream = DeviceStream(1, "robot", "gyro")
    x = np.array([stream.gaussian() for _ in range(10_000)])
    assert abs(x.mean()) < 4 / 100
    assert abs(x.std() - 1.0) < 4 / np.sqrt(20_000)
    assert abs(np.mean(x[1:] * x[:-1])) < 4 / 100


@given(
    first=st.tuples(st.integers(0, 2**64 - 1), st.text(max_size=5), st.text(max_size=5)),
    second=st.tuples(st.integers(0, 2**64 - 1), st.text(max_size=5), st.text(max_size=5)),
    draws=st.integers(0, 5),
)
def test_streams_are_the_same_only_for_the_same_seed_robot_and_device(first, second, draws):
    one, other = DeviceStream(*first), DeviceStream(*second)
    for _ in range(draws):
        one.gaussian()
    one.reset()
    same = [one.gaussian() for _ in range(4)] == [other.gaussian() for _ in range(4)]
    assert same == (first == second)


def test_the_numbers_do_not_depend_on_how_they_are_blocked():
    stream = DeviceStream(3, "robot", "compass")
    run = [stream.gaussian() for _ in range(5000)]
    stream.reset()
    assert [stream.gaussian() for _ in range(5000)] == run
    key = NoiseKey(3, sensor_number("5 robot compass"))
    for i in (0, 1, 2047, 2048, 4999):
        assert normals(key, DEVICE, Process.WHITE, i, 1).tolist() == [run[i]]


def test_devices_do_not_influence_each_other_and_in_webots_they_do():
    alone = DeviceStream(9, "robot", "a")
    expected = [alone.gaussian() for _ in range(6)]
    a, b = DeviceStream(9, "robot", "a"), DeviceStream(9, "robot", "b")
    assert [pair[0] for pair in ((a.gaussian(), b.gaussian()) for _ in range(6))] == expected

    alone = MarsagliaStream(9)
    total = [alone.gaussian() for _ in range(12)]
    shared = MarsagliaStream(9)
    turns = itertools.cycle("ab")
    parts = {"a": [], "b": []}
    for _ in range(12):
        parts[next(turns)].append(shared.gaussian())
    assert parts == {"a": total[::2], "b": total[1::2]}
