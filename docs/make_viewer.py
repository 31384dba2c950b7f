"""Draw the pictures of the viewer's page: ``python docs/make_viewer.py``.

Needs Chromium and the extras ``viewer`` and ``test``.
"""  # noqa: INP001 (a script beside the pages, not a package)

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
STRAPDOWN = [sys.executable, "-c", "from strapdown.cli import main; main()"]


def main() -> None:
    """Simulate two walks of one motion, show one and both, and save the pages."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        paths = [Path(folder, name) for name in ("wander.mcap", "again.mcap")]
        for seed, path in enumerate(paths):
            motion = ["sim", "--motion", "wander", "--duration", "30", "--seed", str(seed)]
            sensor = ["--sensor", "MPU-6050", "--output", str(path)]
            subprocess.run([*STRAPDOWN, *motion, *sensor], check=True)  # noqa: S603 (our own command)
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"],
        )
        draw(browser, paths[:1], HERE / "viewer.png")
        draw(browser, paths, HERE / "viewer_two.png")
        browser.close()


def draw(browser: Browser, paths: list[Path], picture: Path) -> None:
    """Save the page of recordings with an estimate."""
    view = ["view", *map(str, paths), "--filter", "eskf", "--port", "18812"]
    with subprocess.Popen(  # noqa: S603 (our own command)
        [*STRAPDOWN, *view], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as viewer:
        address = next(
            found[0]
            for line in viewer.stdout or ()
            if (found := re.search(r"http://\S+token=[\w-]+", line))
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.wait_for_selector(".view-chart canvas", timeout=60_000)
        for _ in range(8):
            page.keyboard.press("Shift+ArrowRight")
        time.sleep(5.0)
        page.screenshot(path=picture)
        page.close()
        viewer.terminate()


if __name__ == "__main__":
    main()
