"""Accuracy of estimators on public data sets, in one run with the package vqf."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from strapdown._html import html_table
from strapdown._version import __version__
from strapdown._words import counted, wording
from strapdown.errors import StrapdownError, ValueRangeError
from strapdown.fleet.data_sets import DataSet, Trial, read_trial
from strapdown.fleet.estimators import ESTIMATORS, PEERS, estimate, peer_version
from strapdown.fleet.mapping import map as fleet_map
from strapdown.fleet.page import page
from strapdown.formats._output import check_ending, replacing
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from strapdown.fleet.estimators import Estimate
    from strapdown.fleet.mapping import Progress

__all__ = ["Accuracy", "evaluate_trial", "measure_accuracy"]

ENDINGS: Final = (".parquet", ".csv", ".json", ".html")
"""Formats of the rows."""
FIGURES: Final = ("total_deg", "heading_deg", "inclination_deg")
_HEADINGS: Final = {name: name.removesuffix("_deg") for name in FIGURES} | {"errors": "failed"}
_COLUMNS: Final = (
    "data_set",
    "part",
    "recording",
    "axes",
    "library",
    "filter",
    *FIGURES,
    "samples",
    "error",
)
_KEY: Final = ("data_set", "part", "axes", "library", "filter")


@dataclass(frozen=True)
class Accuracy:
    """Errors of estimators on the recordings of data sets.

    Parameters
    ----------
    rows : sequence of mapping
        One for each recording, number of axes (9 with the magnetic field, 6 without) and
        estimator: root mean square of the total, heading and inclination error [deg], ``samples``
        that count, and ``error``, None unless the estimator failed. ``part`` is that of
        :class:`Trial`.
    failed : mapping of str to str
        Reason for which a recording could not be evaluated, by its path.
    """

    rows: Sequence[Mapping[str, Any]]
    failed: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> list[dict[str, Any]]:
        """Return the means over the recordings of each data set, in the order of the rows.

        An estimator that failed on a recording has no means. ``median_total_deg`` is the median
        of the total errors.
        """
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row[name] for name in _KEY), []).append(row)
        found = []
        for key, members in groups.items():
            errors = sum(row["error"] is not None for row in members)
            means: dict[str, float | None] = dict.fromkeys((*FIGURES, "median_total_deg"))
            if not errors:
                means |= {name: statistics.fmean(row[name] for row in members) for name in FIGURES}
                means["median_total_deg"] = statistics.median(row["total_deg"] for row in members)
            counts = {"recordings": len(members), "errors": errors}
            found.append({**dict(zip(_KEY, key, strict=True)), **counts, **means})
        return found

    def tables(self) -> Iterator[tuple[str, list[str], list[list[str]]]]:
        """Yield title, heading and lines of a table for each part of a data set: means [deg].

        Where an estimator failed, there is a column with the number of recordings on which it did.
        """
        means = self.summary()
        for name, part in dict.fromkeys((row["data_set"], row["part"]) for row in means):
            rows = [row for row in means if (row["data_set"], row["part"]) == (name, part)]
            count = counted(rows[0]["recordings"], "recording")
            yield f"{name}, {part}, {count}: mean RMS error [deg]", *_table(rows)

    def write(self, path: Path | str, *, force: bool = False) -> None:
        """Write the rows as .parquet, .csv or .json, or the tables and the rows as .html.

        Raises
        ------
        UnsupportedError
            Another ending.
        FileExistsError
            The file exists and ``force`` is not set.
        BackendMissingError
            pyarrow is not installed, for .parquet.
        """
        path = Path(path)
        check_ending(path, ENDINGS)
        with replacing(path, force=force) as partial_path:
            _WRITERS[path.suffix.lower()](self, partial_path)

    def _repr_html_(self) -> str:
        return "".join([*_tables_in_html(self), *_failed_in_html(self)])


def measure_accuracy(
    folders: Sequence[Path | str],
    *,
    executor: Executor | str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Accuracy:
    """Evaluate every filter and smoother on data sets, and those of vqf if it is installed.

    All have their default parameters, and receive the same samples. With a magnetometer each
    runs twice: with the magnetic field (9D) and without (6D).

    Parameters
    ----------
    folders : sequence of path-like
        Downloaded data sets; each is recognised by its files (:class:`DataSet`).
    executor, progress
        As in :func:`map`.

    Returns
    -------
    Accuracy

    Raises
    ------
    FormatError
        A folder has the layout of no data set.
    ValueRangeError
        There is no folder, or two have the same recordings.
    """
    sets = [DataSet.find(folder) for folder in folders]
    paths = [path for each in sets for path in each.recordings]
    if not paths or len(set(paths)) < len(paths):
        raise ValueRangeError("expected the folders of one data set or more, each once")
    items = [
        {"data_set": each.name, "recording": str(path), "vqf": peer_version()}
        for each in sets
        for path in each.recordings
    ]
    with TemporaryDirectory() as out:
        manifest = fleet_map(evaluate_trial, items, executor=executor, out=out, progress=progress)
        rows = [row for _, found in manifest.rows() for row in found]
    failed = {unit.item["recording"]: unit.error for unit in manifest.failed}
    return Accuracy(rows, failed)


def evaluate_trial(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Evaluate every estimator on one recording: the task of :func:`measure_accuracy`.

    Parameters
    ----------
    item : mapping
        ``data_set``, ``recording`` (path) and ``vqf``: its version, None without it.

    Returns
    -------
    list of dict
        Rows of :class:`Accuracy`.
    """
    trial = read_trial(item["data_set"], Path(item["recording"]))
    estimators: dict[tuple[str, str], Estimate] = {}
    if item["vqf"] is not None:
        estimators = {(f"vqf {item['vqf']}", name): peer for name, peer in PEERS.items()}
    estimators |= {("strapdown", name): partial(estimate, name) for name in ESTIMATORS}
    rows = []
    for with_field in [True, False] if trial.series.magnetic_field is not None else [False]:
        for (library, name), estimator in estimators.items():
            row: dict[str, Any] = dict.fromkeys(_COLUMNS)
            row |= {"data_set": trial.data_set, "part": trial.part, "recording": trial.name}
            row |= {"axes": 9 if with_field else 6, "library": library, "filter": name}
            rows.append(row | _errors(estimator, trial, with_field=with_field))
    return rows


def _errors(estimator: Estimate, trial: Trial, *, with_field: bool) -> dict[str, Any]:
    """Return the figures of an estimator, or its error."""
    try:
        q = estimator(trial.series, with_field)
        estimated = Trajectory(trial.series.t_ns, q)
        found = trial.evaluate(estimated, with_field=with_field)
    except (StrapdownError, ArithmeticError) as error:
        return {"error": wording(error)}
    return {**{name: getattr(found, name) for name in FIGURES}, "samples": found.samples}


def _table(means: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heading and lines of the means of a part of a data set."""
    cells = {(row["library"], row["filter"], row["axes"]): row for row in means}
    axes = sorted({row["axes"] for row in means}, reverse=True)
    failed = {row["axes"] for row in means if row["errors"]}
    shown = [(count, figure) for count in axes for figure in FIGURES]
    shown += [(count, "errors") for count in axes if count in failed]
    heading = ["", *(f"{count}D {_HEADINGS[figure]}" for count, figure in shown)]
    lines = [
        [" ".join(label), *(_cell(cells[*label, count][figure]) for count, figure in shown)]
        for label in dict.fromkeys((row["library"], row["filter"]) for row in means)
    ]
    return heading, lines


def _cell(figure: float | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:.2f}" if isinstance(figure, float) else str(figure)


def _write_parquet(accuracy: Accuracy, path: Path) -> None:
    from strapdown.fleet.results import write_table  # noqa: PLC0415 (loads what simulates)

    write_table(path, _COLUMNS, iter(accuracy.rows))


def _write_csv(accuracy: Accuracy, path: Path) -> None:
    import csv  # noqa: PLC0415 (few need it)

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(accuracy.rows)


def _write_json(accuracy: Accuracy, path: Path) -> None:
    content = {
        "strapdown": __version__,
        "summary": accuracy.summary(),
        "rows": list(accuracy.rows),
        "failed": accuracy.failed,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _write_html(accuracy: Accuracy, path: Path) -> None:
    title = f"Accuracy of strapdown {__version__}"
    rows = [[_shown(row[name]) for name in _COLUMNS] for row in accuracy.rows]
    every = html_table("Every recording [deg]", _COLUMNS, rows)
    parts = [*_tables_in_html(accuracy), every, *_failed_in_html(accuracy)]
    path.write_text("\n".join(page(title, parts)), "utf-8")


def _tables_in_html(accuracy: Accuracy) -> list[str]:
    return [html_table(*table) for table in accuracy.tables()]


def _failed_in_html(accuracy: Accuracy) -> list[str]:
    if not accuracy.failed:
        return []
    return [html_table("Failed", ("recording", "error"), accuracy.failed.items())]


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


_WRITERS: Final = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".json": _write_json,
    ".html": _write_html,
}
