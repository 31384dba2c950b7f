"""Draw the picture of docs/navigation.md: ``python docs/make_navigation.py [FOLDER]``.

The folder holds ``gnss_walk/``; by default it is the environment variable STRAPDOWN_DATA.
"""  # noqa: INP001

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

import strapdown
from strapdown import plots
from strapdown.estimation.navigation import (
    NavigatorParams,
    StrapdownNavigator,
    align_in_motion,
    gnss_aiding,
)
from strapdown.formats.foreign import ImportPlan, TimeColumn, VectorColumns
from strapdown.inertial.navigation import Place
from strapdown.units import NS_PER_S

DOCS = Path(__file__).parent
COLUMNS = ImportPlan(
    TimeColumn("column 1", "s"),
    {
        "specific_force": VectorColumns(("column 2", "column 3", "column 4"), "g"),
        "angular_velocity": VectorColumns(("column 5", "column 6", "column 7"), "rad/s"),
    },
)
AHEAD_S = 18.0  # the clock of the logger is that of GPS
OUTAGE_S = (68.0, 83.0)
COLOURS = 64


def draw(folder: Path) -> None:
    """Navigate along the walk without the fixes of some seconds, and draw the map."""
    imu = strapdown.open(folder / "imu_1730_sf.csv", columns=COLUMNS).imu_series()
    fixes = strapdown.open(folder / "gnss_1730_sf.pos").gnss_series()
    fixes = fixes.replace(t_ns=fixes.t_ns + round(AHEAD_S * NS_PER_S))
    since_s = (fixes.t_ns - imu.t_ns[0]) / NS_PER_S
    inside = (since_s > 0.0) & (fixes.t_ns <= imu.t_ns[-1])
    used = fixes[inside & ((since_s < OUTAGE_S[0]) | (since_s >= OUTAGE_S[1]))]
    origin = used.origin
    imu = imu[imu.t_ns >= used.t_ns[0]]
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    params = NavigatorParams(gyro_noise=1e-3, accel_noise=2e-2, accel_walk=1e-3, gate=1.0)
    aiding = [each for each in gnss_aiding(used, origin) if each.t_ns >= imu.t_ns[0]]
    start = align_in_motion(imu, aiding[::2], params, place=place)
    result = StrapdownNavigator(params, start=start, place=place).run(imu, aiding=aiding)
    known = result.t_ns >= result.t_ns[0] + 2 * NS_PER_S  # the first seconds would hide the rest
    figure = plots.plot_navigation(
        result[np.flatnonzero(known)], used, origin, title="a walk with RTK, 15 s without fixes"
    )
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / "navigation.png"
        plots.save(figure, file)
        with Image.open(file) as picture:
            few = picture.convert("RGB").quantize(
                COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            few.save(DOCS / file.name, optimize=True)


if __name__ == "__main__":
    default = os.environ.get("STRAPDOWN_DATA", "shared/data")
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else default) / "gnss_walk")
