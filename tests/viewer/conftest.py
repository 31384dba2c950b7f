"""A real viewer in a process of its own, and a real browser."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import strapdown
from strapdown.formats import Recording
from strapdown.simulation import simulate

ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+/\?token=[\w-]+")


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, without a screen, drawing in software.

    Its driver runs an event loop in this thread, so it ends with the module.
    """
    path = shutil.which("chromium")
    if path is None:
        if os.environ.get("STRAPDOWN_REQUIRE_PEERS"):
            pytest.fail("Chromium is missing: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (few tests need it)

    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--use-gl=angle",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
            ],
        )
        yield chromium
        chromium.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def viewers():
    """Yield a function that starts viewers; each returns its process and its address.

    ``large_bytes`` is the size from which a file is read while it is shown.
    """
    running = []

    def start(*arguments, large_bytes=None):
        command = "from strapdown.cli import main, view; "
        if large_bytes is not None:
            command += f"view._LARGE_BYTES = {large_bytes}; "
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", f"{command}main()", "view"),
                *map(str, arguments),
                *("--port", str(free_port())),
            ],
            env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(process)
        for line in process.stdout:
            if found := ADDRESS.search(line):
                return process, found[0]
        raise AssertionError(f"the viewer ended with {process.wait()}")

    try:
        yield start
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)
            process.stdout.close()


@pytest.fixture
def viewer():
    """Start viewers that end with the test."""
    with viewers() as start:
        yield start


@pytest.fixture(scope="module")
def address(recording):
    """Address of a viewer of the recording, for all tests of a module."""
    with viewers() as start:
        yield start(recording, "--filter", "vqf")[1]


EVIL = "<img src=x onerror=alert(1)>"
"""Name of a topic, and of a file, that would run as markup."""


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """Twenty seconds of a simulated IMU with its truth, under names that are markup."""
    run = simulate("wander", "MPU-6050", 20.0, seed=3)
    held = Recording(
        imu={EVIL: run.samples.series(stamps="true")}, trajectories={"truth": run.truth}
    )
    path = tmp_path_factory.mktemp("view") / f"{EVIL}.mcap"
    strapdown.write(path, held)
    return path


def until(condition, seconds=30.0):
    """Wait until a condition holds, and fail where it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
