"""Unrolling of FIFO messages to single samples at the true sampling rate of the chip.

A message contains the stamp of its last sample and a *nominal* spacing, from the data sheet; real
chips deviate by several percent. The spacing is therefore measured: the time from one packet to
the next, divided by the number of samples in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown._words import counted
from strapdown.errors import ShapeError, UnknownNameError
from strapdown.messages._by_column import bits_from_axes, sampled_ns
from strapdown.px4._packets import AXES, copied, filled, is_clipped, usable
from strapdown.units import NS_PER_MS, NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, BoolArray, ByteArray, FloatArray, IntArray

__all__ = ["FifoReport", "Spacing", "Unrolled", "repack", "unroll"]

Spacing: TypeAlias = Literal["packet", "smooth"]

_GAP_SHARE: Final = 0.5


@dataclass(frozen=True)
class FifoReport(FieldsAsHtml):
    """Statistics of the packets of one chip.

    Parameters
    ----------
    packets, samples : int
        Valid packets, and samples in them.
    malformed : int
        Packets left out: without samples, with more than 32, or without a scale.
    gaps, lost_ns : int
        Steps between packets that differ from the duration of their samples by more than half of
        it, and the time without samples in them [ns].
    spacing_ns : float
        Median time between two samples [ns]; with fewer than two packets the nominal one, or 0
        without that.
    nominal_ns : float
        Median of the spacings in the messages that are above 0 [ns]; NaN without any.
    spread_ns : float
        Root mean square deviation of the spacing by packet from the median, without gaps [ns].
    clipped : int
        Samples with a saturated axis.
    """

    packets: int
    samples: int
    malformed: int
    gaps: int
    lost_ns: int
    spacing_ns: float
    nominal_ns: float
    spread_ns: float
    clipped: int

    def __str__(self) -> str:
        rates = ""
        if self.spacing_ns > 0.0 and self.nominal_ns > 0.0:
            rate, nominal = NS_PER_S / self.spacing_ns, NS_PER_S / self.nominal_ns
            rates = (
                f" at {rate:.1f} Hz (nominal {nominal:.1f}, {rate / nominal - 1.0:+.2%}, "
                f"spread {self.spread_ns / self.spacing_ns:.2%})"
            )
        return (
            f"{self.samples} samples in {self.packets} packets{rates}, {counted(self.gaps, 'gap')} "
            f"(lost {self.lost_ns / NS_PER_MS:.1f} ms), {self.clipped} clipped, "
            f"{self.malformed} malformed packets"
        )


@dataclass(frozen=True, eq=False)
class Unrolled:
    """Samples of one chip, in the order of the packets.

    Parameters
    ----------
    t_ns : (M,) int64
        Time of each sample [ns].
    counts : (M, 3) int16
        Counts of the message [board FRD].
    values : (M, 3) float64
        The same in rad/s or m/s^2, uncalibrated [board FRD].
    clipping : (M,) uint8
        Saturated axes: bits X=1, Y=2, Z=4.
    report : FifoReport
        Statistics of the packets.
    """

    t_ns: IntArray
    counts: NDArray[np.int16]
    values: FloatArray
    clipping: ByteArray
    report: FifoReport


def unroll(
    fifo_records: NDArray[np.void],
    *,
    spacing: Spacing = "packet",
    previous_us: int | None = None,
) -> Unrolled:
    """Return the samples of FIFO messages with their times.

    Samples of consecutive packets are spaced evenly between the stamps. After a gap, and in the
    first packet, they have the median spacing.

    Parameters
    ----------
    fifo_records : (K,) array of SensorGyroFifo.dtype or SensorAccelFifo.dtype
        Messages of one chip in the order of their stamps.
    spacing : "packet" or "smooth"
        The latter fits a straight line to the stamps of each segment without gaps, which removes
        the jitter of the readout.
    previous_us : int, optional
        Stamp of the packet before the first, where the messages continue earlier ones [us].

    Returns
    -------
    Unrolled
        M samples.

    Raises
    ------
    UnknownNameError
        There is no such spacing.
    ValueRangeError
        A stamp does not fit.
    """
    if spacing not in get_args(Spacing):
        raise UnknownNameError("spacing", spacing, get_args(Spacing))
    good = usable(fifo_records)
    packets = fifo_records if good.all() else fifo_records[good]
    sizes = packets["samples"].astype(np.int64)
    ends_ns = sampled_ns(packets)
    steps = _steps(packets["dt"], ends_ns, sizes, previous_us)
    if spacing == "smooth":
        ends_ns, spacings_ns = _smooth(ends_ns, sizes, steps)
    else:
        spacings_ns = np.where(steps.apart, steps.median_ns, steps.by_packet_ns)
    width = sizes.max(initial=0)
    valid = filled(sizes)[:, :width]
    table = np.empty((*valid.shape, 3), np.int16)
    for column, axis in enumerate(AXES):
        table[..., column] = packets[axis][:, :width]
    counts = _in_a_row(table, valid)
    clipping = bits_from_axes(is_clipped(counts))
    since_end_ns = np.arange(width) - (sizes[:, None] - 1.0)
    np.minimum(since_end_ns, 0.0, out=since_end_ns)
    since_end_ns *= spacings_ns[:, None]
    times_ns = np.rint(since_end_ns, out=since_end_ns).astype(np.int64)
    times_ns += ends_ns[:, None]
    return Unrolled(
        _in_a_row(times_ns, valid),
        counts,
        _scaled(counts, packets["scale"].astype(np.float64), sizes),
        clipping,
        FifoReport(
            packets=len(packets),
            samples=len(counts),
            malformed=len(fifo_records) - len(packets),
            gaps=len(steps.excess_ns),
            lost_ns=int(np.maximum(steps.excess_ns, 0.0).sum()),
            spacing_ns=steps.median_ns,
            nominal_ns=steps.nominal_ns,
            spread_ns=_rms(steps.by_packet_ns[~steps.apart] - steps.median_ns),
            clipped=int(np.count_nonzero(clipping)),
        ),
    )


def repack(unrolled: Unrolled, like: NDArray[np.void]) -> NDArray[np.void]:
    """Write samples back into messages.

    Parameters
    ----------
    unrolled : Unrolled
        Result of :func:`unroll` for ``like``; the counts may have changed.
    like : (K,) array of SensorGyroFifo.dtype or SensorAccelFifo.dtype
        Messages from which all other fields are copied.

    Returns
    -------
    (K,) array of the same dtype
        The messages, byte for byte where the counts are the same.

    Raises
    ------
    ShapeError
        The messages hold another number of samples.
    """
    room = filled(like["samples"]) & usable(like)[:, None]
    if room.sum() != len(unrolled.counts):
        raise ShapeError(
            f"expected {room.sum()} samples for these messages, got {len(unrolled.counts)}; "
            "pass the messages that were unrolled"
        )
    records = copied(like)
    for column, axis in enumerate(AXES):
        records[axis][room] = unrolled.counts[:, column]
    return records


def _in_a_row(table: AnyArray, valid: BoolArray) -> AnyArray:
    """Return the valid entries of packets as one sequence."""
    return table.reshape(-1, *table.shape[2:]) if valid.all() else table[valid]


def _scaled(counts: NDArray[np.int16], scales: FloatArray, sizes: IntArray) -> FloatArray:
    """Multiply samples by the scale of their packet, at once where all are the same."""
    if len(scales) and np.all(scales == scales[0]):
        return counts * np.float64(scales[0])
    return counts * np.repeat(scales, sizes)[:, None]


class _Steps(NamedTuple):
    """The time between packets."""

    by_packet_ns: FloatArray  # over the samples of the packet
    median_ns: float
    nominal_ns: float
    apart: BoolArray  # there is a gap before the packet, or it is the first
    excess_ns: FloatArray  # at each gap, by how much it is longer than the duration of its samples


def _steps(
    dt_us: NDArray[np.float32], ends_ns: IntArray, sizes: IntArray, previous_us: int | None
) -> _Steps:
    """Measure the steps from packet to packet."""
    steps_ns = np.diff(ends_ns, prepend=(previous_us or 0) * NS_PER_US)
    known = np.ones(len(sizes), np.bool_)
    known[:1] = previous_us is not None
    by_packet = steps_ns / sizes
    nominal_ns = _median(dt_us[(dt_us > 0.0) & (dt_us < np.inf)].astype(np.float64)) * NS_PER_US
    forward = known & (steps_ns > 0)
    median_ns = _median(by_packet[forward]) if forward.any() else float(np.nan_to_num(nominal_ns))
    excess_ns = steps_ns - sizes * median_ns
    gap = known & (np.abs(excess_ns) > _GAP_SHARE * median_ns * sizes)
    return _Steps(by_packet, median_ns, nominal_ns, gap | ~known, excess_ns[gap])


def _smooth(ends_ns: IntArray, sizes: IntArray, steps: _Steps) -> tuple[IntArray, FloatArray]:
    """Return ends and spacings of packets on the fitted line of each segment without gaps."""
    stretch: IntArray = np.cumsum(steps.apart) - steps.apart[:1]
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    number = np.bincount(stretch)
    samples = np.cumsum(sizes).astype(np.float64)
    samples -= (np.add.reduceat(samples, starts) / number)[stretch]
    origin = ends_ns[starts][stretch]
    since = (ends_ns - origin).astype(np.float64)
    mean = (np.add.reduceat(since, starts) / number)[stretch]
    square = np.add.reduceat(samples * samples, starts)
    slope = np.full(len(starts), steps.median_ns)
    np.divide(np.add.reduceat(samples * since, starts), square, out=slope, where=number > 1)
    ends = origin + np.rint(mean + slope[stretch] * samples).astype(np.int64)
    return ends, slope[stretch]


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")
