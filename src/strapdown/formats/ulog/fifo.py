"""Unrolling of the FIFO messages of a log to series of single samples, block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import common_id
from strapdown.px4.fifo import FifoReport, unroll
from strapdown.series import ImuSeries, SensorIdentity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FifoReader"]


class FifoReader:
    """Unroller of the packets of each sensor; a block continues the previous one."""

    def __init__(self) -> None:
        self._previous_us: dict[str, int] = {}
        self._reports: dict[str, FifoReport] = {}

    def read(self, name: str, records: NDArray[np.void]) -> ImuSeries:
        """Return the samples of a block of packets; the other triad is NaN.

        Parameters
        ----------
        name : str
            ``sensor_gyro_fifo`` or ``sensor_accel_fifo`` with its instance.
        records : (K,) array of SensorGyroFifo.dtype or SensorAccelFifo.dtype
            Packets in the order of the file.

        Returns
        -------
        ImuSeries
            Board FRD, uncalibrated.
        """
        samples = unroll(records, previous_us=self._previous_us.get(name))
        if len(records):
            self._previous_us[name] = int(records["timestamp_sample"][-1])
        known = self._reports.get(name)
        self._reports[name] = samples.report if known is None else _joined(known, samples.report)
        unknown, device = np.full(samples.values.shape, np.nan), common_id(records["device_id"])
        gyro = name.startswith("sensor_gyro")
        return ImuSeries(
            samples.t_ns,
            samples.values if gyro else unknown,
            unknown if gyro else samples.values,
            gyro_clipping=samples.clipping if gyro else None,
            accel_clipping=None if gyro else samples.clipping,
            body=BodyFrame.FRD,
            world=WorldFrame.NED,
            sensor=SensorIdentity(
                gyro_device_id=device if gyro else 0, accel_device_id=0 if gyro else device
            ),
        )

    def lines(self) -> list[str]:
        """Return one line for each sensor."""
        return [f"{name}: {report}" for name, report in self._reports.items()]


def _joined(first: FifoReport, second: FifoReport) -> FifoReport:
    """Add the counts of two blocks; spacings are averaged by number of packets."""
    packets = first.packets + second.packets
    share = second.packets / packets if packets else 0.0
    spacing_ns, nominal_ns = (
        (1.0 - share) * before + share * after
        for before, after in (
            (first.spacing_ns, second.spacing_ns),
            (first.nominal_ns, second.nominal_ns),
        )
    )
    return replace(
        first,
        packets=packets,
        samples=first.samples + second.samples,
        malformed=first.malformed + second.malformed,
        gaps=first.gaps + second.gaps,
        lost_ns=first.lost_ns + second.lost_ns,
        spacing_ns=spacing_ns,
        nominal_ns=nominal_ns,
        spread_ns=float(np.sqrt((1.0 - share) * first.spread_ns**2 + share * second.spread_ns**2)),
        clipped=first.clipped + second.clipped,
    )
