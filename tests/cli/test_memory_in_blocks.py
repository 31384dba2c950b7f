"""Verbs process recordings that are larger than the memory that they may use."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from strapdown.formats import Recording, block_writer
from strapdown.series import ImuSeries

resource = pytest.importorskip("resource")  # of POSIX
ROWS = 600_000
BLOCK = 100_000
GROWTH = 220 * 2**20
"""Memory above that of a start, in bytes; read as a whole, the file takes three times as much."""
MEASURE = """
import resource, sys
from strapdown.formats import long_files
long_files._BLOCKWISE = 0
from strapdown.cli._app import main
sys.argv = ["strapdown", *sys.argv[1:]]
try:
    main()
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
"""
VERBS = {
    "fuse": ["--filter", "mahony", "--output", "{out}/a.npz"],
    "detect": ["--kind", "free_fall"],
    "convert": ["{out}/b.npz"],
}


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a recording of 200 MB in columns, which takes about 700 MB to read as a whole."""
    path = tmp_path_factory.mktemp("long") / "long.mcap"
    rng = np.random.default_rng(1)
    with block_writer(path) as writer:
        for start in range(0, ROWS, BLOCK):
            t_ns = 1_700_000_000_000_000_000 + np.arange(start, start + BLOCK) * 1_000_000
            series = ImuSeries(t_ns, *rng.standard_normal((2, BLOCK, 3)))
            writer.write(Recording(imu={"imu/data": series}))
    return path


def peak(*arguments):
    """Return the largest memory of a command [bytes]."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 3}, done.stderr
    return int(done.stderr.rpartition("peak ")[2])


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_memory_is_that_of_a_block(verb, long, tmp_path):
    options = [each.format(out=tmp_path) for each in VERBS[verb]]
    assert peak(verb, long, *options) < peak("info", long) + GROWTH
