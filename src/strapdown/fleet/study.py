"""Studies: motions, sensors, rates, seeds, faults and filters, as a grid or a list of runs."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._checks import as_member
from strapdown._words import wording
from strapdown.errors import FormatError, StrapdownError, UnknownNameError, ValueRangeError
from strapdown.evaluation import (
    Fault,
    OrientationError,
    consistency,
    evaluate_orientation,
    surviving,
    with_faults,
)
from strapdown.evaluation.covariances import nees
from strapdown.fleet.estimators import ESTIMATORS, make_estimator
from strapdown.geometry import quaternion
from strapdown.motion import MOTIONS
from strapdown.samples import SampleKind
from strapdown.sensors import SpecWarning
from strapdown.simulation import find_sensor, simulate
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation import OrientationResult
    from strapdown.sensors import ImuSpec
    from strapdown.series import Trajectory

__all__ = ["AXES", "METRICS", "Study", "shipped", "simulate_and_evaluate"]

AXES: Final = ("motion", "sensor", "rate", "fault", "filter")
"""Columns that distinguish the groups of a study; in each the runs differ by ``seed``."""
METRICS: Final = (
    "inclination_deg",
    "heading_deg",
    "total_deg",
    "inclination_max_deg",
    "nees",
    "within",
)
"""Columns of figures."""
NO_FAULT: Final = "none"

_FOLDER: Final = Path(__file__).with_name("studies")
_KEYS: Final = ("title", "text", "duration", "settle", "grid", "run", "sensor", "filters")
_DEFAULTS: Final[Mapping[str, Any]] = {"rate": 100, "seed": 1, "fault": NO_FAULT}
_RATE_LIMITS: Final = (1, 10_000)
_LEVEL: Final = 0.99
_NEES_NS: Final = NS_PER_S
"""Interval of the rows whose squared errors count."""


@dataclass(frozen=True)
class Study:
    """Runs to simulate, estimate and evaluate.

    Parameters
    ----------
    title, text : str
        Heading and introduction of the report.
    items : sequence of mapping
        A simulated recording each, with the filters to run on it: the items of
        :func:`simulate_and_evaluate`.
    notes : sequence of str
        Warnings about its sensors.
    """

    title: str
    text: str
    items: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()

    @property
    def runs(self) -> int:
        """Number of runs, one a recording and filter."""
        return sum(len(item["filters"]) for item in self.items)

    @classmethod
    def from_file(cls, path: Path | str) -> Study:
        """Return the study of a TOML file, or a shipped one by name.

        Raises
        ------
        FormatError
            With the key and the reason.
        OSError
            The file cannot be read.
        """
        path = Path(path)
        if not path.is_file() and (_FOLDER / f"{path}.toml").is_file():
            path = _FOLDER / f"{path}.toml"
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            names = ", ".join(shipped())
            text = f"expected a file, or a study of strapdown: {names}"
            raise FormatError(text, path=path) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"expected TOML: {error}", path=path) from error
        try:
            return _study(content, path.parent)
        except (UnknownNameError, ValueRangeError) as error:
            raise FormatError(wording(error), path=path) from error


def shipped() -> list[str]:
    """Return the names of the studies that come with strapdown."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def _study(content: Mapping[str, Any], folder: Path) -> Study:
    _refuse_others("key of a study", content, _KEYS)
    length_s = _number(content.get("duration", 60.0), "duration")
    settle_s = _number(content.get("settle", 5.0), "settle")
    if not 0.0 <= settle_s < length_s:
        raise ValueRangeError(
            f"expected settle of 0 s or more and less than the duration of {length_s:g} s, got "
            f"{settle_s:g} s"
        )
    built = content.get("sensor", {})
    tables = [_singular(content["grid"], content.get("filters", []))] if "grid" in content else []
    tables += content.get("run", [])
    if not tables:
        raise ValueRangeError("expected a table [grid], or one [[run]] or more, got neither")
    if "filters" in content and "grid" not in content:
        raise ValueRangeError("expected a table [grid] for [[filters]], got none")
    items: list[dict[str, Any]] = []
    for table in tables:
        axes = _axes(table, built, folder)
        for motion, sensor, rate, seed, fault in product(
            *(axes[name] for name in ("motion", "sensor", "rate", "seed", "fault"))
        ):
            run = {"motion": motion, "sensor": sensor, "rate": rate, "seed": seed, "fault": fault}
            limits = {"duration": length_s, "settle": settle_s}
            items.append({**run, "filters": axes["filter"], **limits})
    specs = {str(item["sensor"]): item["sensor"] for item in items}
    notes = [note for sensor in specs.values() for note in _noted(sensor)]
    return Study(str(content.get("title", "Study")), str(content.get("text", "")), items, notes)


def _singular(grid: Mapping[str, Any], filters: object) -> dict[str, Any]:
    """Return a grid with the keys of a run; a number of seeds becomes their list."""
    _refuse_others("key of [grid]", grid, [f"{name}s" for name in (*AXES, "seed")])
    table = {name[:-1]: value for name, value in grid.items()}
    table["filter"] = _listed(table.get("filter", [])) + _listed(filters)
    seeds = table.get("seed", 1)
    if isinstance(seeds, int):
        table["seed"] = list(range(seeds))
    return table


def _axes(table: Mapping[str, Any], built: Mapping[str, Any], folder: Path) -> dict[str, list[Any]]:
    """Return the values of each axis, checked; names of files become paths."""
    _refuse_others("key of [[run]]", table, (*AXES, "seed"))
    axes: dict[str, list[Any]] = {}
    for name in (*AXES, "seed"):
        value = table.get(name, _DEFAULTS.get(name))
        axes[name] = _listed(value)
        if value is None or not axes[name]:
            raise ValueRangeError(f"expected {name} in every grid and run, got none")
    axes["motion"] = [_motion(value, folder) for value in axes["motion"]]
    axes["sensor"] = [_sensor(value, built, folder) for value in axes["sensor"]]
    axes["filter"] = [each for value in axes["filter"] for each in _filters(value)]
    _check_values(axes)
    return axes


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _check_values(axes: Mapping[str, Sequence[Any]]) -> None:
    """Raise unless faults, rates and seeds exist or are in their range, and filters differ."""
    names = [filter_label(each) for each in axes["filter"]]
    for name in names:
        if names.count(name) > 1:
            raise ValueRangeError(f"expected each filter once, got {name!r} again")
    for fault in axes["fault"]:
        if fault != NO_FAULT:
            as_member(Fault, fault, "fault")
    low, high = _RATE_LIMITS
    for rate in axes["rate"]:
        if not low <= _number(rate, "rate") <= high:
            raise ValueRangeError(f"expected a rate of {low} to {high} Hz, got {rate}")
    for seed in axes["seed"]:
        if not isinstance(seed, int) or seed < 0:
            raise ValueRangeError(f"expected seeds of 0 or more, got {seed!r}")


def _filters(value: object) -> list[str | dict[str, Any]]:
    """Return the estimators of an entry: a name, or one for each combination of parameters."""
    table = value if isinstance(value, Mapping) else {"name": value}
    _refuse_others("key of a filter", table, ("name", "parameters"))
    if "name" not in table:
        raise ValueRangeError(f"expected the name of a filter, got none in {dict(table)!r}")
    name = str(table["name"])
    if name not in ESTIMATORS:
        raise UnknownNameError("filter", name, ESTIMATORS)
    parameters = table.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise ValueRangeError(f"expected parameters of {name} as a table, got {parameters!r}")
    if not parameters:
        return [name]
    lists = [_listed(each) for each in parameters.values()]
    if not all(lists):
        raise ValueRangeError(f"expected a value or more of each parameter of {name}, got none")
    found: list[str | dict[str, Any]] = []
    for values in product(*lists):
        each = dict(zip(parameters, values, strict=True))
        make_estimator(name, each)
        found.append({"name": name, "parameters": each})
    return found


def _motion(value: object, folder: Path) -> str | Path:
    if value in MOTIONS:
        return str(value)
    path = folder / str(value)
    if not path.is_file():
        raise UnknownNameError("motion or file", str(value), MOTIONS)
    return path


def _sensor(value: object, built: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return name and profile of a sensor, and the profile of its gyro if it is another one."""
    name = str(value)
    table = built.get(name, {"profile": name})
    _refuse_others(f"key of [sensor.{name}]", table, ("profile", "gyro"))
    profiles = {"profile": name, **table}
    for key, profile in profiles.items():
        path = folder / str(profile)
        profiles[key] = path if path.is_file() else str(profile)
    return {"name": name, **profiles}


def _noted(sensor: Mapping[str, Any]) -> list[str]:
    """Return the warnings about a sensor; raise if it does not exist."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpecWarning)
        _spec(sensor, 100.0)
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def _spec(sensor: Mapping[str, Any], rate_hz: float) -> ImuSpec:
    """Return the specification of a sensor, whose samples are means over their interval."""
    spec = find_sensor(sensor["profile"], rate_hz=rate_hz, sampling=SampleKind.MEAN)
    if "gyro" not in sensor:
        return spec
    return replace(spec, gyro=find_sensor(sensor["gyro"], rate_hz=rate_hz).gyro)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueRangeError(f"expected a number as {name}, got {value!r}")
    return float(value)


def _refuse_others(kind: str, table: object, known: Sequence[str]) -> None:
    if not isinstance(table, Mapping):
        raise ValueRangeError(f"expected a table with the keys {', '.join(known)}, got {table!r}")
    for key in table:
        if key not in known:
            raise UnknownNameError(kind, key, known)


def simulate_and_evaluate(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Simulate a recording, run each filter on it, and return a row of errors for each.

    Without a magnetometer the heading is relative to the start: the mean heading error of the
    first second after ``settle`` is removed, and NEES and bound are those of the inclination.
    Samples are means over their interval: samples of an instant would make every filter late by
    half an interval, which hides the errors of good sensors.

    Parameters
    ----------
    item : mapping
        ``motion``, ``sensor`` (``name``, ``profile``, and ``gyro`` for that of another profile),
        ``rate`` [Hz], ``seed``, ``fault``, ``filters``, ``duration`` and ``settle`` [s]. Rows
        until ``settle`` do not count. A filter is a name, or a mapping of ``name`` and
        ``parameters``, by name.

    Returns
    -------
    list of dict
        One a filter: the axes, ``parameters`` that are set (JSON), ``seed``, ``samples``, errors
        [deg] (root mean square and largest), ``nees`` per degree of freedom (1 is consistent)
        with its 99 % band ``nees_lower`` to ``nees_upper`` for independent rows, ``within``, the
        share of rows within their 99 % bound, ``dof``, and ``error``, None unless the filter
        failed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # Study reports them once
        spec = _spec(item["sensor"], float(item["rate"]))
        run = simulate(item["motion"], spec, item["duration"], seed=item["seed"])
    truth = run.truth
    if truth is None:
        raise ValueRangeError("expected a motion with a known orientation, this one has none")
    series = run.samples.series(stamps="true")
    if item["fault"] != NO_FAULT:
        (series,) = with_faults(item["fault"], [series])
        truth = surviving(truth, series)
    counted = truth.t_ns - truth.t_ns[0] >= round(item["settle"] * NS_PER_S)
    rows = []
    for each in item["filters"]:
        row = labelled(item, each)
        name, parameters = _parts(each)
        try:
            result = make_estimator(name, parameters).run(series)
            row |= {"samples": len(series), **_figures(result, truth, counted)}
        except (StrapdownError, ArithmeticError) as error:
            row["error"] = wording(error)
        rows.append(row)
    return rows


def filter_label(each: str | Mapping[str, Any]) -> str:
    """Return the name of a filter with the parameters that are set."""
    name, parameters = _parts(each)
    return " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])


def _parts(each: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a filter, and the parameters that are set."""
    return (each, {}) if isinstance(each, str) else (each["name"], each["parameters"])


def labelled(
    item: Mapping[str, Any], each: str | Mapping[str, Any], error: str | None = None
) -> dict[str, Any]:
    """Return the row of a run without figures."""
    motion = item["motion"]
    return {
        "motion": Path(motion).stem if str(motion) not in MOTIONS else str(motion),
        "sensor": item["sensor"]["name"],
        "rate": float(item["rate"]),
        "fault": item["fault"],
        "filter": filter_label(each),
        "parameters": json.dumps(_parts(each)[1]),
        "seed": item["seed"],
        "error": error,
    }


def _figures(result: OrientationResult, truth: Trajectory, counted: Any) -> dict[str, Any]:  # noqa: ANN401 (a mask)
    """Return errors, NEES and bounds of a result."""
    relative = not result.uses_magnetic_field
    found = evaluate_orientation(result, truth[counted], align="heading" if relative else "none")
    world = np.array(found.removed_rotation)
    rows = np.flatnonzero(counted)
    since = truth.t_ns[rows] // _NEES_NS
    rows = rows[np.diff(since, prepend=-1) != 0]
    turn = quaternion.multiply(
        result.q_world_from_body[rows],
        quaternion.conjugate(quaternion.multiply(world, truth.q_world_from_body[rows])),
    )
    dof = 2 if relative else 3
    errors = quaternion.to_rotation_vector(turn)[:, :dof]
    squares = nees(errors, result.orientation_covariance[rows][:, :dof, :dof])
    fit = consistency(squares, dof, level=_LEVEL)
    return {
        **{f"{name}_deg": getattr(found, f"{name}_deg") for name in OrientationError._fields},
        **{
            f"{name}_max_deg": getattr(found, f"{name}_max") / RAD_PER_DEG
            for name in OrientationError._fields
        },
        "nees": fit.average,
        "nees_lower": fit.lower,
        "nees_upper": fit.upper,
        "within": fit.share_within,
        "dof": dof,
    }
