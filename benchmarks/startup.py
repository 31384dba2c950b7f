"""What a start costs: whole processes, from ``python -c pass`` to ``strapdown fuse``.

Run with ``python benchmarks/startup.py``. Each figure is the median over fresh processes, taken in
turn so that a change of the machine's speed hits all alike. Python's bytecode is there, as after an
installation, and so is machine code of ``eskf``. Commands that are "cold" find none: they run less
often.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from _machine import describe

PYTHON = [sys.executable, "-c"]
STRAPDOWN = [*PYTHON, "from strapdown.cli import main; main()"]
COMMANDS = {
    "python -c pass": [*PYTHON, "pass"],
    "import numpy": [*PYTHON, "import numpy"],
    "import strapdown": [*PYTHON, "import strapdown"],
    "from strapdown import Imu, Topic": [*PYTHON, "from strapdown import Imu, Topic"],
    "strapdown --help": [*STRAPDOWN, "--help"],
    "strapdown info --help": [*STRAPDOWN, "info", "--help"],
    "strapdown fuse --help": [*STRAPDOWN, "fuse", "--help"],
    "strapdown sim --help": [*STRAPDOWN, "sim", "--help"],
    "strapdown webots run --help": [*STRAPDOWN, "webots", "run", "--help"],
    "strapdown info": [*STRAPDOWN, "info", "minute.mcap"],
    "strapdown convert": [*STRAPDOWN, "convert", "minute.mcap", "minute.csv", "--force"],
    "strapdown plot": [*STRAPDOWN, "plot", "minute.mcap", "--output", "minute.png", "--force"],
    "strapdown fuse": [*STRAPDOWN, "fuse", "minute.mcap", "--output", "fused.mcap", "--force"],
}
COLD = {
    "strapdown demo, cold": [*STRAPDOWN, "demo", "--force"],
    "strapdown fuse, cold": COMMANDS["strapdown fuse"],
    "strapdown fuse --smooth, cold": [*COMMANDS["strapdown fuse"], "--smooth"],
    "strapdown fuse --compare, cold": [*STRAPDOWN, "fuse", "minute.mcap", "--compare"],
}
MINUTE = ["sim", "--motion", "wander", "--sensor", "BMI270", "--rate", "200", "--duration", "60"]


class Place(NamedTuple):
    """Where the commands run, with caches of their own."""

    folder: Path

    def seconds(self, command: list[str], kernels: Path) -> float:
        """Return how long one fresh process takes."""
        environment = os.environ | {
            "NUMBA_CACHE_DIR": str(kernels),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        start = time.perf_counter()
        done = subprocess.run(  # noqa: S603 (the tables above)
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")
        return seconds

    def cold(self, command: list[str]) -> float:
        """Return how long a process takes that has to compile."""
        with tempfile.TemporaryDirectory(dir=self.folder) as kernels:
            return self.seconds(command, Path(kernels))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="processes for each figure")
    parser.add_argument("--cold-runs", type=int, default=3, help="and for those that compile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        warm = place.folder / "kernels"
        before = [*STRAPDOWN, *MINUTE, "--output", "minute.mcap"], [*STRAPDOWN, "warm", "eskf"]
        for command in (*before, *COMMANDS.values()):
            place.seconds(command, warm)  # fills the caches
        times: dict[str, list[float]] = {}
        for _ in range(options.runs):
            for name, command in COMMANDS.items():
                times.setdefault(name, []).append(place.seconds(command, warm))
        for _ in range(options.cold_runs):
            for name, command in COLD.items():
                times.setdefault(name, []).append(place.cold(command))
    numpy_s = statistics.median(times["import numpy"])
    print(describe("numpy", "numba", "typer"))
    print(f"{'whole process':34} {'median [s]':>10} {'/ numpy':>8}")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:34} {median:10.3f} {median / numpy_s:8.2f}")


if __name__ == "__main__":
    main()
