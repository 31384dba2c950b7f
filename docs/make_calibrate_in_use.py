"""Draw the picture of docs/calibrate_in_use.md: ``python docs/make_calibrate_in_use.py``."""  # noqa: INP001

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from strapdown import plots

DOCS = Path(__file__).parent
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLOURS = 32


def draw() -> None:
    """Run the block of the page that calibrates against temperature, and draw its result."""
    scope: dict[str, object] = {}
    body = BLOCKS.search((DOCS / "calibrate_in_use.md").read_text())[1]
    exec(body, scope)  # noqa: S102 (our own page)
    figure = plots.plot_temperature(scope["warm"], title="a simulated sensor, heated and cooled")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "temperature.png"
        plots.save(figure, file)
        with Image.open(file) as picture:
            few = picture.convert("RGB").quantize(
                COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            few.save(DOCS / "calibrate" / file.name, optimize=True)


if __name__ == "__main__":
    draw()
