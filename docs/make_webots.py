"""Draw the picture of docs/webots.md, renew its table: ``python docs/make_webots.py``.

The picture is what the first commands of the page draw, in fewer colours.
"""  # noqa: INP001 (a script beside the page, not a package)

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from strapdown.webots.profiles import DIFFERENCES

PAGE = Path(__file__).parent / "webots.md"
PICTURE = Path(__file__).parent / "webots" / "run.png"
COLOURS = 32
TABLE = re.compile(r"^\| topic \|.*?^`R2023b`[^\n]*\n", re.MULTILINE | re.DOTALL)
CONTROLLER = re.compile(r"^```python\n(# (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPARED = ("documented", "R2025a", "R2021a", "R2020a")


def page() -> str:
    """Return the text of the page, with the table as the code has it."""
    return TABLE.sub(lambda _: table(), PAGE.read_text(), count=1)


def table() -> str:
    """Return the differences of profiles, and what the one without a column does otherwise."""
    rows = [("topic", *COMPARED), ("---",) * (1 + len(COMPARED))]
    rows += [(row.topic, *(getattr(row, name) for name in COMPARED)) for row in DIFFERENCES]
    others = [
        f"{row.topic}: {row.R2023b.removeprefix('as R2025a; ')}"
        for row in DIFFERENCES
        if row.R2023b != "as R2025a"
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", f"`R2023b` is as R2025a, except: {'; '.join(others)}.", ""])


def draw() -> None:
    """Run the first controller of the page with the first commands, and keep the picture."""
    text = PAGE.read_text()
    controller, commands = CONTROLLER.search(text), COMMANDS.search(text)
    lines = [line[2:] for line in commands[1].splitlines() if line.startswith("$ ")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    PICTURE.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        (Path(folder) / controller[2]).write_text(controller[1])
        subprocess.run(  # noqa: S603 (commands of our own page)
            ["/bin/bash", "-euc", "\n".join(lines)],
            cwd=folder,
            env={**os.environ, "PATH": path},
            check=True,
        )
        with Image.open(Path(folder) / PICTURE.name) as picture:
            few = picture.convert("RGB").quantize(
                COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            few.save(PICTURE, optimize=True)


if __name__ == "__main__":
    PAGE.write_text(page())
    draw()
