"""``strapdown plot``: a picture of a recording."""

from __future__ import annotations

import strapdown.formats as files
from strapdown import plots
from strapdown.cli._common import Force, Input, Output, Topic, read_losses, working
from strapdown.cli._outcome import Outcome


def plot(source: Input, *, output: Output, topic: Topic = None, force: Force = False) -> Outcome:
    """Draw angular velocity, specific force, magnetic field and attitude over time.

    The ending of the output chooses the picture format: .png, .svg or .pdf.

    Examples
    --------
    strapdown plot demo.mcap --output demo.png

    strapdown plot flight.ulg --topic sensor_combined --output flight.png

    strapdown plot attitude.tum --output attitude.svg --force
    """
    with working(f"reading {source}"):
        recording = files.open(source, on_error="salvage")
    with working("drawing"):
        figure = plots.plot_recording(recording, topic=topic)
        plots.save(figure, output, force=force)
    data = {"input": str(source), "output": str(output)}
    return Outcome(data, [f"wrote {output}"], read_losses(recording.report))
