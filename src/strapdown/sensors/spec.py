"""Specification of an IMU: the parameters of its error model, in SI units.

A parameter that is ``None`` is unknown: the term stays off, and :meth:`ImuSpec.missing` lists it.
A scalar applies to all three axes. Everything is frozen: ``dataclasses.replace`` makes a new
object from an old one.

Raises
------
ValueRangeError, ShapeError, TypeError, UnknownNameError
    Of every constructor: a parameter that is NaN, infinite or out of its range; of the wrong
    shape; of the wrong kind; a choice that does not exist.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.samples import SampleKind, as_kind
from strapdown.sensors import _spec_checks as must
from strapdown.sensors._spec_checks import SpecWarning, WhiteNoiseWarning
from strapdown.sensors.triad import (
    Bandwidth,
    BandwidthKind,
    Distribution,
    GaussMarkov,
    Matrix,
    NoiseAt,
    PerAxis,
    Temperature,
    TriadSpec,
    TurnOn,
    Vector,
)

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "Bandwidth",
    "BandwidthKind",
    "Clock",
    "Distribution",
    "Fifo",
    "FifoStamps",
    "GaussMarkov",
    "ImuSpec",
    "Latency",
    "Matrix",
    "NoiseAt",
    "PerAxis",
    "SpecWarning",
    "Temperature",
    "TriadSpec",
    "TurnOn",
    "Vector",
    "WhiteNoiseWarning",
]


@dataclass(frozen=True)
class Clock:
    """The clock of the device against true time.

    Parameters
    ----------
    rate_error_ppm : float
        Relative excess of the clock's rate over true time [ppm].
    ageing_ppm_per_s : float
        Its linear change [ppm/s].
    walk_ppm : float
        Its random walk [ppm/sqrt(s)].
    jitter_s : float
        Standard deviation of the sampling instant, not accumulating [s].
    tick_s : float, optional
        The device's counter: stamps are whole ticks [s].
    tick_bits : int, optional
        Width of the counter, which wraps.
    """

    rate_error_ppm: float = 0.0
    ageing_ppm_per_s: float = 0.0
    walk_ppm: float = 0.0
    jitter_s: float = 0.0
    tick_s: float | None = None
    tick_bits: int | None = None

    def __post_init__(self) -> None:
        must.settle(
            self,
            {
                "rate_error_ppm": must.number(above=-1e6),
                "ageing_ppm_per_s": must.number(),
                "walk_ppm": must.number(0.0),
                "jitter_s": must.number(0.0),
                "tick_s": must.optional(must.number(above=0.0)),
                "tick_bits": must.optional(must.whole(1, 63)),
            },
        )
        if self.tick_bits is not None and self.tick_s is None:
            raise ValueRangeError("expected tick_s with tick_bits, got none")


@dataclass(frozen=True)
class Latency:
    """From the sampling instant to the stamp of the host.

    Parameters
    ----------
    constant_s : float
        [s].
    sigma_s : float
        Normal part, cut off at 0 [s].
    quantiles_s : tuple of float
        Or an empirical distribution: values at equal steps of probability from 0 to 1, linear
        between them [s].
    """

    constant_s: float = 0.0
    sigma_s: float = 0.0
    quantiles_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        must.settle(
            self,
            {
                "constant_s": must.number(0.0),
                "sigma_s": must.number(0.0),
                "quantiles_s": must.many(must.number(0.0)),
            },
        )
        if len(self.quantiles_s) == 1 or np.any(np.diff(self.quantiles_s) < 0.0):
            raise ValueRangeError(
                f"expected two or more rising quantiles_s, got {self.quantiles_s}"
            )
        if self.quantiles_s and self.sigma_s:
            raise ValueRangeError("expected sigma_s or quantiles_s, got both")


class FifoStamps(StrEnum):
    """Stamps of samples that a host reads from a FIFO at once."""

    DEVICE = "device"
    """Each with the device's own clock."""
    BURST = "burst"
    """All with the time of the reading."""
    RECONSTRUCTED = "reconstructed"
    """Back from the time of the reading, in steps of the nominal interval."""


@dataclass(frozen=True)
class Fifo:
    """A queue on the device.

    Parameters
    ----------
    watermark : int
        Samples that the host reads at once.
    depth : int, optional
        Samples that fit; more drop the oldest.
    stamps : FifoStamps
    """

    watermark: int
    depth: int | None = None
    stamps: FifoStamps = FifoStamps.DEVICE

    def __post_init__(self) -> None:
        must.settle(
            self,
            {
                "watermark": must.whole(1, 2**20),
                "depth": must.optional(must.whole(1, 2**31)),
                "stamps": must.member(FifoStamps, "way of stamping"),
            },
        )
        if self.depth is not None and self.depth < self.watermark:
            raise ValueRangeError(
                f"expected a depth of at least the watermark {self.watermark}, got {self.depth}"
            )


_RATE = must.number(1e-6, 1e9)  # so that nanoseconds of a run fit into 63 bits


def _rate(value: object, name: str) -> object:
    exact = isinstance(value, int | Fraction) and not isinstance(value, bool)
    settled = _RATE(float(value) if exact else value, name)  # type: ignore[arg-type]  # a number
    return value if exact else settled


_IMU_RULES: dict[str, must.Rule] = {
    "name": must.instance(str),
    "rate_hz": _rate,
    "oversampling": must.optional(must.whole(1, 2**20)),
    "sampling": lambda value, _name: as_kind(value),
    "gyro": must.instance(TriadSpec),
    "accel": must.instance(TriadSpec),
    "mag": must.optional(must.instance(TriadSpec)),
    "clock": must.instance(Clock),
    "latency": must.instance(Latency),
    "fifo": must.optional(must.instance(Fifo)),
    "drop_probability": must.number(0.0, 1.0),
}


NOTHING_KNOWN = TriadSpec()


@dataclass(frozen=True)
class ImuSpec:
    """An IMU: its triads, and how it samples.

    Parameters
    ----------
    name : str
        Of the part.
    rate_hz : float or Fraction
        Output samples a second; a Fraction or an int is exact.
    oversampling : int, optional
        Internal samples an output sample, M; by default 1 without filters, else the smallest
        power of two whose internal rate is 8 times every -3 dB frequency.
    sampling : SampleKind
    gyro, accel : TriadSpec
    mag : TriadSpec, optional
        None is an IMU without magnetometer.
    clock : Clock
    latency : Latency
    fifo : Fifo, optional
    drop_probability : float
        Of each sample, independently.
    """

    name: str = "ideal"
    rate_hz: float | Fraction = 200.0
    oversampling: int | None = None
    sampling: SampleKind = SampleKind.POINT
    gyro: TriadSpec = NOTHING_KNOWN
    accel: TriadSpec = NOTHING_KNOWN
    mag: TriadSpec | None = None
    clock: Clock = Clock()
    latency: Latency = Latency()
    fifo: Fifo | None = None
    drop_probability: float = 0.0

    def __post_init__(self) -> None:
        must.settle(self, _IMU_RULES)
        for name, triad in self.triads().items():
            if name != "gyro" and (triad.g_sensitivity or triad.g_squared_sensitivity):
                raise ValueRangeError(f"expected g_sensitivity of the gyro only, got {name}'s")
            frequency = triad.bandwidth and triad.bandwidth.frequency_hz
            if (
                frequency
                and self.oversampling
                and 2 * frequency >= self.oversampling * self.rate_hz
            ):
                raise ValueRangeError(
                    f"expected {name}.bandwidth below half the internal rate of "
                    f"{float(self.oversampling * self.rate_hz):g} Hz, got {frequency:g} Hz"
                )
        for kind, triad in (("gyro", self.gyro), ("accel", self.accel)):
            must.warn_if_implausible(self.name, kind, triad.per_axis("noise_density"))

    def triads(self) -> dict[str, TriadSpec]:
        """Return the triads by name: gyro, accel, and mag where there is one."""
        named = {"gyro": self.gyro, "accel": self.accel, "mag": self.mag}
        return {name: triad for name, triad in named.items() if triad is not None}

    def missing(self) -> tuple[str, ...]:
        """Return the parameters of the triads that are unknown, such as ``gyro.noise_density``."""
        return tuple(
            f"{name}.{field.name}"
            for name, triad in self.triads().items()
            for field in fields(triad)
            if getattr(triad, field.name) is None
            and (name == "gyro" or not field.name.startswith("g_"))
        )

    def allan(self, tau_s: ArrayLike) -> dict[str, FloatArray]:
        """Return the Allan deviation of each triad at the cluster times ``tau_s`` (...) [s].

        :meth:`TriadSpec.allan`, and where rounding carries its residue, the quantisation of the
        running sum: sqrt(3) Q / tau with Q = resolution / (sqrt(12) rate).

        Returns
        -------
        dict of (..., 3)
            By name of the triad.

        Raises
        ------
        ValueRangeError
            A cluster time is not positive.
        """
        return {name: self._allan(triad, tau_s) for name, triad in self.triads().items()}

    def _allan(self, triad: TriadSpec, tau_s: ArrayLike) -> FloatArray:
        curve = triad.allan(tau_s)
        if not triad.carry_residue or triad.resolution is None:
            return curve
        step = triad.resolution / float(self.rate_hz)
        return np.hypot(curve, 0.5 * step / np.asarray(tau_s)[..., np.newaxis])

    def to_json(self) -> str:
        """Return the spec as JSON text, from which :meth:`from_json` restores an equal one."""
        return json.dumps(asdict(self), default=str, allow_nan=False)  # str: of a Fraction

    @classmethod
    def from_json(cls, text: str) -> ImuSpec:
        """Return the spec that :meth:`to_json` wrote; absent parameters have their defaults.

        Raises
        ------
        FormatError
            The text is no JSON object, or a value is of the wrong kind.
        UnknownNameError
            There is no such parameter.
        ValueRangeError, ShapeError
            As the constructor.
        """
        try:
            spec: ImuSpec = _build(cls, json.loads(text), "the spec")
        except (TypeError, RecursionError, json.JSONDecodeError) as error:
            raise FormatError(f"expected the JSON of an ImuSpec: {error}") from error
        return spec


_PARTS: dict[str, type] = {
    "gyro": TriadSpec,
    "accel": TriadSpec,
    "mag": TriadSpec,
    "clock": Clock,
    "latency": Latency,
    "fifo": Fifo,
    "bandwidth": Bandwidth,
    "temperature": Temperature,
    "turn_on_bias": TurnOn,
    "turn_on_scale": TurnOn,
    "turn_on_misalignment": TurnOn,
}
"""The fields that hold an object, with its class."""


def _build(kind: type, data: object, name: str) -> Any:  # noqa: ANN401 (of the class that is asked)
    """Return the object that its JSON describes."""
    if not isinstance(data, dict):
        raise TypeError(f"expected {name} as an object, got {data!r}")
    known = [field.name for field in fields(kind)]
    for key in data:
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, known)
    values = dict(data)
    for key, value in data.items():
        if key in _PARTS and value is not None:
            values[key] = _build(_PARTS[key], value, key)
        elif key == "gauss_markov" and isinstance(value, list):
            values[key] = [_build(GaussMarkov, item, key) for item in value]
        elif key == "rate_hz" and isinstance(value, str):
            values[key] = _fraction(value)
    return kind(**values)


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise TypeError(f"expected rate_hz as a number or a fraction, got {text!r}") from None
