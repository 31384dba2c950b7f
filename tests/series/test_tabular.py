"""Series as tables of pandas, Polars and Arrow, and as HTML."""

from __future__ import annotations

import sys
from dataclasses import fields
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from strapdown._html import html_table
from strapdown.errors import BackendMissingError, ShapeError, ValueRangeError
from strapdown.estimation import ErrorStateFilter, OrientationResult
from strapdown.estimation.navigation import NavigationResult
from strapdown.series import GnssSeries, ImuSeries, Increments, Trajectory, timebase
from strapdown.series.tabular import UNITS

NOON_NS = 1_700_000_000_000_000_001
RATE, FORCE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]]), np.eye(3)[:2]
BITS = np.array([0, 5], np.uint8)
SERIES = ImuSeries(
    np.array([0, 10_000_000]) + NOON_NS,
    RATE,
    FORCE,
    q_world_from_body=np.eye(4)[[3, 0]],
    orientation_covariance=np.arange(18.0).reshape(2, 3, 3),
    gyro_clipping=BITS,
    body="FRD",
    world="NED",
)
TRACK = Trajectory(SERIES.t_ns, np.eye(4)[[3, 0]], moving=[True, False], position_world=FORCE)
DELTAS = Increments(SERIES.t_ns, RATE, FORCE, 10_000_000, 9_000_000, accel_clipping=BITS)
FRAMES = {"body": "FRD", "world": "NED"}


def test_pandas_has_a_column_for_each_number_and_time_in_utc():
    table = SERIES.to_pandas()
    assert list(table.columns[:4]) == [
        "time", "angular_velocity_x", "angular_velocity_y", "angular_velocity_z",
    ]  # fmt: skip
    assert str(table["time"].dtype) == "datetime64[ns, UTC]"
    assert table["time"][0].value == NOON_NS
    assert table["q_world_from_body_w"].tolist() == [1.0, 0.0]
    assert table["orientation_covariance_xy"].tolist() == [1.0, 10.0]
    assert table["gyro_clipping"].dtype == np.uint8
    assert table.attrs["units"]["orientation_covariance_xy"] == "rad^2"
    assert (table.attrs["body"], table.attrs["world"]) == ("FRD", "NED")


def test_polars_has_the_same_columns():
    table = SERIES.to_polars()
    assert table.columns == list(SERIES.to_pandas().columns)
    assert table.schema["time"] == pl.Datetime("ns", "UTC")
    assert table["time"].cast(pl.Int64).to_list() == SERIES.t_ns.tolist()
    assert table["angular_velocity_y"].to_list() == [2.0, 5.0]


def test_arrow_holds_units_and_frames():
    table = SERIES.to_arrow()
    assert table.column_names == SERIES.to_polars().columns
    assert str(table.schema.field("time").type) == "timestamp[ns, tz=UTC]"
    assert table.schema.field("angular_velocity_x").metadata == {b"unit": b"rad/s"}
    assert table.schema.metadata == {b"body": b"FRD", b"world": b"NED"}
    assert table["gyro_clipping"].to_pylist() == [0, 5]


@pytest.mark.parametrize("series", [SERIES, TRACK, DELTAS], ids=["imu", "trajectory", "increments"])
def test_a_table_comes_back_as_the_same_series(series):
    frames = {name: str(getattr(series, name)) for name in FRAMES if hasattr(series, name)}
    assert type(series).from_frame(series.to_pandas()) == series
    assert type(series).from_frame(series.to_polars(), **frames) == series


def test_results_of_filters_are_tables_too():
    result = ErrorStateFilter().run(SERIES.replace(orientation_covariance=None))
    assert "gyro_bias_sigma_z" in result.to_pandas().columns
    assert result.units["gyro_bias"] == "rad/s"


@pytest.mark.parametrize(
    "kind", [ImuSeries, Trajectory, Increments, GnssSeries, OrientationResult, NavigationResult]
)
def test_every_vector_and_covariance_has_a_unit(kind):
    for entry in fields(kind):
        if "column" in entry.metadata and entry.metadata["column"].tail in {(3,), (3, 3)}:
            assert UNITS[entry.name]


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("t_ns", [NOON_NS, NOON_NS + 10_000_000]),
        ("t_s", [1.5, 1.51]),
        ("clock", [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]),
        ("naive", [datetime(2026, 1, 1), datetime(2026, 1, 2)]),  # noqa: DTZ001 (that is the point)
    ],
)
def test_time_is_nanoseconds_seconds_or_date_and_time(library, name, times):
    series = ImuSeries.from_frame(library.DataFrame({name: times} | signals()), **FRAMES)
    expected = {"t_ns": NOON_NS, "t_s": 1_500_000_000}.get(name, 1_767_225_600_000_000_000)
    assert series.t_ns[0] == expected
    assert series.body == "FRD"
    assert np.array_equal(series.angular_velocity, RATE, equal_nan=True)


def signals():
    rate = {f"angular_velocity_{axis}": RATE[:, k].tolist() for k, axis in enumerate("xyz")}
    return rate | {f"specific_force_{axis}": FORCE[:, k].tolist() for k, axis in enumerate("xyz")}


def test_a_pandas_index_of_another_zone_is_time():
    index = pd.DatetimeIndex(["2026-01-01 01:00", "2026-01-01 01:01"], tz="Europe/Berlin")
    series = ImuSeries.from_frame(pd.DataFrame(signals(), index=index))
    assert series.t_ns[0] == 1_767_225_600_000_000_000


@pytest.mark.parametrize("library", [pd, pl])
def test_what_is_no_series_is_refused_in_one_line(library):
    with pytest.raises(ShapeError, match="expected a column t_ns, t_s or one of date and time, go"):
        ImuSeries.from_frame(library.DataFrame(signals()))
    two = {"a": [datetime(2026, 1, 1, tzinfo=UTC)] * 2, "b": [datetime(2026, 1, 1, tzinfo=UTC)] * 2}
    with pytest.raises(ShapeError, match="got 2 of date and time among a, b, angular_velocity_x"):
        ImuSeries.from_frame(library.DataFrame(two | signals()))
    with pytest.raises(ShapeError, match="expected columns specific_force_x, specific_force_y"):
        ImuSeries.from_frame(
            library.DataFrame({"t_ns": [1], **{f"angular_velocity_{k}": [1.0] for k in "xyz"}})
        )
    with pytest.raises(ShapeError, match="expected columns magnetic_field_y, magnetic_field_z"):
        ImuSeries.from_frame(
            library.DataFrame({"t_ns": [1, 2], "magnetic_field_x": [0.0, 0.0]} | signals())
        )
    with pytest.raises(ValueRangeError, match="expected a time in every row"):
        ImuSeries.from_frame(
            library.DataFrame({"t": [datetime(2026, 1, 1, tzinfo=UTC), None]} | signals())
        )
    with pytest.raises(TypeError, match="expected a data frame of pandas or Polars, got ndarray"):
        ImuSeries.from_frame(RATE)


@pytest.mark.parametrize(
    ("method", "library", "extra"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "parquet"),
    ],
)
def test_a_missing_library_is_one_line_with_the_command(monkeypatch, method, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BackendMissingError, match=rf"^{method} needs: pip install '\S+{extra}\]'$"):
        getattr(SERIES, method)()


def test_html_shows_extent_columns_units_and_frames():
    html = SERIES._repr_html_()
    assert "<caption>ImuSeries: 2 samples, 0.01 s, 100.0 Hz</caption>" in html
    assert "<td>angular_velocity</td><td>2 x 3</td><td>rad/s</td><td>FRD</td>" in html
    assert "<td>q_world_from_body</td><td>2 x 4</td><td></td><td>NED from FRD</td>" in html


def test_html_is_escaped():
    assert html_table("<b>", (), [("&", 1)]) == (
        "<table><caption>&lt;b&gt;</caption><tr><td>&amp;</td><td>1</td></tr></table>"
    )


def test_reports_are_tables_of_their_fields():
    html = timebase.report(SERIES.t_ns)._repr_html_()
    assert "<caption>TimeReport</caption><tr><td>samples</td><td>2</td></tr>" in html
