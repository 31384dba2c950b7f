"""Long arrays beside a file, and passes in parts."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown import _scratch
from strapdown._scratch import any_finite, is_mapped, median_step, parts, scratch, strided


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make every array a long one."""
    monkeypatch.setattr(_scratch, "_PART", 10)
    monkeypatch.setattr(_scratch, "_SMALL", 0)


@pytest.fixture
def stamps(tmp_path):
    """Stamps with jitter, in memory and as a part of a file."""
    held = np.random.default_rng(1).integers(1, 100, 35).cumsum()
    np.save(tmp_path / "t.npy", held)
    return held, np.load(tmp_path / "t.npy", mmap_mode="r")


@pytest.mark.parametrize(("count", "width"), [(0, 1), (9, 1), (10, 1), (31, 1), (31, 3), (4, 99)])
def test_parts_cover_every_row_once(count, width):
    found = list(parts(count, width=width))
    assert [row for part in found for row in range(count)[part]] == list(range(count))
    assert all(part.stop - part.start <= max(1, 10 // width) for part in found)
    assert found


def test_results_are_held_where_their_input_is(stamps):
    held, mapped = stamps
    assert not is_mapped(held)
    assert is_mapped(mapped.view(np.ndarray)[3:].reshape(-1, 2))
    for like, expected in ((held, False), (mapped, True), (scratch(mapped, 5), True)):
        made = scratch(like, 7, np.int16, (3,))
        assert (is_mapped(made), made.shape, made.dtype) == (expected, (7, 3), np.int16)
        assert made.flags.writeable
        assert is_mapped(strided(like, 2)) is expected


def test_an_array_of_little_size_is_in_memory(stamps, monkeypatch):
    monkeypatch.setattr(_scratch, "_SMALL", 56)
    assert not is_mapped(scratch(stamps[1], 7))
    assert is_mapped(scratch(stamps[1], 8))


def test_a_file_that_does_not_fit_is_refused_before_it_is_filled(stamps):
    with pytest.raises(OSError, match=r"too large|No space"):
        scratch(stamps[1], 1 << 57)


def test_passes_in_parts_give_what_numpy_gives(stamps):
    for values in stamps:
        before = values.copy()
        assert median_step(values) == np.median(np.diff(values))
        assert median_step(values[:8]) == np.median(np.diff(values[:8]))
        assert np.array_equal(strided(values, 3), values[::3])
        assert np.array_equal(values, before)
    empty = np.full((30, 3), np.nan)
    assert not any_finite(empty)
    assert not any_finite(empty[:0])
    empty[25, 1] = 0.0
    assert any_finite(empty)
