"""Draw the picture of the viewer's page: ``python docs/make_viewer.py``.

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

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
STRAPDOWN = [sys.executable, "-c", "from strapdown.cli import main; main()"]


def main() -> None:
    """Simulate a walk, show it with an estimate, and save the page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder, "wander.mcap")
        simulated = ["sim", "--motion", "wander", "--duration", "30", "--output", str(path)]
        subprocess.run([*STRAPDOWN, *simulated], check=True)  # noqa: S603 (our own command)
        view = ["view", str(path), "--filter", "eskf", "--port", "18812"]
        with subprocess.Popen(  # noqa: S603 (as above)
            [*STRAPDOWN, *view], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as viewer:
            address = next(
                found[0]
                for line in viewer.stdout or ()
                if (found := re.search(r"http://\S+token=[\w-]+", line))
            )
            browser = play.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"],
            )
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(address)
            page.wait_for_selector(".view-chart canvas", timeout=60_000)
            for _ in range(8):
                page.keyboard.press("Shift+ArrowRight")
            time.sleep(5.0)
            page.screenshot(path=HERE / "viewer.png")
            browser.close()
            viewer.terminate()


if __name__ == "__main__":
    main()
