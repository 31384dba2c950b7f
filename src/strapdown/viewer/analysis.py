"""Spectrum and Allan deviation of the samples in a window, as panels with logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.formats.recording import as_recording
from strapdown.viewer.model import Line, Panel

if TYPE_CHECKING:
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries

__all__ = ["allan_panels", "spectrum_panels"]


def spectrum_panels(source: ImuSeries | Recording, *, topic: str | None = None) -> list[Panel]:
    """Return the one-sided amplitude spectral densities over frequency [Hz].

    Raises
    ------
    FormatError
        There are fewer than 64 samples in sequence.
    """
    from strapdown.plots import spectra  # noqa: PLC0415 (a page begins without it)

    return [
        Panel(
            each.quantity,
            f"{each.unit.replace('$^2$', '²')}/√Hz",
            each.account,
            tuple(
                Line(axis, np.stack([each.hz[1:], each.amplitude[1:, column]], axis=1))
                for column, axis in enumerate("xyz")
            ),
        )
        for each in spectra(as_recording(source), topic=topic)
    ]


def allan_panels(series: ImuSeries) -> list[Panel]:
    """Return the overlapping Allan deviations over cluster time [s].

    Raises
    ------
    StrapdownError
        There are too few samples.
    """
    from strapdown.calibration import allan  # noqa: PLC0415 (a page begins without it)
    from strapdown.calibration.noise.units import DEVIATION  # noqa: PLC0415 (as above)

    result = allan(series)
    panels = []
    for first, name in ((0, "angular velocity"), (3, "specific force")):
        shown = DEVIATION[result.units[first]]
        deviation = shown.factor * result.deviation[:, first : first + 3]
        lines = tuple(
            Line(axis, np.stack([result.tau_s, deviation[:, column]], axis=1))
            for column, axis in enumerate("xyz")
        )
        account = f"{result.samples} samples; it means noise at rest only"
        unit = shown.unit.replace("ug", "µg")
        panels.append(Panel(f"Allan deviation of {name}", unit, account, lines))
    return panels
