"""Pedestrian dead reckoning with a sensor on a foot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.detection.detector import DetectorState
from strapdown.detection.stillness import StillnessDetector, StillnessParams
from strapdown.detection.stillness import _kernels as watching
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import _kernels as head
from strapdown.estimation.filtering import as_inputs, report_of, sample_values, total_account
from strapdown.estimation.foot import _kernels as kernels
from strapdown.estimation.foot.params import FootParams
from strapdown.estimation.foot.result import FootEstimate, FootResult, result_of_foot_rows
from strapdown.estimation.foot.smoothing import _kernels as smoothing
from strapdown.estimation.result import FilterState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from strapdown._typing import FloatArray, IntArray
    from strapdown.estimation.result import FilterReport
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

    Kernel = TypeVar("Kernel", bound=Callable[..., object])
    _Columns = tuple[IntArray, FloatArray, FloatArray, IntArray]
    _Parts = tuple[FloatArray, IntArray, FloatArray, IntArray]

__all__ = ["FootNavigator", "FootState"]

_NAME: Final = "foot-navigator"
_BLOCK: Final = 512  # samples between the states that the way back begins from
_NO_TAPE: Final = np.zeros(0)
_NO_STATES: Final = np.zeros((0, 0))


@dataclass(frozen=True)
class FootState:
    """A saved foot navigator: continue from it and the outputs are the same, bit for bit.

    Parameters
    ----------
    filter : FilterState
        The filter.
    window : DetectorState
        The window of its statistic.
    """

    filter: FilterState
    window: DetectorState

    def to_dict(self) -> dict[str, object]:
        """Return the state as JSON holds it, without loss."""
        return {"filter": self.filter.to_dict(), "window": self.window.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> FootState:
        """Return the state that :meth:`to_dict` gave.

        Raises
        ------
        ValueRangeError
            The data are something else.
        """
        match data:
            case {"filter": dict(saved), "window": dict(window)}:
                return cls(FilterState.from_dict(saved), DetectorState.from_dict(window))
        raise ValueRangeError(f"expected a foot state with filter and window, got {data!r:.200}")


class _Block(NamedTuple):
    """Samples, the navigator before them, and the rows for what it says."""

    columns: _Columns
    parts: _Parts
    out: FloatArray


class _Progress:
    """Tells the share of a number of steps that is done."""

    def __init__(self, tell: Callable[[float], object] | None, steps: int) -> None:
        self._tell, self._steps, self._done = tell, steps, 0

    def step(self) -> None:
        self._done += 1
        if self._tell:
            self._tell(self._done / self._steps)


class FootNavigator:
    """Where a foot goes: inertial navigation that its stances hold together.

    An error-state Kalman filter over fifteen errors (that of
    :class:`~strapdown.estimation.StrapdownNavigator`) learns at every sample how fast the sole
    can be at most. It is told by the statistic of the stance hypothesis optimal detector, not
    by a threshold of it: the noise of the velocity 0 grows with the statistic, from
    ``still_sigma`` near its lower envelope to nothing in a swing. The envelope follows the
    gait, so that running, of which no stance is as quiet as a walker's, is held too. The
    velocity 0 is that of the sole, not that of the sensor above it; standing feet also tell
    the gyro bias; a stance about as high as the last one stands on the same floor.

    The foot rests flat at the start: there is the origin, and the body's forward axis points
    to x (heading is relative to the start, and drifts). Where there are no stances for long,
    as on a bicycle, the position is lost, as the covariance says.

    ``update`` and ``run`` are causal, without delay; the window of the statistic ends at the
    sample. Output is ENU from FLU, from ``run`` the frames of the series.

    Parameters
    ----------
    params : FootParams, optional
    compiled : bool, optional
        False runs the kernels as ordinary Python: the same numbers, slower.

    References
    ----------
    E. Foxlin, "Pedestrian tracking with shoe-mounted inertial sensors", IEEE Computer Graphics
    and Applications 25(6), 2005. I. Skog et al., "Zero-velocity detection: an algorithm
    evaluation", IEEE Transactions on Biomedical Engineering 57(11), 2010. B. Wagstaff,
    V. Peretroukhin, J. Kelly, "Robust data-driven zero-velocity detection for foot-mounted
    inertial navigation", IEEE Sensors Journal 20(2), 2020.

    Examples
    --------
    >>> from strapdown.estimation import ImuSample
    >>> navigator = FootNavigator()
    >>> for k in range(100):
    ...     estimate = navigator.update(ImuSample(k * 5_000_000, (0, 0, 0), (0, 0, 9.80665)))
    >>> estimate.stance
    True
    """

    def __init__(self, params: FootParams | None = None, *, compiled: bool = True) -> None:
        self.params = params or FootParams()
        self._settings = self.params.settings()
        watched = StillnessParams(gravity_m_s2=self.params.gravity).settings()
        self._watch_settings = np.array([watching.SHOE, *watched])
        self._event, self._scratch = np.zeros(8, np.int64), np.zeros(kernels.SCRATCH)
        self._compiled = compiled
        self._step = self._made(kernels.step)
        self.reset()

    def reset(self, state: FootState | None = None) -> None:
        """Go back to a saved state, or to the beginning; the report starts anew.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has not the length of this one's.
        """
        state = state or FootState(
            FilterState(_NAME, 0, kernels.FRESH),
            DetectorState(StillnessDetector.NAME, watching.FRESH, watching.FRESH_ACCOUNT),
        )
        names = state.filter.filter, state.window.detector
        if names != (_NAME, StillnessDetector.NAME):
            raise UnknownNameError("state of this filter", names[0], [_NAME])
        sizes = len(state.filter.values), len(state.window.values), len(state.window.account)
        expected = len(kernels.FRESH), len(watching.FRESH), len(watching.FRESH_ACCOUNT)
        if sizes != expected:
            raise ShapeError(f"expected a state of {expected} numbers, got {sizes}")
        self._account = np.zeros(head.ACCOUNT_SIZE, np.int64)
        self._account[head.LAST_NS] = state.filter.t_ns
        self._state = np.array(state.filter.values)
        self._watch = np.array(state.window.values)
        self._watch_account = np.array(state.window.account, np.int64)

    @property
    def state(self) -> FootState:
        """All that the future depends on, except ``params``."""
        t_ns = int(self._account[head.LAST_NS])
        return FootState(
            FilterState(_NAME, t_ns, tuple(self._state.tolist())),
            DetectorState(
                StillnessDetector.NAME,
                tuple(self._watch.tolist()),
                tuple(self._watch_account.tolist()),
            ),
        )

    @property
    def report(self) -> FilterReport:
        """An account of the samples since the last reset."""
        return report_of(self._account)

    @property
    def estimate(self) -> FootEstimate:
        """What is known at the stamp of the last sample."""
        return FootEstimate(int(self._account[head.LAST_NS]), self._state.copy())

    def update(self, sample: ImuSample) -> FootEstimate:
        """Take one sample and return what is known at its stamp.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        """
        t_ns, rate, force, _, clipped = sample_values(sample)
        self._step(
            self._state, self._account, self._settings,
            self._watch, self._watch_account, self._watch_settings, self._event, self._scratch,
            _NO_TAPE, t_ns, *rate, *force, clipped,
        )  # fmt: skip
        return FootEstimate(self._account.item(head.LAST_NS), self._state.copy())

    def run(
        self,
        series: ImuSeries,
        *,
        smooth: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> FootResult:
        """Go on through a whole recording; the same as a loop of :meth:`update`.

        The navigator continues from its state: parts of a recording may be given one after the
        other.

        Parameters
        ----------
        series : ImuSeries
            In any frames: with ``body="FRD", world="NED"`` the result is NED.
        smooth : bool
            Whether each row may know what comes after it, up to the end of the series: nothing
            jumps at the end of a stride, and errors and covariances are smaller. The state is
            the same.
        progress : callable, optional
            Called with the share that is done, 0 to 1.

        Returns
        -------
        FootResult
            N rows, in the frames of the series.
        """
        t_ns, rate, force, _, clipped = as_inputs(series, use_magnetic_field=False)
        total = self._account
        self._account = np.zeros(head.ACCOUNT_SIZE, np.int64)
        self._account[head.LAST_NS] = total[head.LAST_NS]
        out = np.empty((len(series), kernels.FOOT_ROW))
        blocks: list[_Block] = []
        told = _Progress(progress, (1 + smooth) * -(-len(series) // _BLOCK))
        for first in range(0, len(series), _BLOCK):
            rows = slice(first, first + _BLOCK)
            columns = t_ns[rows], rate[rows], force[rows], clipped[rows]
            if smooth:
                blocks.append(_Block(columns, self._copied_parts(), out[rows]))
            self._run(columns, self._parts(), out[rows])
            told.step()
        report = report_of(self._account)
        self._account = total_account(total, self._account)
        if smooth:
            out[:, kernels.HEIGHT] += self._smooth(blocks, told)
        variance = self.params.gyro_noise**2 * (series.rate_hz if len(series) > 1 else 0.0)
        found = result_of_foot_rows(series.t_ns, out, report, variance)
        return found.in_frames(world=series.world, body=series.body)

    def _parts(self) -> _Parts:
        return self._state, self._account, self._watch, self._watch_account

    def _copied_parts(self) -> _Parts:
        state, account, watch, watch_account = self._parts()
        return state.copy(), account.copy(), watch.copy(), watch_account.copy()

    def _run(
        self,
        columns: _Columns,
        parts: _Parts,
        out: FloatArray,
        states: FloatArray = _NO_STATES,
        tapes: FloatArray = _NO_STATES,
    ) -> None:
        state, account, watch, watch_account = parts
        self._made(kernels.run)(
            state, account, self._settings, watch, watch_account, self._watch_settings,
            *columns, self._event, self._scratch, out, states, tapes,
        )  # fmt: skip

    def _smooth(self, blocks: list[_Block], told: _Progress) -> FloatArray:
        """Go through the blocks again, the last one first, and back through each.

        Return by how much the floors are to be lifted.
        """
        adjoint = np.zeros(smoothing.ADJOINT)
        lifts: list[FloatArray] = []
        for columns, parts, out in reversed(blocks):
            states = np.empty((len(out), len(kernels.FRESH)))
            tapes, lift = np.empty((len(out), kernels.TAPE)), np.zeros(len(out))
            self._run(columns, parts, out, states, tapes)
            self._made(smoothing.back)(adjoint, states, tapes, out, lift)
            lifts.append(lift)
            told.step()
        return np.cumsum(np.concatenate([np.zeros(1), *lifts[::-1]]))[:-1]

    def _made(self, kernel: Kernel) -> Kernel:
        return compile_kernel(kernel) if self._compiled else kernel
