"""Draw the picture of docs/joints.md: ``python docs/make_joints.py``."""  # noqa: INP001

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from strapdown import plots

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLOURS = 32


def draw() -> None:
    """Run the block of the page, and write its figure with few colours."""
    scope: dict[str, object] = {}
    body = BLOCK.search((DOCS / "joints.md").read_text())[1]
    with TemporaryDirectory() as folder:
        with chdir(folder):
            exec(body, scope)  # noqa: S102 (our own page)
        file = Path(folder) / "joints.png"
        plots.save(scope["figure"], file)
        with Image.open(file) as picture:
            few = picture.convert("RGB").quantize(
                COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            few.save(DOCS / file.name, optimize=True)


if __name__ == "__main__":
    draw()
