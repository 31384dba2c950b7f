"""What a start costs: ``import strapdown`` beside numpy, ``strapdown --help`` beside Python.

Run with ``python benchmarks/startup.py``. Each figure is the median over fresh processes, taken
in turn so that a change of the machine's speed hits all alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import strapdown": [sys.executable, "-c", "import strapdown"],
    "from strapdown import Imu, Topic": [sys.executable, "-c", "from strapdown import Imu, Topic"],
    "strapdown --help": [str(Path(sys.executable).with_name("strapdown")), "--help"],
}


def wall_time_s(command: list[str]) -> float:
    """Return how long one fresh process takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (the table above)
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(wall_time_s(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    numpy_s = medians["import numpy"]
    print(f"{'whole process':34} {'median [s]':>10} {'/ numpy':>8}")
    for name, median in medians.items():
        print(f"{name:34} {median:10.3f} {median / numpy_s:8.2f}")


if __name__ == "__main__":
    main()
