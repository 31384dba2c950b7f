"""Positions in tables of other programs."""

from __future__ import annotations

import numpy as np
import pytest

import strapdown
from strapdown.errors import FormatError
from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.plan import ImportPlan
from strapdown.formats.foreign.units import factor


@pytest.fixture
def written(tmp_path):
    def write(text, name="track.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# As the app Sensor Logger writes Location.csv
PHONE = """\
time,seconds_elapsed,bearingAccuracy,speedAccuracy,verticalAccuracy,horizontalAccuracy,speed,bearing,altitude,longitude,latitude
1756402222000000000,0.1,5,0.4,3.5,4.2,1.1,30,1601.4,-105.1471665,40.0966916
1756402223000000000,1.1,5,0.4,3.0,4.0,1.2,31,1601.5,-105.1471660,40.0967010
1756402224000000000,2.1,5,0.4,3.0,4.1,1.2,31,1601.6,-105.1471650,40.0967110
1756402225000000000,3.1,5,0.4,0,0,1.2,31,1601.7,-105.1471640,40.0967210
"""


def test_a_location_of_a_phone(written):
    recording = strapdown.open(written(PHONE))
    fixes = recording.gnss_series()
    assert fixes.t_ns[0] == 1_756_402_222_000_000_000
    assert np.degrees(fixes.latitude[:2]) == pytest.approx([40.0966916, 40.0967010], abs=1e-12)
    assert np.degrees(fixes.longitude[0]) == pytest.approx(-105.1471665, abs=1e-12)
    assert fixes.altitude.tolist() == [1601.4, 1601.5, 1601.6, 1601.7]
    assert np.diagonal(fixes.position_covariance[0]) == pytest.approx([4.2**2, 4.2**2, 3.5**2])
    assert not fixes.position_covariance[3].any()
    notes = "\n".join(recording.report.notes)
    assert "latitude, longitude, altitude -> position [deg]" in notes
    assert "altitude is taken as above the ellipsoid: its name states no reference" in notes
    assert not recording.imu


def test_whole_degrees_velocities_and_millimetres(written):
    text = "time_us,lat,lon,alt_msl_mm,vel_n,vel_e,vel_d\n" + "".join(
        f"{t},{400966916 + t // 1000},-1051471665,1601400,1.0,2.0,0.5\n"
        for t in range(0, 1_000_000, 200_000)
    )
    recording = strapdown.open(written(text))
    fixes = recording.gnss_series()
    assert fixes.rate_hz == pytest.approx(5.0)
    assert np.degrees(fixes.latitude[1]) == pytest.approx(40.0967116, abs=1e-12)
    assert fixes.altitude[0] == pytest.approx(1601.4)
    assert fixes.velocity_world[0].tolist() == [2.0, 1.0, -0.5]
    assert any("above mean sea level" in note for note in recording.report.notes)


def test_radians(written):
    text = "timestamp_s,latitude,longitude,height_ellipsoidal\n" + "".join(
        f"{0.25 * k},{0.6998 + 1e-7 * k},-1.8352,1600.0\n" for k in range(5)
    )
    recording = strapdown.open(written(text))
    assert recording.gnss_series().latitude[0] == 0.6998
    assert "height_ellipsoidal is above the ellipsoid" in recording.report.notes


def test_fixes_in_the_rows_of_an_imu(written):
    """A logger repeats the last fix in each row: a fix is a row in which it changes."""
    rng = np.random.default_rng(0)
    lines = ["time_s,acc_x_g,acc_y_g,acc_z_g,gyro_x_dps,gyro_y_dps,gyro_z_dps,lat,lon,alt"]
    for k in range(1000):
        turn = ",".join(f"{each:.4f}" for each in rng.standard_normal(3))
        place = f"{40.1 + (k // 250) * 1e-5:.6f},-105.1,1600.0" if k >= 250 else ",,"
        lines.append(f"{k * 0.01:.2f},0,0,1,{turn},{place}")
    recording = strapdown.open(written("\n".join(lines) + "\n"))
    assert len(recording.imu_series()) == 1000
    assert recording.gnss_series().t_ns.tolist() == [2_500_000_000, 5_000_000_000, 7_500_000_000]


def test_a_table_without_an_altitude_is_no_position(written):
    with pytest.raises(FormatError, match="a magnetometer or a position"):
        strapdown.open(written("time_s,lat,lon\n" + "".join(f"{k}.5,40,1\n" for k in range(5))))


def test_a_plan_keeps_the_meaning(written, tmp_path):
    path = written(PHONE)
    plan = tmp_path / "phone.toml"
    strapdown.formats.foreign.recognised(strapdown.formats.foreign.read_sheet(path)).plan.save(plan)
    assert ImportPlan.load(plan).vectors["position"].columns == (
        "latitude", "longitude", "altitude",
    )  # fmt: skip
    assert strapdown.open(path, columns=plan).gnss == strapdown.open(path).gnss


@pytest.mark.parametrize(
    ("name", "quantity", "axis", "unit"),
    [
        ("GPS Latitude (deg)", "position", "x", "deg"),
        ("lng", "position", "y", None),
        ("alt_msl", "position", "z", None),
        ("Height [m]", "position", "z", None),
        ("eph", "position_sigma", "x", "m"),
        ("vertical accuracy", "position_sigma", "z", "m"),
        ("vel_d_m_s", "velocity", "d", "m/s"),
        ("Speed East", "velocity", "x", "m/s"),
    ],
)
def test_names(name, quantity, axis, unit):
    meaning = meaning_of(name)
    assert (meaning.quantity, meaning.axis, meaning.unit) == (quantity, axis, unit)


def test_the_unit_of_whole_degrees():
    assert factor("position", "degE7") == pytest.approx(np.pi / 180.0 * 1e-7)
