"""What a figure was taken on, and what a command costs: for the benchmarks beside this file."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

_MEASURE = """
import resource, subprocess, sys, threading, time
own, ended = 0, threading.Event()

def watch(pid):
    global own
    while not ended.wait(0.01):
        try:
            with open(f"/proc/{pid}/status") as file:
                own = max([own, *(int(line.split()[1]) for line in file if "RssAnon" in line)])
        except OSError:
            return

start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
threading.Thread(target=watch, args=[process.pid]).start()
code = process.wait()
seconds = time.perf_counter() - start
ended.set()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss, own)
"""
# A small process between: at its start a process counts the memory of the one that starts it.


class Cost(NamedTuple):
    """Of one command, from start to end.

    ``own_bytes`` is the largest memory without parts of files, which the system drops when it
    needs their place; taken every 10 ms.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    own_bytes: int


def describe(*packages: str) -> str:
    """Return two lines: processor, cores and load; Python, strapdown and other packages."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    versions = ", ".join(f"{name} {_version(name)}" for name in ("strapdown", *packages))
    return (
        f"{_processor()}, {os.cpu_count()} cores, load {load}\n"
        f"Python {platform.python_version()}, {versions}"
    )


def cost_of(command: list[str], *, codes: tuple[int, ...] = (0,)) -> Cost:
    """Run a command, which ends with one of these codes, and return what it took."""
    measured = subprocess.run(  # noqa: S603 (a command of the benchmark)
        [sys.executable, "-c", _MEASURE, *command], stdout=subprocess.PIPE, check=True
    )
    code, wall_s, cpu_s, *kilobytes = measured.stdout.split()
    if int(code) not in codes:
        raise SystemExit(f"{command} ended with {int(code)}")
    peak, own = (int(each) * 1024 for each in kilobytes)
    return Cost(float(wall_s), float(cpu_s), peak, own)


def _processor() -> str:
    """Return the model, as the kernel has it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()  # not every architecture has a name there


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
