"""What the viewer costs: time to open, delay of live samples, processor, many clients.

Run with ``python benchmarks/viewer.py`` (extras ``test`` and ``viewer``, and Chromium). It prints

* a recording: time from the command to the printed address and to the first drawn chart, and
  peak memory, for recordings of growing size;
* a live topic of 1 kHz with a filter, in one browser: delay from a sample's arrival to its being
  drawn, and the share of a core that the viewer takes;
* 32 clients of that topic: time between frames of 31 of them, while all answer and while one has
  stalled.

Clients other than the browser speak the page's protocol and answer each frame at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import aiohttp
import numpy as np
import socketio
from playwright.sync_api import sync_playwright

import strapdown
from _machine import describe
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

STRAPDOWN = [sys.executable, "-c", "from strapdown.cli import main; main()"]
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+")
CHART = "getElement(parseInt(document.querySelector('.view-chart').id.slice(1))).chart"
DRAWN = (
    "document.querySelector('.view-chart') && "
    f"{CHART}?.getOption()?.series?.[0]?.data?.length > 100"
)
PUBLISHER = """
import sys, time
import numpy as np
from strapdown.messages import Imu
from strapdown.transport.address import open_topic
with open_topic(sys.argv[1], Imu) as topic:
    began, count = time.monotonic(), 0
    while True:
        while count < (time.monotonic() - began) * 1000.0:
            s = count / 1000.0
            now = time.time_ns()
            topic.send(Imu(0.0, 0.0, 9.81, np.cos(s), np.sin(2 * s), 0.2, timestamp_ns=now))
            count += 1
        time.sleep(0.001)
"""


@contextmanager
def viewer(*arguments: str, port: int = 18811) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a viewer; yield its process and address."""
    command = [*STRAPDOWN, "view", *arguments, "--port", str(port)]
    with subprocess.Popen(  # noqa: S603 (our own command)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                if found := ADDRESS.search(line):
                    yield process, found[0]
                    return
            raise SystemExit("the viewer did not start")
        finally:
            process.terminate()


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    """Return the largest resident memory of a process."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1e3


def open_recording(browser: Browser, path: Path) -> None:
    """Print what a recording costs until its charts are drawn."""
    began = time.perf_counter()
    with viewer(str(path)) as (process, address):
        printed_s = time.perf_counter() - began
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.wait_for_function(DRAWN, timeout=120_000)
        drawn_s = time.perf_counter() - began
        page.close()
        print(
            f"{path.stem:>12} {path.stat().st_size / 1e6:8.0f} MB "
            f"{printed_s:8.1f} s {drawn_s:8.1f} s {peak_mb(process.pid):8.0f} MB"
        )


def live(browser: Browser, topic: str, seconds: float) -> None:
    """Print delay and cost of a live topic."""
    with viewer(topic, "--filter", "eskf") as (process, address):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.wait_for_function(DRAWN, timeout=120_000)
        time.sleep(3.0)
        before, began = cpu_s(process.pid), time.perf_counter()
        delays = []
        while time.perf_counter() - began < seconds:
            time.sleep(1.0)
            text = page.locator("#health-0").inner_text()
            if found := re.search(r"shown after (\d+) ms", text):
                delays.append(float(found[1]))
        share = (cpu_s(process.pid) - before) / (time.perf_counter() - began)
        page.close()
    median, high = np.percentile(delays, [50, 95])
    print(f"delay median {median:.0f} ms, 95 % {high:.0f} ms; {100 * share:.0f} % of a core")


async def client(
    http: aiohttp.ClientSession, address: str, seconds: float, *, stalls: bool
) -> list[float]:
    """Take frames as a page does; return the times between them."""
    base = address.split("/?", maxsplit=1)[0]
    async with http.get(base + "/") as answer:
        text = await answer.text()
    name, first = (
        re.search(rf"{key}\W+([\w-]+)", text) for key in ("client_id", "next_message_id")
    )
    query = {
        "client_id": name[1],
        "next_message_id": first[1],
        "implicit_handshake": "true",
        "document_id": str(uuid4()),
        "tab_id": str(uuid4()),
        "old_tab_id": "",
    }
    page = socketio.AsyncClient(http_session=http, reconnection=False)
    times: list[float] = []

    @page.on("run_javascript")
    async def _(message: dict[str, Any]) -> None:
        if "request_id" not in message:
            return
        if "matchMedia" in message["code"]:
            result: object = [False, ""]
        else:
            times.append(time.perf_counter())
            if stalls:
                return
            result = 0
        answer = {"request_id": message["request_id"], "client_id": query["client_id"]}
        await page.emit("javascript_response", {**answer, "result": result})

    options = "&".join(f"{name}={value}" for name, value in query.items())
    await page.connect(
        f"{base}?{options}", socketio_path="_nicegui_ws/socket.io", transports=["websocket"]
    )
    await asyncio.sleep(seconds)
    await page.disconnect()
    return np.diff(times[5:]).tolist()


async def crowd(address: str, seconds: float, *, stalled: int) -> list[float]:
    """Return the times between frames of the clients that do not stall."""
    jar = aiohttp.CookieJar(unsafe=True)  # the cookie of an address of digits
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        async with http.get(address):
            pass
        found = await asyncio.gather(
            *(client(http, address, seconds, stalls=number < stalled) for number in range(32))
        )
    return [step for steps in found[stalled:] for step in steps]


def many(topic: str, seconds: float) -> None:
    """Print the times between frames for 32 clients."""
    with viewer(topic) as (_, address):
        time.sleep(2.0)
        worst = {}
        for stalled in (0, 1, 0, 1):
            steps = asyncio.run(crowd(address, seconds, stalled=stalled))
            worst.setdefault(stalled, []).append(np.percentile(steps, [50, 99]) * 1e3)
    alone, together = (np.median(worst[stalled], axis=0) for stalled in (0, 1))
    print(f"all answer:      median {alone[0]:6.0f} ms, 99 % {alone[1]:6.0f} ms")
    print(f"one has stalled: median {together[0]:6.0f} ms, 99 % {together[1]:6.0f} ms")
    print(f"ratio of the 99 % values {together[1] / alone[1]:.2f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--samples", type=int, nargs="*", default=[10**5, 10**6])
    arguments = parser.parse_args()
    print(describe("nicegui"))
    topic = f"ipc:bench_view_{os.getpid()}"
    publish = [sys.executable, "-c", PUBLISHER, topic]
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"],
        )
        print(f"\n{'samples':>12} {'file':>11} {'address':>10} {'drawn':>10} {'memory':>11}")
        for count in arguments.samples:
            open_recording(browser, written(Path(folder, f"{count}.npz"), count))
        with subprocess.Popen(publish) as publisher:  # noqa: S603 (as above)
            print("\nlive, 1 kHz, eskf, one browser")
            live(browser, topic, arguments.seconds)
            publisher.terminate()
        browser.close()
    with subprocess.Popen(publish) as publisher:  # noqa: S603 (as above)
        print("\nlive, 1 kHz, 32 clients, time between frames")
        many(topic, arguments.seconds)
        publisher.terminate()


def written(path: Path, count: int) -> Path:
    """Write a recording of noise at 1 kHz."""
    rng = np.random.default_rng(1)
    rate, force = rng.normal(size=(2, count, 3))
    strapdown.write(path, ImuSeries(np.arange(count) * 1_000_000, rate, force))
    return path


if __name__ == "__main__":
    main()
