"""Cost of verbs on long recordings: in blocks, and as a whole.

Run with ``python benchmarks/long_files.py [--rows 1e6 1e7] [--formats mcap ...]``. A recording of
an IMU at 1 kHz, random numbers that do not pack well, is written in each format (in ULog its
increments), and each verb runs on it in a process of its own: samples per second by the wall clock,
the largest memory, and how much of that is not part of a file, which the system may drop.
``--topics 100`` adds a file of so many IMUs, of which the verb uses one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from _machine import cost_of, describe
from files import BLOCK, ENDINGS, STEP_NS, size_of, write
from strapdown.formats import Recording, block_writer
from strapdown.series import Increments

VERBS = {
    "fuse": ["fuse", "{path}", "--filter", "mahony", "--force", "--output", "{out}/a.npz"],
    "detect": ["detect", "{path}", "--kind", "free_fall,clipping"],
    "allan": ["allan", "{path}"],
    "convert": ["convert", "{path}", "{out}/b.npz", "--force"],
}
IN_BLOCKS = """
import sys
from strapdown.formats import long_files
long_files._BLOCKWISE = 0
"""
AS_A_WHOLE = """
import sys
from strapdown.formats import long_files
long_files._BLOCKWISE = 1 << 60
"""
RUN = """
from strapdown.cli._app import main
sys.argv = ["strapdown", *sys.argv[1:]]
main()
"""


def command(manner: str, verb: str, path: Path, out: Path, topic: str) -> list[str]:
    """Return the call of a verb that reads a file in blocks or as a whole."""
    arguments = [each.format(path=path, out=out) for each in VERBS[verb]]
    chosen = ["--topic", topic] if topic else []
    return [sys.executable, "-c", manner + RUN, *arguments, *chosen]


def show(name: str, path: Path, rows: int, options: argparse.Namespace, topic: str = "") -> None:
    """Print the lines of the table on one file."""
    for verb in options.verbs:
        cells = []
        for manner in (IN_BLOCKS, AS_A_WHOLE)[: 1 if options.blocks_only else 2]:
            with tempfile.TemporaryDirectory() as out:
                cost = cost_of(command(manner, verb, path, Path(out), topic), codes=(0, 3))
            megabytes = f"{cost.peak_bytes / 1e6:9.0f} {cost.own_bytes / 1e6:9.0f}"
            cells.append(f"{rows / cost.wall_s / 1e6:9.2f} {megabytes}")
        size = size_of(path) / 1e6
        print(f"{name:>16} {rows:9.0e} {size:9.0f} {verb:>8} {' '.join(cells)}", flush=True)


def write_increments(path: Path, rows: int) -> None:
    """Write increments over 1 ms, block by block."""
    rng = np.random.default_rng(1)
    deltas = rng.standard_normal((2, BLOCK, 3)) * 1e-3
    dt_ns = np.full(BLOCK, STEP_NS)
    with block_writer(path, force=True) as writer:
        for start in range(0, rows, BLOCK):
            t_ns = np.arange(start + 1, start + 1 + BLOCK) * STEP_NS
            writer.write(Recording(increments={"imu": Increments(t_ns, *deltas, dt_ns, dt_ns)}))


def main() -> None:
    """Write the files, run the verbs on each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6])
    parser.add_argument("--formats", nargs="*", choices=ENDINGS, default=list(ENDINGS))
    parser.add_argument("--verbs", nargs="*", choices=VERBS, default=list(VERBS))
    parser.add_argument("--blocks-only", action="store_true")
    parser.add_argument("--topics", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where files stay for another run")
    options = parser.parse_args()
    print(describe("pyarrow", "rosbags"))
    print(f"{'':>45} {'in blocks':>29} {'as a whole':>29}")
    columns = f"{'M rows/s':>9} {'RSS [MB]':>9} {'own [MB]':>9}"
    print(f"{'format':>16} {'rows':>9} {'file [MB]':>9} {'verb':>8} {columns} {columns}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name in options.formats:
            for rows in map(int, options.rows):
                path = folder / f"rows{rows}{ENDINGS[name]}"
                if not path.exists():
                    (write_increments if name == "ulog" else write)(path, rows)
                show(name, path, rows, options)
                if options.topics and name not in {"csv", "ulog"}:
                    path = folder / f"topics{options.topics}_{rows}{ENDINGS[name]}"
                    if not path.exists():
                        write(path, rows, options.topics)
                    show(f"{name} 1 of {options.topics}", path, rows, options, "imu7/data")


if __name__ == "__main__":
    main()
