"""Known answers of Philox4x32-10 are those of the Random123 distribution (kat_vectors)."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import ShapeError
from strapdown.sensors.noise import philox4x32

KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
    (
        (0x00000A00, 0x00000000, 0x00000007, 0x00030002),
        (0x9ABCDEF0, 0x12345678),
        (0x46D14C22, 0xC9385FF8, 0x85D0760C, 0xB72B13DB),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_a_known_counter_gives_the_known_words(counter, key, words):
    result = philox4x32(counter, key)
    assert result.dtype == np.uint32
    assert tuple(result.tolist()) == words


def test_many_counters_give_what_each_gives_alone():
    counters = np.random.default_rng(1).integers(0, 2**32, (3, 5, 4), dtype=np.uint32)
    together = philox4x32(counters, (1, 2))
    assert together.shape == counters.shape
    for where in np.ndindex(3, 5):
        np.testing.assert_array_equal(together[where], philox4x32(counters[where], (1, 2)))


@pytest.mark.parametrize(
    ("counter", "key"), [((0, 0, 0), (0, 0)), ((0, 0, 0, 0), (0,)), (0, (0, 0))]
)
def test_words_that_are_missing_are_refused(counter, key):
    with pytest.raises(ShapeError, match="expected a counter of shape"):
        philox4x32(counter, key)
