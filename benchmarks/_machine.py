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
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
# A small process between: at its start a process counts the memory of the one that starts it.


class Cost(NamedTuple):
    """Of one command, from start to end."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


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
    code, wall_s, cpu_s, kilobytes = measured.stdout.split()
    if int(code) not in codes:
        raise SystemExit(f"{command} ended with {int(code)}")
    return Cost(float(wall_s), float(cpu_s), int(kilobytes) * 1024)


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
