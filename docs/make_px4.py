"""Draw the pictures of docs/px4.md: ``python docs/make_px4.py FOLDER``.

The pictures are what the commands of the page draw, in fewer colours. FOLDER holds the
recordings that the page names.
"""  # noqa: INP001 (a script beside the page, not a package)

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

PAGE = Path(__file__).parent / "px4.md"
PICTURES = Path(__file__).parent / "px4"
COLOURS = 32
FILE = re.compile(r"^```python\n(# (\w+\.py)\n.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"--output (\w+\.png)")
RECORDING = re.compile(r"\bsample_\w+\.ulg\b")


def draw(recordings: Path) -> None:
    """Run every command block of the page that draws, and keep its pictures."""
    text = PAGE.read_text()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for body, file in FILE.findall(text):
            (folder / file).write_text(body)
        for recording in set(RECORDING.findall(text)):
            (folder / recording).symlink_to(recordings.resolve() / recording)
        for body in COMMANDS.findall(text):
            if PICTURE.search(body):
                lines = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
                subprocess.run(  # noqa: S603 (commands of our own page)
                    ["/bin/bash", "-euc", "\n".join(lines)],
                    cwd=folder,
                    env={**os.environ, "PATH": path},
                    check=True,
                )
        for file in PICTURE.findall(text):
            with Image.open(folder / file) as picture:
                few = picture.convert("RGB").quantize(
                    COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
                )
                few.save(PICTURES / file, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
