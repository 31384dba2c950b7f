"""What every orientation filter gives: orientation, an account of the samples, a state."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol

from strapdown.errors import ValueRangeError
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray, IntArray
    from strapdown.estimation.samples import ImuSample
    from strapdown.geometry.frames import BodyFrame, WorldFrame
    from strapdown.series import ImuSeries

__all__ = ["FilterReport", "FilterState", "OrientationFilter", "OrientationResult"]


class OrientationFilter(Protocol):
    """The shape of a filter; each also has ``params``, a frozen data class."""

    def update(self, sample: ImuSample) -> FloatArray:
        """Take one sample and return q_world_from_body (4,), ENU from FLU, at its stamp."""

    def run(self, series: ImuSeries, *, use_magnetic_field: bool = True) -> OrientationResult:
        """Go on through a whole series; the same as a loop of :meth:`update`."""

    def reset(self, state: FilterState | None = None) -> None:
        """Go back to a saved state, or to the beginning."""

    @property
    def state(self) -> FilterState:
        """All that the future depends on."""

    @property
    def report(self) -> FilterReport:
        """An account of the samples since the last reset."""


@dataclass(frozen=True)
class FilterReport:
    """An account of the samples that a filter was given.

    Parameters
    ----------
    samples : int
        All of them.
    gaps : int
        Steps longer than five mean sampling intervals and 20 ms.
    longest_gap_ns : int
        The longest of them [ns].
    duplicates, backward : int
        Samples left out because their stamp repeats, or goes back by up to a second.
    invalid_angular_velocity, invalid_specific_force, invalid_magnetic_field : int
        Vectors left out because they were missing, not finite or implausible (a field also
        because it was zero). A missing magnetic field is none: magnetometers are slower.
    restarts : int
        Jumps of the clock after which tilt and heading were set anew.
    """

    samples: int = 0
    gaps: int = 0
    longest_gap_ns: int = 0
    duplicates: int = 0
    backward: int = 0
    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    invalid_magnetic_field: int = 0
    restarts: int = 0

    @property
    def lossless(self) -> bool:
        """Whether every sample was used."""
        return not self.losses()

    def losses(self) -> list[str]:
        """Return one line for each kind of loss, empty where there is none.

        A gap is no loss of the filter: the samples never came.
        """
        counts = {
            "samples with a repeated stamp, left out": self.duplicates,
            "samples whose stamp goes back, left out": self.backward,
            "unusable angular velocities, bridged": self.invalid_angular_velocity,
            "unusable specific forces, left out": self.invalid_specific_force,
            "unusable magnetic fields, left out": self.invalid_magnetic_field,
            "restarts after a jump of the clock": self.restarts,
        }
        return [f"{what}: {count}" for what, count in counts.items() if count]

    def __str__(self) -> str:
        gaps = f", {self.gaps} gaps in time up to {self.longest_gap_ns / 1e6:.1f} ms, bridged"
        used = "; ".join(self.losses()) or "all used"
        return f"{self.samples} samples, {used}" + gaps * bool(self.gaps)

    def to_dict(self) -> dict[str, int | bool]:
        """Return the counts and ``lossless``, as JSON holds them."""
        return asdict(self) | {"lossless": self.lossless}


@dataclass(frozen=True)
class FilterState:
    """A saved filter: continue from it and the outputs are the same, bit for bit.

    Parameters
    ----------
    filter : str
        Name of the filter that it belongs to.
    t_ns : int
        Stamp of the last sample [ns]; 0 before any.
    values : tuple of float
        The state vector; its layout belongs to the filter.

    Raises
    ------
    ValueRangeError
        A value is not finite, or a stamp does not fit in 64 bits.
    """

    filter: str
    t_ns: int
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.values)) or not -(2**63) <= self.t_ns < 2**63:
            raise ValueRangeError(f"expected finite values of a filter state, got {self!r:.200}")

    def to_dict(self) -> dict[str, object]:
        """Return the state as JSON holds it, without loss."""
        return asdict(self) | {"values": list(self.values)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> FilterState:
        """Return the state that :meth:`to_dict` gave.

        Raises
        ------
        ValueRangeError
            The data are something else.
        """
        match data:
            case {"filter": str(name), "t_ns": int(t_ns), "values": [*values]}:
                numbers = tuple(value for value in values if isinstance(value, int | float))
                if len(numbers) == len(values):
                    return cls(name, t_ns, numbers)
        raise ValueRangeError(
            f"expected a filter state with filter, t_ns and values, got {data!r:.200}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class OrientationResult:
    """Orientation at every stamp of a series.

    Parameters
    ----------
    t_ns : (N,) int64
        The stamps of the series [ns]; where a sample was left out, the orientation before it
        stands.
    q_world_from_body : (N, 4)
        x y z w, unit, of continuous sign.
    world, body : frames
        Those of the series.
    report : FilterReport
        An account of the samples of this run.
    uses_magnetic_field : bool
        Whether heading refers to magnetic north; otherwise it is relative to the start.
    """

    t_ns: IntArray
    q_world_from_body: FloatArray
    world: WorldFrame
    body: BodyFrame
    report: FilterReport
    uses_magnetic_field: bool

    def __repr__(self) -> str:
        return f"OrientationResult({self.world} from {self.body}, {self.report})"

    def in_frames(
        self, *, world: WorldFrame | str | None = None, body: BodyFrame | str | None = None
    ) -> OrientationResult:
        """Return the same orientation in other axes: signs and permutations.

        Raises
        ------
        FrameError
            There is no such frame.
        """
        track = self.trajectory().in_frames(world=world, body=body)
        return replace(
            self, q_world_from_body=track.q_world_from_body, world=track.world, body=track.body
        )

    def trajectory(self) -> Trajectory:
        """Return the orientation as a :class:`~strapdown.series.Trajectory`."""
        return Trajectory(self.t_ns, self.q_world_from_body, world=self.world, body=self.body)
