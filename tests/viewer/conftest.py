"""A real viewer in a process of its own, and a real browser."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import strapdown
from strapdown.formats import Recording
from strapdown.simulation import simulate

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+")


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


@pytest.fixture
def viewer():
    """Start viewers; each returns its process and its address."""
    running = []

    def start(*arguments):
        process = subprocess.Popen(
            [
                Path(sys.executable).with_name("strapdown"),
                "view",
                *map(str, arguments),
                "--port",
                str(free_port()),
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

    yield start
    for process in running:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """Twenty seconds of a simulated IMU with its truth."""
    run = simulate("wander", "MPU-6050", 20.0, seed=3)
    held = Recording(
        imu={"imu": run.samples.series(stamps="true")}, trajectories={"truth": run.truth}
    )
    path = tmp_path_factory.mktemp("view") / "run.mcap"
    strapdown.write(path, held)
    return path


def until(condition, seconds=30.0):
    """Wait until a condition holds, and fail where it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
