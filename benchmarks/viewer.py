"""What the viewer costs: time to open, delay of live samples, processor, many clients.

Run with ``python benchmarks/viewer.py`` (extras ``test`` and ``viewer``, and Chromium). It prints

* a recording: time from the command to the printed address, to the first drawn chart and to the
  last sample, processor time, and peak memory, for ULogs of growing size; the page must show the
  peak of one sample;
* a live topic of 1 kHz with a filter as machine code, in one browser: delay from a sample's arrival
  to its being drawn, and the share of a core that the viewer takes. The browser's own time in
  ``setOption`` of the charts, and the processor time of its page and of WebGL in software, tell
  what the page costs from what a busy machine does: the least time is near that of an idle one;
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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import aiohttp
import numpy as np
import socketio
from playwright.sync_api import sync_playwright
from socketio.exceptions import BadNamespaceError

from _machine import describe
from strapdown.formats import Recording, block_writer
from strapdown.series import Increments

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
READ = "/samples/.test(document.querySelector('#health-0').innerText)"
READ += " && !/loading/.test(document.querySelector('#health-0').innerText)"
PEAK = 1000.0
BLOCK = 500_000
PEAK_SEEN = (
    f"{CHART}.getOption().series.some(each => [...each.data].some("
    f"point => Math.abs(point[1] - {PEAK}) < 1))"
)
TIMED = f"""() => {{
    const chart = {CHART}, set = chart.setOption.bind(chart);
    window.setTimes = [];
    chart.setOption = (...given) => {{
        const began = performance.now();
        set(...given);
        window.setTimes.push(performance.now() - began);
    }};
}}"""
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


def browser_cpu_s(kind: str) -> float:
    """Return the processor time of the browser's processes of a kind that this one started."""
    found = 0.0
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"--type={kind}" in (entry / "cmdline").read_text() and is_ours(int(entry.name)):
                found += cpu_s(int(entry.name))
    return found


def is_ours(pid: int) -> bool:
    """Return whether a process descends from this one."""
    while pid > 1 and pid != os.getpid():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid == os.getpid()


def open_recording(browser: Browser, path: Path) -> None:
    """Print what a recording costs until its charts are drawn, and until all of it is."""
    began = time.perf_counter()
    with viewer(str(path)) as (process, address):
        times = [time.perf_counter() - began]
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        for condition in (DRAWN, READ, PEAK_SEEN):
            page.wait_for_function(condition, timeout=240_000)
            times.append(time.perf_counter() - began)
        page.close()
        took = " ".join(f"{each:8.1f} s" for each in times[:3])
        print(
            f"{path.stem:>12} {path.stat().st_size / 1e6:8.0f} MB {took} "
            f"{cpu_s(process.pid):8.1f} s {peak_mb(process.pid):8.0f} MB"
        )


def live(browser: Browser, topic: str, seconds: float) -> None:
    """Print delay and cost of a live topic."""
    with viewer(topic, "--filter", "eskf") as (process, address):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.wait_for_function(DRAWN, timeout=120_000)
        time.sleep(3.0)
        page.evaluate(TIMED)
        before, began = cpu_s(process.pid), time.perf_counter()
        drawing = {kind: browser_cpu_s(kind) for kind in ("renderer", "gpu-process")}
        delays = []
        while time.perf_counter() - began < seconds:
            time.sleep(1.0)
            text = page.locator("#health-0").inner_text()
            if found := re.search(r"shown after (\d+) ms", text):
                delays.append(float(found[1]))
        took = time.perf_counter() - began
        share = (cpu_s(process.pid) - before) / took
        times = page.evaluate("window.setTimes")
        spent = {kind: browser_cpu_s(kind) - since for kind, since in drawing.items()}
        page.close()
    median, high = np.percentile(delays, [50, 95])
    print(f"delay median {median:.0f} ms, 95 % {high:.0f} ms; {100 * share:.0f} % of a core")
    least, middle = np.percentile(times, [0, 50])
    print(
        f"{len(times) / took:.1f} charts a second, setOption {least:.0f} ms at least, median "
        f"{middle:.0f} ms; browser: page {100 * spent['renderer'] / took:.0f} %, "
        f"WebGL in software {100 * spent['gpu-process'] / took:.0f} % of a core"
    )


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
        with suppress(BadNamespaceError):  # it disconnects
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
    parser.add_argument("--samples", type=int, nargs="*", default=[10**5, 10**6, 10**7])
    arguments = parser.parse_args()
    print(describe("nicegui"))
    topic = f"ipc:bench_view_{os.getpid()}"
    subprocess.run([*STRAPDOWN, "warm", "eskf"], check=True)  # noqa: S603 (our own command)
    publish = [sys.executable, "-c", PUBLISHER, topic]
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"],
        )
        heads = ("address", "drawn", "all read", "processor")
        print(f"\n{'samples':>12} {'file':>11} " + " ".join(f"{head:>10}" for head in heads))
        for count in arguments.samples:
            open_recording(browser, written(Path(folder, f"{count}.ulg"), count))
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
    """Write a ULog of noise at 1 kHz, with a peak of one sample."""
    rng = np.random.default_rng(1)
    with block_writer(path) as file:
        for first in range(0, count, BLOCK):
            t = np.arange(first + 1, min(first + BLOCK, count) + 1) * 1_000_000
            rate, force = 1e-3 * rng.normal(size=(2, len(t), 3))
            if first <= count // 3 < first + BLOCK:
                force[count // 3 - first] = 1e-3 * PEAK
            step = np.full(len(t), 1_000_000)
            imu = Increments(t, rate, force, step, step, body="FRD")
            file.write(Recording(increments={"vehicle_imu.0": imu}))
    return path


if __name__ == "__main__":
    main()
