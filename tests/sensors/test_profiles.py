"""Data sheets: the built-in ones against their printed figures, and files of one's own."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.sensors import SpecWarning, WhiteNoiseWarning
from strapdown.sensors.profiles import Datasheet, load_profile, profile_names

DEG = math.pi / 180.0
G = 9.80665
PARTS = [
    "adis16448",
    "adis16470",
    "adis16495-1",
    "adis16505-1",
    "bmi088",
    "bmi160",
    "bmi270",
    "hg1700",
    "hg4930",
    "hg9900",
    "icm20602",
    "icm42688p",
    "icm45686",
    "lsm6dso",
    "lsm6dsv",
    "mpu6050",
    "mpu9250",
    "mti-1",
    "mti-300",
    "stim300",
    "vn100",
]
WITHOUT_WHITE_NOISE = {("adis16495-1", "accel"), ("adis16505-1", "accel")}
TWO_SIDED = ("bmi270", "vn100")
quietly = pytest.mark.filterwarnings("ignore::strapdown.sensors.WhiteNoiseWarning")


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


MINE = """name = "Mine"

[sources.sheet]
title = "my sheet"
grade = "P"

[gyro]
range = { value = [250, 500], unit = "deg/s", source = "sheet", page = "3" }
noise_density = { value = 0.005, unit = "deg/s/sqrt(Hz)", sided = "one", source = "sheet" }
bias_instability = { value = 5, unit = "deg/h" }
zero_offset = { value = 3, unit = "deg/s", meaning = "3sigma", source = "sheet" }
bits = { value = 16, unit = "bit", source = "sheet" }

[gyro.unknown]
bias_random_walk = "nobody measured it"

[accel]
noise_density = { value = [100, 100, 200], unit = "ug/sqrt(Hz)", sided = "two", source = "sheet" }
"""


def test_there_are_twenty_one_parts():
    assert list(profile_names()) == PARTS


@quietly
@pytest.mark.parametrize("name", PARTS)
def test_every_number_of_a_built_in_part_has_a_source_and_every_gap_a_reason(name):
    sheet = load_profile(name)
    assert sheet.unsourced() == ()
    quantities = dict(sheet.quantities())
    assert quantities
    for key, quantity in quantities.items():
        assert quantity.grade in ("P", "S"), key
        sided = "two" if name in TWO_SIDED else "one"
        assert quantity.sided == (sided if key.endswith("noise_density") else None), key
    spec = sheet.spec()
    assert spec.name == sheet.name
    unknown = sheet.unknown()
    assert sorted(unknown) == sorted(spec.missing())
    assert all(unknown.values())


@pytest.mark.parametrize("name", PARTS)
def test_numbers_with_a_primary_source_name_their_page(name):
    for key, quantity in load_profile(name).quantities():
        leaflet = "leaflet" in quantity.source
        assert quantity.page or quantity.grade == "S" or leaflet, key


def test_names_are_found_in_any_spelling():
    sheet = load_profile("mpu6050")
    assert sheet == load_profile("MPU-6050") == load_profile("mpu 6050")
    assert sheet.name == "MPU-6050"
    assert sheet.maker == "InvenSense"


def test_a_wrong_name_gives_the_nearest():
    with pytest.raises(UnknownNameError, match="mpu9250"):
        load_profile("mpu9255")


def test_the_mpu6050_is_what_its_sheet_prints():
    spec = load_profile("mpu6050").spec()
    assert spec.gyro.noise_density == pytest.approx(0.005 * DEG / math.sqrt(2.0))
    assert spec.accel.noise_density == pytest.approx(400e-6 * G / math.sqrt(2.0))
    assert spec.gyro.measurement_range == pytest.approx(2000 * DEG)
    assert 1.0 / (spec.gyro.resolution / DEG) == pytest.approx(16.4, rel=2e-3)  # LSB/(deg/s), p. 12
    assert spec.accel.resolution == pytest.approx(G / 2048)  # p. 13
    assert spec.gyro.bits == spec.accel.bits == 16
    assert spec.gyro.turn_on_scale.distribution == "uniform"
    assert spec.gyro.turn_on_scale.size == pytest.approx(0.03)
    for unknown in ("bias_instability", "bias_random_walk", "turn_on_bias", "bandwidth"):
        assert getattr(spec.gyro, unknown) is None


def test_a_range_sets_the_resolution():
    sheet = load_profile("mpu6050")
    spec = sheet.spec(gyro_range=250 * DEG, accel_range=2 * G)
    assert 1.0 / (spec.gyro.resolution / DEG) == pytest.approx(131.0, rel=1e-3)
    assert spec.accel.resolution == pytest.approx(G / 16384)
    with pytest.raises(ValueRangeError, match="expected a range from"):
        sheet.spec(gyro_range=3000 * DEG)
    small = load_profile("lsm6dsv").spec(gyro_range=125 * DEG, accel_range=2 * G)
    assert small.gyro.resolution == pytest.approx(4.375e-3 * DEG)
    assert small.accel.resolution == pytest.approx(0.061e-3 * G)


def test_limits_without_a_meaning_are_left_off_until_the_caller_says_what_they_mean():
    sheet = load_profile("mpu6050")
    assert "1sigma, 3sigma or max" in sheet.unknown()["accel.turn_on_bias"]
    spec = sheet.spec(unstated_limits="3sigma")
    assert spec.accel.turn_on_bias.per_axis() == pytest.approx(
        (0.05 * G / 3, 0.05 * G / 3, 0.08 * G / 3)
    )
    assert spec.gyro.turn_on_bias.per_axis() == pytest.approx((20 * DEG / 3,) * 3)
    assert spec.gyro.turn_on_scale.distribution == "uniform"  # its meaning is stated
    assert "accel.turn_on_bias" not in sheet.unknown(unstated_limits="3sigma")
    with pytest.raises(UnknownNameError, match="3sigma"):
        sheet.spec(unstated_limits="typical")


def test_a_random_walk_drives_the_model_and_the_density_beside_it_stays_in_the_sheet():
    sheet = load_profile("adis16448")
    assert sheet.gyro.noise_density.value == 0.0135
    assert sheet.spec().gyro.noise_density == pytest.approx(0.66 * DEG / 60.0)
    assert sheet.spec().accel.noise_density == pytest.approx(0.11 / 60.0)


def test_the_allan_floor_of_a_part_is_its_printed_bias_instability():
    spec = load_profile("stim300").spec()
    floor = math.sqrt(2.0 * math.log(2.0) / math.pi) * spec.gyro.bias_instability
    assert floor / DEG * 3600.0 == pytest.approx(0.5)
    white = dataclasses.replace(spec.gyro, bias_instability=None).allan(1.0)
    np.testing.assert_allclose(white / DEG * 60.0, 0.15)  # deg/sqrt(h): the curve at 1 s
    assert np.min(spec.gyro.allan(np.geomspace(1, 900, 50))) / DEG * 3600.0 < 0.6


UG = 1e-6 * G
ROOT_2 = math.sqrt(2.0)


@quietly
@pytest.mark.parametrize(
    ("name", "gyro", "accel"),
    [  # by hand from the printed figures: deg/sqrt(h) / 60, deg/s/sqrt(Hz), g/sqrt(Hz), m/s/sqrt(h)
        ("adis16448", 0.66 / 60 * DEG, 0.11 / 60),
        ("adis16470", 0.34 / 60 * DEG, 0.037 / 60),
        ("adis16495-1", 0.09 / 60 * DEG, None),
        ("adis16505-1", 0.13 / 60 * DEG, None),
        ("bmi088", 0.014 / ROOT_2 * DEG, 230 / ROOT_2 * UG),
        ("bmi160", 0.008 / ROOT_2 * DEG, 180 / ROOT_2 * UG),
        ("bmi270", 0.007 * DEG, 160 * UG),
        ("hg1700", 0.125 / 60 * DEG, 0.065 * 0.3048 / 60),
        ("hg4930", 0.04 / 60 * DEG, 0.03 / 60),
        ("hg9900", 0.002 / 60 * DEG, 0.0143 / 60),
        ("icm20602", 0.004 / ROOT_2 * DEG, 100 / ROOT_2 * UG),
        ("icm42688p", 0.0028 / ROOT_2 * DEG, 70 / ROOT_2 * UG),
        ("icm45686", 0.0038 / ROOT_2 * DEG, 70 / ROOT_2 * UG),
        ("lsm6dso", 0.0038 / ROOT_2 * DEG, 110 / ROOT_2 * UG),
        ("lsm6dsv", 0.0028 / ROOT_2 * DEG, 60 / ROOT_2 * UG),
        ("mpu6050", 0.005 / ROOT_2 * DEG, 400 / ROOT_2 * UG),
        ("mpu9250", 0.01 / ROOT_2 * DEG, 300 / ROOT_2 * UG),
        ("mti-1", 0.007 / ROOT_2 * DEG, 120 / ROOT_2 * UG),
        ("mti-300", 0.01 / ROOT_2 * DEG, 60 / ROOT_2 * UG),
        ("stim300", 0.15 / 60 * DEG, 0.07 / 60),
        ("vn100", 6.1e-5, 1.4e-3),  # the random walks that the maker's support gives
    ],
)
def test_the_white_noise_of_a_part_is_what_its_sources_print(name, gyro, accel):
    spec = load_profile(name).spec()
    for kind, triad, density in (("gyro", spec.gyro, gyro), ("accel", spec.accel, accel)):
        assert (density is None) == ((name, kind) in WITHOUT_WHITE_NOISE)
        if density is None:
            assert triad.noise_density is None
        else:
            rel = 0.02 if name == "vn100" else 1e-12  # the support rounds to two digits
            assert triad.noise_density == pytest.approx(density, rel=rel)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_without_white_noise_has_a_warning_and_a_reason(name):
    sheet = load_profile(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sheet.spec()
    lacking = [kind for part, kind in sorted(WITHOUT_WHITE_NOISE) if part == name]
    assert [warning.category for warning in caught] == [WhiteNoiseWarning] * len(lacking)
    for kind, warning in zip(lacking, caught, strict=True):
        assert str(warning.message).startswith(f"{sheet.name}: {kind}: no white noise is known")
        assert warning.filename == __file__
        assert "has not been read" in sheet.unknown()[f"{kind}.noise_density"]


@quietly
@pytest.mark.parametrize(("kind", "title"), [("gyro", "gyroscope"), ("accel", "accelerometer")])
def test_the_guide_lists_the_parts_that_lack_white_noise_or_a_floor(kind, title):
    lacking = {"noise_density": [], "bias_instability": []}
    for sheet in map(load_profile, PARTS):
        for parameter, names in lacking.items():
            if getattr(getattr(sheet.spec(), kind), parameter) is None:
                names.append(sheet.name)
    cells = [", ".join(names) or "-" for names in lacking.values()]
    guide = Path(__file__).parents[2] / "docs" / "guides" / "noise.md"
    assert f"| {title} | {cells[0]} | {cells[1]} |" in guide.read_text().splitlines()


def test_a_triad_of_which_nothing_is_known_is_ideal_and_said_so(write):
    sheet = load_profile(write(MINE.split("[accel]", maxsplit=1)[0]))
    with pytest.warns(WhiteNoiseWarning, match="Mine: accel: no errors are known, so it is ideal"):
        sheet.spec()


@pytest.mark.parametrize(("name", "rate", "force"), [("hg1700", 1.0, 1e3), ("hg9900", 3.5e-3, 25)])
def test_a_bias_of_a_population_is_a_turn_on_bias_and_no_floor(name, rate, force):
    spec, unknown = load_profile(name).spec(), load_profile(name).unknown()
    for kind, triad, size in (
        ("gyro", spec.gyro, rate * DEG / 3600),
        ("accel", spec.accel, force * UG),
    ):
        assert triad.bias_instability is None
        assert "not the floor" in unknown[f"{kind}.bias_instability"]
        assert triad.turn_on_bias.distribution == "normal"
        assert triad.turn_on_bias.per_axis() == pytest.approx((size,) * 3)


def test_a_sheet_says_how_it_reads_densities_and_why():
    readings = {name: load_profile(name).readings() for name in PARTS}
    assert readings["bmi270"]["gyro.noise_density"].startswith("two-sided, N = density: over 10 h")
    assert readings["mpu6050"]["accel.noise_density"].startswith("one-sided, N = density / sqrt(2)")
    assert "sqrt(100 Hz)" in readings["mpu6050"]["gyro.noise_density"]
    assert "assumed" in readings["icm20602"]["gyro.noise_density"]
    assert "not used: the random walk is" in readings["adis16448"]["gyro.noise_density"]
    assert readings["stim300"] == {}  # it has random walks alone
    for name, texts in readings.items():
        assert all(name in TWO_SIDED or text.startswith("one-sided") for text in texts.values())


@pytest.mark.parametrize(
    ("name", "kind", "bandwidth_hz"),
    [("mpu6050", "gyro", 100.0), ("mpu9250", "gyro", 92.0), ("bmi088", "gyro", 47.0)],
)
def test_the_rms_figures_of_sheets_are_those_of_one_sided_densities(name, kind, bandwidth_hz):
    sheet = getattr(load_profile(name), kind)
    assert sheet.noise_density.si * math.sqrt(bandwidth_hz) == pytest.approx(
        sheet.noise_rms.si, rel=0.05
    )


def test_the_log_of_a_bmi270_is_nearer_to_the_two_sided_reading():
    for ratio in (1.29, 1.27):  # of its density to that of the one-sided reading
        assert abs(math.log(ratio / ROOT_2)) < 0.5 * abs(math.log(ratio))


def test_the_random_walk_of_the_vn100_is_in_its_model():
    assert load_profile("vn100").spec().accel.bias_random_walk == 5e-5


def test_the_clock_and_the_resolution_of_the_bmi088_are_those_of_its_sheet():
    spec = load_profile("bmi088").spec(accel_range=3 * G)
    assert spec.clock.tick_s == pytest.approx(39.0625e-6)
    assert spec.clock.tick_bits == 24
    assert G / spec.accel.resolution == pytest.approx(10920, rel=1e-3)  # LSB/g
    assert DEG / spec.gyro.resolution == pytest.approx(16.384)  # LSB/(deg/s)


def test_a_rate_that_the_part_does_not_have_is_refused():
    sheet = load_profile("mpu6050")
    assert sheet.spec(rate_hz=1000).rate_hz == 1000
    with pytest.raises(ValueRangeError, match="at most 1000 Hz, which the accel of MPU-6050 has"):
        sheet.spec(rate_hz=4000)


@quietly
def test_a_part_of_ones_own_changes_no_built_in_part(write):
    before = {name: load_profile(name) for name in profile_names()}
    specs = {name: sheet.spec().to_json() for name, sheet in before.items()}
    built_in = load_profile("mpu6050")
    mine = dataclasses.replace(
        built_in, gyro=dataclasses.replace(built_in.gyro, noise_density=None)
    )
    assert mine.spec().gyro.noise_density is None
    load_profile(write(MINE.replace("Mine", "MPU-6050"))).spec()
    with pytest.raises(dataclasses.FrozenInstanceError):
        built_in.gyro.noise_density.value = 7.0
    for name in profile_names():
        assert load_profile(name) == before[name]
        assert load_profile(name).spec().to_json() == specs[name]


def test_sheets_can_be_copied_and_sent_to_another_process():
    sheet = load_profile("stim300")
    assert copy.deepcopy(sheet) == sheet
    assert pickle.loads(pickle.dumps(sheet)) == sheet  # noqa: S301 (what was pickled above)


def test_a_file_of_ones_own_is_read(write):
    sheet = load_profile(write(MINE))
    assert sheet.name == "Mine"
    assert sheet.gyro.range.page == "3"
    assert sheet.unsourced() == ("gyro.bias_instability",)
    spec = sheet.spec()
    assert spec.gyro.noise_density == pytest.approx(0.005 * DEG / math.sqrt(2.0))
    assert spec.gyro.turn_on_bias.distribution == "normal"
    assert spec.gyro.turn_on_bias.per_axis() == pytest.approx((DEG,) * 3)
    assert spec.accel.noise_density == pytest.approx((1e-4 * G, 1e-4 * G, 2e-4 * G))
    assert sheet.unknown()["gyro.bias_random_walk"] == "nobody measured it"
    assert sheet.unknown()["accel.bias_random_walk"] == "not given"


def test_every_built_in_file_is_a_file_that_a_user_could_write():
    for entry in files("strapdown.sensors.profiles").iterdir():
        if entry.name.endswith(".toml"):
            assert load_profile(str(entry)) == load_profile(entry.name.removesuffix(".toml"))


def test_the_form_in_the_documentation_is_read(write):
    documented = load_profile.__globals__["__doc__"].split("::\n\n")[1].rpartition("\n\n")[0]
    text = "\n".join(line.removeprefix("    ") for line in documented.splitlines())
    assert load_profile(write(text)).gyro.zero_offset.meaning == "3sigma"


def test_a_flicker_coefficient_is_taken_as_it_is(write):
    sheet = load_profile(write(MINE.replace("bias_instability = {", "flicker_coefficient = {")))
    assert sheet.spec().gyro.bias_instability == pytest.approx(5 * DEG / 3600)


@quietly
def test_a_minimum_below_white_noise_and_random_walk_is_left_off_with_the_reason(write):
    walk = '[gyro]\nbias_random_walk = { value = 500, unit = "deg/h/sqrt(h)" }'
    text = MINE.replace("[gyro]", walk).replace('[gyro.unknown]\nbias_random_walk = "nobody', "#")
    sheet = load_profile(write(text))
    assert sheet.spec().gyro.bias_instability is None
    assert "means something else" in sheet.unknown()["gyro.bias_instability"]
    without = text.replace("noise_density = { value = 0.005", "#")
    sheet = load_profile(write(without))
    assert sheet.spec().gyro.bias_instability is None
    assert "white noise is unknown" in sheet.unknown()["gyro.bias_instability"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("noise_density = { value = 0.005", "noise_densty = { value = 0.005", 9, "noise_density"),
        ("[gyro]", "[gyr]", 7, "'gyro'"),
        ("deg/s/sqrt(Hz)", "deg/s", 9, r"one of: rad/s/sqrt\(Hz\).*got 'deg/s'"),
        (', unit = "deg/h"', "", 10, "gyro.bias_instability.unit: expected one of.*got none"),
        (', sided = "one"', "", 9, "gyro.noise_density.sided: expected one of: one, two; got none"),
        ('"3sigma"', '"often"', 11, "1sigma, 3sigma, max; got 'often'"),
        ("0.005", "nan", 9, "finite number"),
        ("0.005", "inf", 9, "finite number"),
        ("0.005", "-0.005", 9, "0 or more"),
        ("0.005", "1" + "0" * 400, 9, "finite number"),
        ("0.005", '"low"', 9, "expected a number, got 'low'"),
        ("0.005", "true", 9, "expected a number, got True"),
        ("0.005", "[1, 2]", 9, "3 of three axes"),
        ("value = 0.005,", "", 9, "expected a value"),
        ("value = 0.005", "vale = 0.005", 9, "'value'"),
        ("[250, 500]", "[500, 250]", 8, "rising settings"),
        ("[250, 500]", "[0, 250]", 8, "above 0"),
        ("value = 16,", "value = 16.5,", 12, "whole number from 2 to 48"),
        ('{ value = 5, unit = "deg/h" }', "5", 10, "value = ..., unit = ..."),
        ('source = "sheet", page', 'source = "sheat", page', 8, "one of: sheet; got 'sheat'"),
        ('grade = "P"', 'grade = "A"', 5, "sources.sheet.grade: expected one of: P, S"),
        ('page = "3"', "page = 3", 8, "expected a text, got 3"),
        ("nobody measured it", "it", 15, None),
        ("bias_random_walk =", "bias_instability =", 15, "next to it"),
        ("bias_random_walk =", "bias_walk =", 15, "'bias_random_walk'"),
        ('name = "Mine"', "", 1, "name: expected a text, got none"),
        ('name = "Mine"', 'name = "Mine"\nnotes = "one"', 2, "list of texts"),
        ('name = "Mine"', 'name = "Mine"\ndevice = 3', 2, r"expected a table \[device\]"),
        ('name = "Mine"', 'name = "Mine"\ndensity_reading = 3', 2, "expected a text, got 3"),
        ('value = 5, unit = "deg/h"', 'value = 5, sided = "one", unit = "deg/h"', 10, "sided"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line_and_the_key(write, old, new, line, words):
    assert old in MINE
    path = write(MINE.replace(old, new, 1))
    if words is None:
        load_profile(path)
        return
    with pytest.raises(FormatError, match=words) as caught:
        load_profile(path)
    assert str(caught.value).startswith(f"{path}: line {line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"name = ", b"a = " + b"[" * 100_000, b"= 3", b""])
def test_a_file_that_is_no_toml_is_refused(tmp_path, data):
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"bad\.toml"):
        load_profile(path)


def test_a_missing_file_is_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_profile(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("0.005", "0.28648", 9, "57.3 or 60 times less"),  # 0.005 rad typed into deg
        ('0.005, unit = "deg/s', '0.005, unit = "rad/s', 9, "degrees taken for radians"),
        ("0.005", "1.2e-6", 9, "radians taken for degrees"),
        ("[100, 100, 200]", "[100, 100, 40000]", 18, "60 times less"),
    ],
)
def test_a_density_that_is_a_factor_of_units_off_gets_a_warning_with_the_line(
    write, old, new, line, words
):
    path = write(MINE.replace(old, new, 1))
    with pytest.warns(SpecWarning, match=words) as caught:
        load_profile(path)
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"{path}: line {line}: ")
    assert caught[0].filename == __file__


def test_no_built_in_part_is_implausible():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WhiteNoiseWarning)
        for name in profile_names():
            load_profile(name).spec()


@quietly
def test_a_sheet_can_be_made_without_a_file():
    assert Datasheet("empty").spec().missing()
