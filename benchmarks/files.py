"""What it costs to look into a recording: ``strapdown info`` on long files of each format.

Run with ``python benchmarks/files.py [--rows 1e6] [--formats mcap bag ...] [--full]``. A recording
of an IMU at 1 kHz, random numbers that do not pack well, is written in each format, and ``info``
runs on it in a process of its own: time by the wall clock and by the clock of the processor, and
the largest memory. ``--topics 100`` adds a file of so many IMUs, of which ``cat --topic --count 1``
and ``fuse --topic`` read one, and for comparison ``fuse`` on a file with such an IMU alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from _machine import cost_of, describe
from strapdown.formats import Recording, block_writer
from strapdown.series import ImuSeries

ENDINGS = {
    "mcap": ".mcap",
    "bag": ".bag",
    "db3": "",
    "ulog": ".ulg",
    "parquet": ".parquet",
    "npz": ".npz",
    "csv": ".csv",
}
BLOCK = 250_000
STEP_NS = 1_000_000
START_NS = 1_700_000_000_000_000_000
COMMAND = [str(Path(sys.executable).with_name("strapdown"))]


def write(path: Path, rows: int, topics: int = 1) -> None:
    """Write IMUs with so many samples together, block by block."""
    rng = np.random.default_rng(1)
    block = min(BLOCK, rows) // topics
    vectors = rng.standard_normal((2, block, 3))
    with block_writer(path, force=True) as writer:
        for start in range(0, rows // topics, block):
            t_ns = START_NS + np.arange(start, start + block) * STEP_NS
            series = ImuSeries(t_ns, *vectors)
            writer.write(Recording(imu={f"imu{k}/data": series for k in range(topics)}))


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.iterdir()))


def show(name: str, path: Path, arguments: list[str]) -> None:
    """Print one line of the table."""
    cost = cost_of([*COMMAND, *arguments], codes=(0, 3))
    print(
        f"{name:>12} {size_of(path) / 1e6:9.0f} {cost.wall_s:8.2f} {cost.cpu_s:8.2f} "
        f"{cost.peak_bytes / 1e6:8.0f}",
        flush=True,
    )


def main() -> None:
    """Write the files, run the command on each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--formats", nargs="*", choices=ENDINGS, default=list(ENDINGS))
    parser.add_argument("--topics", type=int, default=0)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--folder", type=Path, help="where files stay for another run")
    options = parser.parse_args()
    rows, full = int(options.rows), ["--full"] if options.full else []
    print(describe("pyarrow", "rosbags"))
    print(f"{'format':>12} {'file [MB]':>9} {'wall [s]':>8} {'CPU [s]':>8} {'RSS [MB]':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name in options.formats:
            path = folder / f"rows{rows}{ENDINGS[name]}"
            if not path.exists():
                write(path, rows)
            show(name, path, ["info", str(path), *full])
            if options.topics and name != "csv":
                path = folder / f"topics{options.topics}_{rows}{ENDINGS[name]}"
                if not path.exists():
                    write(path, rows, options.topics)
                one = "sensor_gyro.7" if name == "ulog" else "imu7/data"
                show(f"{name} 1 topic", path, ["cat", str(path), "--topic", one, "--count", "1"])
                if name != "ulog":  # whose topics hold one sensor each
                    alone = folder / f"rows{rows // options.topics}{ENDINGS[name]}"
                    if not alone.exists():
                        write(alone, rows // options.topics)
                    target = ["--filter", "mahony", "--force", "--output", f"{temporary}/a.npz"]
                    show(f"{name} fuse 1", path, ["fuse", str(path), "--topic", one, *target])
                    show(f"{name} alone", alone, ["fuse", str(alone), *target])


if __name__ == "__main__":
    main()
