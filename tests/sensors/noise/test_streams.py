"""Streams of normal and uniform numbers: bits, addresses and distribution."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from strapdown._kernels.compilation import compiled
from strapdown.errors import ValueRangeError
from strapdown.sensors.noise import (
    ACCEL,
    GYRO,
    NoiseKey,
    Process,
    generator,
    monte_carlo_seed,
    normals,
    philox4x32,
    seed_or_drawn,
    sensor_number,
    uniforms,
)

KEY = NoiseKey(0x0123456789ABCDEF, 7)
MARKED = [0, 1, 511, 512, 1024, 1536, 2047]
GOLDEN = [
    (
        (NoiseKey(0, 0), 0, 0, 0),
        "3f7dbb33 be1d535e 3fa21c4c bf6cb6b2 bf1e1ba0 bef6d1b3 3fe00e23",
        0x36CE5CD2,
    ),
    (
        (NoiseKey(0x123456789ABCDEF0, 7), 3, 2, 5 * 2048),
        "3eb82b3c bfa12c22 bf5937fb bfc7f926 be7adb1d bf8e6325 bf1f135b",
        0xDEFBAFD7,
    ),
]


@pytest.mark.parametrize("machine_code", [False, True])
@pytest.mark.parametrize(("address", "bits", "checksum"), GOLDEN)
def test_a_block_has_the_frozen_bits(address, bits, checksum, machine_code):
    block = normals(*address, 2048, compiled=machine_code)
    assert block.dtype == np.float32
    assert [f"{word:08x}" for word in block.view(np.uint32)[MARKED]] == bits.split()
    assert zlib.crc32(block.astype("<f4").tobytes()) == checksum


def test_both_executions_give_the_same_bits_over_many_blocks():
    far = 2048 * (2**32 // 512 - 50)  # the counter's low word overflows on the way
    for start in (0, far):
        reference = normals(KEY, GYRO, Process.WHITE, start, 100 * 2048)
        machine = normals(KEY, GYRO, Process.WHITE, start, 100 * 2048, compiled=True)
        np.testing.assert_array_equal(reference.view(np.uint32), machine.view(np.uint32))


@pytest.fixture(scope="module")
def long_stream():
    return normals(KEY, ACCEL, Process.FLICKER, 0, 6 * 2048, compiled=True)


@settings(max_examples=200)
@given(
    start=st.integers(0, 3 * 2048),
    count=st.one_of(st.integers(0, 3 * 2048), st.integers(500, 520), st.integers(0, 3)),
    machine_code=st.booleans(),
)
def test_any_range_has_the_bits_of_the_whole(long_stream, start, count, machine_code):
    part = normals(KEY, ACCEL, Process.FLICKER, start, count, compiled=machine_code)
    np.testing.assert_array_equal(
        part.view(np.uint32), long_stream[start : start + count].view(np.uint32)
    )


@given(start=st.integers(0, 10**12), count=st.integers(1, 5000))
def test_a_range_takes_no_more_lanes_than_it_has_numbers(start, count):
    done = start
    while done < start + count:
        end = generator.piece_end(done, start + count)
        assert done < end <= start + count
        assert done // 2048 == (end - 1) // 2048
        assert end - done >= 512 or done // 512 == (end - 1) // 512
        done = end


@pytest.mark.parametrize("machine_code", [False, True])
def test_many_streams_at_once_are_the_streams_one_by_one(machine_code):
    together = normals(KEY, np.arange(2)[:, None], np.arange(3), 500, 600, compiled=machine_code)
    assert together.shape == (2, 3, 600)
    for channel, process in np.ndindex(2, 3):
        alone = normals(KEY, channel, process, 500, 600)
        np.testing.assert_array_equal(together[channel, process], alone)


def test_the_reference_loads_no_compiler():
    code = (
        "import sys; from strapdown.sensors.noise import NoiseKey, normals, flicker_terms; "
        "normals(NoiseKey(1, 2), 0, 0, 0, 10); flicker_terms((1.0, 1000.0)); "
        "print([name for name in ('numba', 'scipy') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert answer.stdout.split() == [b"[]"]


def test_the_radius_is_right_for_every_input():
    worst, worst_at_one, largest, zeros = 0.0, 0.0, 0.0, 0
    for first in range(0, 2**24, 2**20):
        codes = np.arange(first, first + 2**20, dtype=np.uint32)
        x, e = generator.split(codes << np.uint32(8))
        radius = generator.radius(x, e, generator.log_series(x))
        assert np.isfinite(radius).all()
        error = np.abs(radius - np.sqrt(-2.0 * np.log((codes + 0.5) / 2**24)))
        at_one = codes >= 2**24 - 16
        worst = max(worst, error[~at_one].max())
        worst_at_one = max(worst_at_one, error[at_one].max(initial=0.0))
        largest = max(largest, radius.max())
        zeros += np.count_nonzero(radius == 0.0)
    assert worst <= 2.2e-5
    assert worst_at_one <= 2.5e-4
    assert largest == pytest.approx(5.88705, abs=5e-6)
    assert zeros == 1


def test_the_direction_is_right_all_around():
    eighths = np.arange(8, dtype=np.uint64) << np.uint64(29)
    edges = (eighths[:, None] + np.arange(-3, 4).astype(np.uint64)).astype(np.uint32).ravel()
    words = np.append(edges, np.arange(0, 2**32, 4099, dtype=np.uint64).astype(np.uint32))
    cosine, sine = generator.direction(words)
    angle = words * (math.pi / 2**31)
    assert np.abs(cosine - np.cos(angle)).max() <= 1.2e-7
    assert np.abs(sine - np.sin(angle)).max() <= 1.2e-7


def test_a_hundred_million_normals_have_the_moments_of_a_normal():
    count, chunk = 10**8, 10**6
    sums = np.zeros(4)
    fill, scratch = compiled(generator.fill_normals), generator.scratch()
    part, powers = np.empty(chunk, np.float32), np.empty((4, chunk))
    for first in range(0, count, chunk):
        fill(1, 2, 3, 4, first, part, *scratch)
        powers[0] = part
        np.multiply(powers[0], powers[0], out=powers[1])
        np.multiply(powers[0], powers[1], out=powers[2])
        np.multiply(powers[1], powers[1], out=powers[3])
        sums += powers.sum(axis=1)
    mean, second, third, fourth = sums / count
    # Variances of x, x^2, x^3, x^4 are 1, 2, 15, 96.
    assert abs(mean) < 4.0 * math.sqrt(1.0 / count)
    assert abs(second - 1.0) < 4.0 * math.sqrt(2.0 / count)
    assert abs(third) < 4.0 * math.sqrt(15.0 / count)
    assert abs(fourth - 3.0) < 4.0 * math.sqrt(96.0 / count)


def test_normals_cannot_be_told_from_a_normal_distribution_nor_from_those_of_numpy():
    sample = normals(KEY, GYRO, Process.WHITE, 0, 400_000, compiled=True).astype(float)
    assert stats.kstest(sample, "norm").pvalue > 1e-3
    peer = np.random.Generator(np.random.PCG64(5)).standard_normal(400_000)
    assert stats.ks_2samp(sample, peer).pvalue > 1e-3


def test_each_slot_of_the_blocks_is_normal():
    sample = normals(KEY, GYRO, Process.WHITE, 0, 100 * 2048).reshape(100, 4, 512)
    for slot in range(4):
        assert stats.kstest(sample[:, slot].ravel(), "norm").pvalue > 1e-3


def test_streams_do_not_know_of_each_other():
    count = 2**18
    addresses = [
        (NoiseKey(1, 0), 0, 0),
        (NoiseKey(1, 0), 1, 0),
        (NoiseKey(1, 0), 3, 0),
        (NoiseKey(1, 0), 0, 1),
        (NoiseKey(1, 0), 0, 32),
        (NoiseKey(1, 1), 0, 0),
        (NoiseKey(2, 0), 0, 0),
        (NoiseKey(1 + 2**32, 0), 0, 0),
        (NoiseKey(monte_carlo_seed(1, 0), 0), 0, 0),
        (NoiseKey(monte_carlo_seed(1, 1), 0), 0, 0),
    ]
    streams = [normals(*address, 0, count, compiled=True) for address in addresses]
    for (i, a), (j, b) in itertools.combinations(enumerate(streams), 2):
        for power in (1, 2):
            correlation = np.corrcoef(a**power, b**power)[0, 1]
            assert abs(correlation) < 4.0 / math.sqrt(count), (addresses[i], addresses[j])


@pytest.mark.parametrize("lag", [1, 2, 511, 512, 513, 1024, 1536, 2048, 4096])
def test_a_stream_does_not_know_of_itself_later(lag):
    count = 2**18
    stream = normals(KEY, GYRO, Process.WHITE, 0, count + lag, compiled=True).astype(float)
    for power in (1, 2):
        values = stream**power
        assert abs(np.corrcoef(values[lag:], values[:-lag])[0, 1]) < 4.0 / math.sqrt(count)


def test_uniforms_are_the_words_of_consecutive_counters():
    channel, process = 15, Process.DROPS
    counters = [(k, 0, KEY.sensor, channel << 16 | process) for k in range(50)]
    words = philox4x32(counters, (KEY.seed & 0xFFFFFFFF, KEY.seed >> 32)).ravel()
    expected = ((words >> 8).astype(float) + 0.5) / 2**24
    np.testing.assert_array_equal(uniforms(KEY, channel, process, 0, 200), expected)


@given(start=st.integers(0, 100), count=st.integers(0, 100))
def test_any_range_of_uniforms_is_a_part_of_the_whole(start, count):
    whole = uniforms(KEY, 0, Process.DROPS, 0, 200)
    part = uniforms(KEY, 0, Process.DROPS, start, count)
    np.testing.assert_array_equal(part, whole[start : start + count])


def test_uniforms_are_uniform_and_inside():
    sample = uniforms(KEY, 0, Process.DROPS, 0, 400_000)
    assert 0.0 < sample.min() < sample.max() < 1.0
    assert stats.kstest(sample, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "number"),
    # The first three stand in RFC 9923, appendix C.
    [("", 0x811C9DC5), ("a", 0xE40C292C), ("foobar", 0xBF9CF968), ("imu0", 0xF80BF9DE)],
)
def test_the_number_of_a_sensor_is_the_hash_of_its_name(name, number):
    assert sensor_number(name) == number


def test_runs_of_a_monte_carlo_series_have_seeds_of_their_own():
    seeds = [monte_carlo_seed(seed, run) for seed in (0, 1, 2**63) for run in (*range(200), 2**40)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**64 for seed in seeds)
    words = philox4x32((1, 256, 0, 0xFFFFFFFF), (5, 6))
    assert monte_carlo_seed(5 + (6 << 32), 1 + (256 << 32)) == int(words[0]) + (int(words[1]) << 32)


def test_no_seed_draws_one():
    assert seed_or_drawn(12) == 12
    drawn = {seed_or_drawn(None) for _ in range(4)}
    assert len(drawn) == 4
    assert all(0 <= seed < 2**64 for seed in drawn)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_does_not_fit_is_refused(seed):
    with pytest.raises(ValueRangeError, match="expected a seed from 0"):
        seed_or_drawn(seed)
