"""Receivers and barometers in logs of PX4, old and new, against pyulog."""

from __future__ import annotations

import numpy as np
import pytest
from pyulog import ULog

import strapdown
from strapdown.messages.conversion import barometer_from_air_data, gnss_from_sensor_gps
from strapdown.series import FixType, GnssSeries
from strapdown.series.columns import present


@pytest.fixture
def log_of(data_dir):
    """Path of a log of PX4 by its name."""
    return (data_dir / "px4" / "ulog").__truediv__


def theirs(path, topic, instance=0):
    """Return the columns that pyulog reads."""
    return ULog(str(path), [topic]).get_dataset(topic, instance).data


def test_whole_degrees_of_early_releases(log_of):
    path = log_of("sample_log_small.ulg")
    fixes = strapdown.open(path).gnss["vehicle_gps_position"]
    log = theirs(path, "vehicle_gps_position")
    assert len(fixes) == 32
    assert fixes.t_ns.tolist() == [1000 * int(t) for t in log["timestamp"]]
    assert np.degrees(fixes.latitude) == pytest.approx(log["lat"] * 1e-7, abs=1e-12)
    assert np.degrees(fixes.longitude) == pytest.approx(log["lon"] * 1e-7, abs=1e-12)
    assert fixes.altitude == pytest.approx(log["alt_ellipsoid"] * 1e-3, abs=1e-9)
    assert fixes.velocity_world == pytest.approx(
        np.stack([log["vel_e_m_s"], log["vel_n_m_s"], -log["vel_d_m_s"]], axis=1)
    )
    assert fixes.position_covariance[:, 0, 0] == pytest.approx(log["eph"].astype(float) ** 2)
    assert fixes.position_covariance[:, 2, 2] == pytest.approx(log["epv"].astype(float) ** 2)
    speed = log["s_variance_m_s"].astype(float)
    assert fixes.velocity_covariance[:, 1, 1] == pytest.approx(speed**2)
    assert fixes.fix_type.tolist() == log["fix_type"].tolist()
    assert fixes.satellites.tolist() == log["satellites_used"].tolist()
    assert np.isnan(fixes.heading).all()


def test_degrees_and_metres_of_late_releases(log_of):
    path = log_of("sample_px4_events.ulg")
    recording = strapdown.open(path)
    log = theirs(path, "vehicle_gps_position")
    fixes = recording.gnss["vehicle_gps_position"]
    assert len(fixes) == 583
    assert fixes.t_ns.tolist() == [
        1000 * int(sampled or published)
        for sampled, published in zip(log["timestamp_sample"], log["timestamp"], strict=True)
    ]
    fixed = log["fix_type"] >= 3  # the simulated receiver begins without a fix
    latitude, plane = log["latitude_deg"][fixed], log["fix_type"] >= 2
    assert fixes.has_fix.tolist() == plane.tolist()
    assert np.degrees(fixes.latitude[fixed]) == pytest.approx(latitude, abs=1e-12)
    assert fixes.altitude[fixed] == pytest.approx(log["altitude_ellipsoid_m"][fixed])
    assert {*recording.gnss} == {"vehicle_gps_position", "sensor_gps.0"}
    assert recording.gnss_topic() == "vehicle_gps_position"
    assert len(recording.gnss_series("sensor_gps.0")) == 31


def test_air_data(log_of):
    path = log_of("sample_px4_events.ulg")
    air = strapdown.open(path).barometers["vehicle_air_data"]
    log = theirs(path, "vehicle_air_data")
    assert air.t_ns.tolist() == [1000 * int(t) for t in log["timestamp_sample"]]
    assert air.altitude.tolist() == log["baro_alt_meter"].tolist()
    assert air.pressure.tolist() == log["baro_pressure_pa"].tolist()
    assert air.temperature.tolist() == log["baro_temp_celcius"].tolist()


def test_blocks_hold_the_same_fixes(log_of):
    path = log_of("sample_px4_events.ulg")
    with strapdown.formats.open_blocks(path) as blocks:
        parts = [block.gnss["vehicle_gps_position"] for block in blocks if block.gnss]
    assert type(parts[0]).concatenate(parts) == strapdown.open(path).gnss["vehicle_gps_position"]


FIELDS = [
    ("timestamp", "u8"), ("lat", "i4"), ("lon", "i4"), ("alt_ellipsoid", "i4"), ("heading", "f4"),
    ("heading_accuracy", "f4"), ("vel_n_m_s", "f4"), ("vel_e_m_s", "f4"), ("vel_d_m_s", "f4"),
    ("fix_type", "u1"), ("vel_ned_valid", "?"),
]  # fmt: skip


def test_rows_without_a_fix_have_no_position():
    rows = np.zeros(5, FIELDS)
    rows["lat"], rows["fix_type"] = 400_000_000, [0, 2, 3, 6, 8]
    rows["vel_ned_valid"] = [0, 1, 1, 1, 1]
    fixes = gnss_from_sensor_gps(rows)
    assert fixes.fix_type.tolist() == [
        FixType.NO_FIX, FixType.FIX_2D, FixType.FIX_3D, FixType.RTK_FIXED, FixType.DEAD_RECKONING,
    ]  # fmt: skip
    assert np.isfinite(fixes.latitude).tolist() == [False, True, True, True, False]
    assert np.isfinite(fixes.altitude).tolist() == [False, False, True, True, False]
    assert np.isfinite(fixes.velocity_world[:, 0]).tolist() == [False, True, True, True, True]
    assert not fixes.position_covariance.any()


def test_headings_count_from_north_to_east_in_px4():
    rows = np.zeros(3, FIELDS)
    rows["fix_type"], rows["heading"] = 3, [0.0, np.pi / 2.0, -3.0]
    rows["heading_accuracy"] = [0.1, np.nan, 0.2]
    fixes = gnss_from_sensor_gps(rows)
    assert fixes.heading == pytest.approx(
        [np.pi / 2.0, 0.0, np.pi / 2.0 + 3.0 - 2.0 * np.pi], abs=1e-6
    )
    assert fixes.heading_sigma == pytest.approx([0.1, 0.0, 0.2])


def test_rows_without_a_position_are_no_fixes():
    rows = np.zeros(2, [("timestamp", "u8"), ("time_utc_usec", "u8")])
    assert gnss_from_sensor_gps(rows) is None
    assert barometer_from_air_data(rows) is None


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_arrays_hold_fixes_and_air_data(log_of, tmp_path, ending):
    recording = strapdown.open(log_of("sample_px4_events.ulg"))
    copy = tmp_path / f"copy{ending}"
    strapdown.write(copy, recording)
    again = strapdown.open(copy)
    assert again.gnss == recording.gnss
    assert again.barometers == recording.barometers


def test_a_copied_log_names_the_fixes_that_it_does_not_hold(log_of, tmp_path):
    recording = strapdown.open(log_of("sample_px4_events.ulg"))
    copied = strapdown.write(tmp_path / "copy.ulg", recording)
    (left,) = (line for line in copied.lost if "not carried over" in line)
    assert "vehicle_gps_position" in left


def test_a_ulog_holds_fixes_and_air_data(log_of, tmp_path):
    recording = strapdown.open(log_of("sample_px4_events.ulg"))
    own = strapdown.Recording(gnss=recording.gnss, barometers=recording.barometers)
    path = tmp_path / "own.ulg"
    report = strapdown.write(path, own)
    assert (report.lost, report.notes) == ((), ())
    back = strapdown.open(path)
    assert back.report.messages == report.messages
    for name, fixes in recording.gnss.items():
        again = back.gnss[name]
        for column, _, values in present(fixes):
            np.testing.assert_allclose(getattr(again, column), values, rtol=1e-6, err_msg=column)
    assert back.barometers == recording.barometers
    log = theirs(path, "vehicle_gps_position")
    original = theirs(log_of("sample_px4_events.ulg"), "vehicle_gps_position")
    for field in ("timestamp", "fix_type", "satellites_used", "vel_n_m_s", "vel_d_m_s"):
        np.testing.assert_array_equal(log[field], original[field], err_msg=field)
    fixed = original["fix_type"] >= 3
    for field in ("latitude_deg", "longitude_deg", "altitude_ellipsoid_m", "eph", "epv"):
        np.testing.assert_allclose(log[field][fixed], original[field][fixed], rtol=1e-6)


def fixes_of(**columns):
    t_ns = np.arange(1, 5) * 10**9
    degrees = np.radians([47.0, 47.1, np.nan, 47.3])
    covariance = np.tile(np.diag([4.0, 4.0, 9.0]), (4, 1, 1))
    return GnssSeries(t_ns, degrees, degrees / 5, degrees * 100, covariance, **columns)


def test_fixes_without_a_type_get_that_of_their_position(tmp_path):
    path = tmp_path / "a.ulg"
    report = strapdown.write(path, strapdown.Recording(gnss={"fix": fixes_of()}))
    assert report.lost == ()
    assert report.notes == ("fix: written as sensor_gps.0",)
    back = strapdown.open(path).gnss["sensor_gps.0"]
    assert back.fix_type.tolist() == [3, 3, 0, 3]
    np.testing.assert_allclose(back.latitude, fixes_of().latitude, rtol=1e-15)
    np.testing.assert_allclose(back.position_covariance, fixes_of().position_covariance)
    assert np.isnan(back.velocity_world).all()
    assert set(theirs(path, "sensor_gps")["satellites_used"]) == {255}


def test_heading_and_other_axes_are_those_of_px4(tmp_path):
    path, heading = tmp_path / "a.ulg", np.array([0.0, 1.5, -3.0, np.nan])
    velocity = np.array([[1.0, 2.0, 3.0]] * 4)  # north, east, down
    fixes = fixes_of(velocity_world=velocity, heading=heading, world="NED")
    with strapdown.formats.block_writer(path) as writer:
        writer.write(strapdown.Recording(gnss={"fix": fixes[:2]}))
        writer.write(strapdown.Recording(gnss={"fix": fixes[2:]}))
    log = theirs(path, "sensor_gps")
    assert [set(log[f"vel_{axis}_m_s"]) for axis in "ned"] == [{1.0}, {2.0}, {3.0}]
    assert log["cog_rad"] == pytest.approx(np.arctan2(2.0, 1.0))
    back = strapdown.open(path).gnss["sensor_gps.0"]
    np.testing.assert_allclose(back.heading, heading, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(back.in_frames(world="NED").velocity_world, velocity)


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"fix_type": [3, 7, 0, 3]}, "fix_type"),
        ({"fix_type": [3, 0, 0, 3]}, "latitude, longitude, altitude"),
        ({"t_ns": np.arange(4) * 10**9 + 1}, "t_ns below one microsecond"),
    ],
)
def test_what_the_messages_of_px4_do_not_hold_is_named(tmp_path, columns, lost):
    fixes = fixes_of().replace(
        **{k: np.asarray(v, None if k == "t_ns" else np.uint8) for k, v in columns.items()}
    )
    report = strapdown.write(tmp_path / "a.ulg", strapdown.Recording(gnss={"fix": fixes}))
    assert report.lost == (f"fix: {lost}",)


def test_a_covariance_that_is_no_sphere_is_left_out(tmp_path):
    fixes = fixes_of()
    slanted = fixes.position_covariance.copy()
    slanted[:, 0, 1] = slanted[:, 1, 0] = 1.0
    fixes = fixes.replace(position_covariance=slanted)
    report = strapdown.write(tmp_path / "a.ulg", strapdown.Recording(gnss={"sensor_gps.0": fixes}))
    assert report.notes == ("left out of the file: position_covariance",)
