"""Several algorithms on several recordings, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.evaluation._results import Evaluation

__all__ = ["Comparison", "Measured", "compare"]


Measured: TypeAlias = "Mapping[str, float] | Evaluation"
"""Result of one run: an evaluation, or numbers by name."""


@dataclass(frozen=True)
class Comparison:
    """Table of algorithms, recordings and metrics; ``str`` prints it.

    Parameters
    ----------
    algorithms, recordings, metrics : tuple of str
        The names, in the order in which they were passed.
    values : mapping of str to mapping of str to tuple of float
        For each algorithm and metric one value per recording.
    baseline : str or None
        The algorithm whose means are the denominators of the ratios.
    """

    algorithms: tuple[str, ...]
    recordings: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    baseline: str | None

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """For each algorithm and metric the mean over the recordings."""
        return self._over_recordings(np.mean)

    @property
    def median(self) -> dict[str, dict[str, float]]:
        """For each algorithm and metric the median over the recordings."""
        return self._over_recordings(np.median)

    @property
    def ratio(self) -> dict[str, dict[str, float]]:
        """For each algorithm and metric its mean over that of the baseline.

        Empty without baseline; infinite or NaN where the baseline's mean is 0.
        """
        if self.baseline is None:
            return {}
        mean = self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                name: {
                    metric: float(np.divide(mean[name][metric], mean[self.baseline][metric]))
                    for metric in self.metrics
                }
                for name in self.algorithms
            }

    def to_dict(self) -> dict[str, object]:
        """Return names, values, means, medians and ratios in types of JSON."""
        return {
            "algorithms": list(self.algorithms),
            "recordings": list(self.recordings),
            "metrics": list(self.metrics),
            "baseline": self.baseline,
            "values": {
                name: {metric: list(row) for metric, row in by_metric.items()}
                for name, by_metric in self.values.items()
            },
            "mean": self.mean,
            "median": self.median,
            "ratio": self.ratio,
        }

    def __str__(self) -> str:
        mean, median, ratio = self.mean, self.median, self.ratio
        parts = ["mean", "median", *(["ratio"] if ratio else [])]
        rows = [["", *(f"{metric} {part}" for metric in self.metrics for part in parts)]]
        for name in self.algorithms:
            row = [name]
            for metric in self.metrics:
                row += [f"{mean[name][metric]:.4g}", f"{median[name][metric]:.4g}"]
                row += [f"{ratio[name][metric]:.3f}"] if ratio else []
            rows.append(row)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        against = f"; ratios of means to {self.baseline}" if self.baseline else ""
        return "\n".join([*lines, f"over {len(self.recordings)} recordings{against}"])

    def _over_recordings(
        self, statistic: Callable[[tuple[float, ...]], float | np.floating | FloatArray]
    ) -> dict[str, dict[str, float]]:
        return {
            name: {metric: float(statistic(row)) for metric, row in by_metric.items()}
            for name, by_metric in self.values.items()
        }


def compare(
    results: Mapping[str, Mapping[str, Measured]], *, baseline: str | None = None
) -> Comparison:
    """Compare the evaluations of several algorithms in one table.

    Parameters
    ----------
    results : mapping of str to mapping of str to evaluation
        For each algorithm and each recording an evaluation of this package, or a mapping from
        metric to number. All must cover the same recordings and metrics, since means over
        different recordings cannot be compared. A NaN makes its mean NaN.
    baseline : str, optional
        The algorithm by whose means those of all others are divided.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueRangeError
        There is no result, or two algorithms differ in recordings or metrics.
    UnknownNameError
        The baseline is no algorithm of the results.

    Examples
    --------
    >>> runs = {"old": {"a": {"rmse": 2.0}, "b": {"rmse": 4.0}},
    ...         "new": {"a": {"rmse": 1.0}, "b": {"rmse": 3.5}}}
    >>> print(compare(runs, baseline="old"))
         rmse mean  rmse median  rmse ratio
    old          3            3       1.000
    new       2.25         2.25       0.750
    over 2 recordings; ratios of means to old
    """
    runs = {
        name: {recording: _numbers(run) for recording, run in by_recording.items()}
        for name, by_recording in results.items()
    }
    if not runs or not all(runs.values()):
        raise ValueRangeError(
            "expected at least one algorithm, each with recordings, got "
            f"{ {name: len(by_recording) for name, by_recording in runs.items()} }"
        )
    if baseline is not None and baseline not in runs:
        raise UnknownNameError("baseline", baseline, list(runs))
    first = next(iter(runs))
    recordings = tuple(runs[first])
    metrics = tuple(runs[first][recordings[0]])
    for name, by_recording in runs.items():
        if set(by_recording) != set(recordings):
            odd = sorted(set(by_recording) ^ set(recordings))
            raise ValueRangeError(
                f"expected {name} and {first} on the same recordings, got {', '.join(odd)} in one"
                " alone; leave out what is not in both"
            )
        for recording, run in by_recording.items():
            if set(run) != set(metrics):
                raise ValueRangeError(
                    f"expected metrics {', '.join(metrics)}, got {', '.join(run) or 'none'} "
                    f"for {name} on {recording}"
                )
    values = {
        name: {
            metric: tuple(by[recording][metric] for recording in recordings) for metric in metrics
        }
        for name, by in runs.items()
    }
    return Comparison(tuple(runs), recordings, metrics, values, baseline)


def _numbers(run: Measured) -> dict[str, float]:
    measured = run if isinstance(run, Mapping) else run.metrics
    return {metric: float(value) for metric, value in measured.items()}
