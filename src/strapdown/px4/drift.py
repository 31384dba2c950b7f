"""Drift of both modes of integration under vibration, compared with theory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from strapdown._checks import as_member
from strapdown.inertial import WindowRule, integrate
from strapdown.inertial.self_test import CASES, Case, Coning, delay_s, drift
from strapdown.px4.increments import px4_increments
from strapdown.px4.vehicle_imu.settings import Mode
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from strapdown.series import ImuSeries, Increments

__all__ = ["SelfTest", "SelfTestRow", "self_test"]

_PACKET: Final = 10
"""Samples per packet for the measured delay; chips of 8 kHz are read 800 times a second."""


@dataclass(frozen=True)
class SelfTestRow:
    """Drift of a mode under one vibration.

    Parameters
    ----------
    motion : {"coning", "sculling"}
        Kind of motion.
    amplitude_deg : float
        Half-cone angle or amplitude of the swing [deg].
    frequency_hz : float
        Frequency of the vibration [Hz].
    rate_hz : float
        Sampling rate [Hz].
    samples_per_window : int
        Samples per increment.
    unit : {"deg/h", "m/s^2"}
        Unit of the drifts.
    uncorrected : float
        Drift without any correction, from theory.
    px4, drift : float
        Measured drift of mode ``"px4"``, and of the tested mode.
    """

    motion: str
    amplitude_deg: float
    frequency_hz: float
    rate_hz: float
    samples_per_window: int
    unit: str
    uncorrected: float
    px4: float
    drift: float


@dataclass(frozen=True)
class SelfTest:
    """Drifts and delays of a mode.

    Parameters
    ----------
    mode : Mode
        The tested mode.
    rows : tuple of SelfTestRow
        One per vibration.
    packet_delay_s, px4_packet_delay_s : float
        Delay of the increments of the mode, and of ``"px4"``, where the samples are means over
        packets of a FIFO [s].
    packet_interval_s : float
        Time between two packets [s].
    """

    mode: Mode
    rows: tuple[SelfTestRow, ...]
    packet_delay_s: float
    px4_packet_delay_s: float
    packet_interval_s: float


def self_test(
    mode: Mode | str = Mode.SAVAGE,
    *,
    rate_hz: float | None = None,
    samples_per_window: int | None = None,
) -> SelfTest:
    """Measure the drift of a mode under coning and sculling, and its delay.

    Parameters
    ----------
    mode : Mode or name, optional
        Mode to test.
    rate_hz : float, optional
        Sampling rate [Hz]; by default 200 to 1000, depending on the vibration.
    samples_per_window : int, optional
        Samples per increment; by default 4, and 2 in one row.

    Returns
    -------
    SelfTest

    Raises
    ------
    UnknownNameError
        There is no such mode.
    ValueRangeError
        ``rate_hz`` or ``samples_per_window`` is less than 1, or a window is longer than a motion.
    """
    mode = as_member(Mode, mode, "mode of integration")

    def asked(case: Case) -> Case:
        return Case(
            case.motion,
            case.rate_hz if rate_hz is None else rate_hz,
            case.samples_per_window if samples_per_window is None else samples_per_window,
        )

    asked(
        min(CASES, key=lambda case: case.motion.duration_s * case.rate_hz)
    )  # raises with the limit in the message
    rows = dict.fromkeys(map(asked, CASES))
    packets = Case(CASES[0].motion, rate_hz or 800.0, samples_per_window or 4, _PACKET)
    px4_delay_s = delay_s(px4_increments, packets)
    return SelfTest(
        mode,
        tuple(_row(mode, case) for case in rows),
        packet_delay_s=px4_delay_s if mode is Mode.PX4 else delay_s(_savage_means, packets),
        px4_packet_delay_s=px4_delay_s,
        packet_interval_s=1.0 / packets.rate_hz,
    )


def _row(mode: Mode, case: Case) -> SelfTestRow:
    coning = isinstance(case.motion, Coning)
    scale = math.degrees(3600.0) if coning else 1.0
    px4 = drift(px4_increments, case)
    return SelfTestRow(
        motion="coning" if coning else "sculling",
        amplitude_deg=math.degrees(case.motion.amplitude),
        frequency_hz=case.motion.frequency_hz,
        rate_hz=case.rate_hz,
        samples_per_window=case.samples_per_window,
        unit="deg/h" if coning else "m/s^2",
        uncorrected=scale * case.uncorrected,
        px4=scale * px4,
        drift=scale * (px4 if mode is Mode.PX4 else drift(_savage, case)),
    )


def _savage(series: ImuSeries, samples_per_window: int) -> Increments:
    return integrate(series, window=WindowRule(samples_per_window)).increments


def _savage_means(series: ImuSeries, samples_per_window: int) -> Increments:
    mean = SampleKind.MEAN
    window = WindowRule(samples_per_window)
    return integrate(series, gyro_kind=mean, accel_kind=mean, window=window).increments
