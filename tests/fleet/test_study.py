"""Studies: the runs of a file, their figures, tables and report."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from strapdown import fleet
from strapdown.errors import FormatError, UnsupportedError
from strapdown.estimation import MahonyFilter, MahonyParams
from strapdown.evaluation import evaluate_orientation
from strapdown.fleet.study import shipped
from strapdown.samples import SampleKind
from strapdown.simulation import find_sensor, simulate

GRID = """
title = "Small & short"
duration = 6
settle = 2

[sensor.mixed]
profile = "mpu6050"
gyro = "stim300"

[grid]
motions = ["circle"]
sensors = ["mpu6050", "mixed"]
rates = [50]
seeds = 3
faults = ["none", "drop"]
filters = ["mahony", "vqf smoothed"]
"""


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def study_of(tmp_path):
    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return fleet.Study.from_file(path)

    return write


def table(path):
    return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()


def test_a_grid_is_the_product_of_its_lists(study_of):
    study = study_of(GRID)
    assert (len(study.items), study.runs) == (12, 24)
    assert [item["seed"] for item in study.items[:6]] == [0, 0, 1, 1, 2, 2]
    assert study.items[-1]["sensor"] == {"name": "mixed", "profile": "mpu6050", "gyro": "stim300"}


def test_a_list_has_the_runs_that_it_names(study_of):
    study = study_of("""
    duration = 3
    settle = 1
    [[run]]
    motion = "circle"
    sensor = "mpu6050"
    seed = 7
    filter = "vqf"
    [[run]]
    motion = "wander"
    sensor = "bmi088"
    filter = ["vqf", "eskf"]
    fault = "gap"
    """)
    assert [(item["motion"], item["seed"], item["filters"]) for item in study.items] == [
        ("circle", 7, ["vqf"]),
        ("wander", 1, ["vqf", "eskf"]),
    ]


@pytest.mark.parametrize("seeds", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_study_has_a_row_for_each_run_and_the_same_bytes_from_more_processes(
    seeds, study_of, tmp_path, contents, threads
):
    study = study_of(GRID.replace("seeds = 3", f"seeds = {seeds}"))
    fleet.run_study(study, tmp_path / "threads", executor=threads)
    workers = 1 if seeds == 1 else 2
    manifest = fleet.run_study(study, tmp_path / "processes", executor=f"pool:{workers}")
    assert contents(tmp_path / "processes") == contents(tmp_path / "threads")
    assert fleet.run_study(study, tmp_path / "threads", executor=threads).executed == 0
    assert contents(tmp_path / "processes") == contents(tmp_path / "threads")
    rows = table(tmp_path / "processes" / "results.parquet")
    assert len(rows) == 8 * seeds
    assert {row["unit"] for row in rows} == {unit.name for unit in manifest.units}
    assert all(row["error"] is None and row["dof"] == 2 for row in rows)
    assert all(0.0 < row["inclination_deg"] <= row["inclination_max_deg"] for row in rows)
    assert all(row["samples"] == 300 for row in rows if row["fault"] == "none")
    assert all(row["samples"] < 300 for row in rows if row["fault"] == "drop")


PARAMETERS = """
duration = 6
settle = 2

[grid]
motions = ["wander"]
sensors = ["mpu6050"]
rates = [50]
filters = ["mahony"]

[[filters]]
name = "mahony"
parameters = { k_p = [0.5, 1], k_i = [0.0, 0.01] }

[[filters]]
name = "vqf smoothed"
[filters.parameters]
tau_acc = 1.5
"""


def test_parameters_are_a_dimension_of_the_grid(study_of, tmp_path, threads):
    study = study_of(PARAMETERS)
    assert study.runs == 6
    fleet.run_study(study, tmp_path / "out", executor=threads)
    rows = {row["filter"]: row for row in table(tmp_path / "out" / "results.parquet")}
    assert list(rows) == [
        "mahony",
        *(f"mahony k_p={k_p} k_i={k_i}" for k_p in (0.5, 1) for k_i in (0.0, 0.01)),
        "vqf smoothed tau_acc=1.5",
    ]
    assert json.loads(rows["mahony"]["parameters"]) == {}
    assert json.loads(rows["mahony k_p=0.5 k_i=0.01"]["parameters"]) == {"k_p": 0.5, "k_i": 0.01}
    assert len({row["inclination_deg"] for row in rows.values()}) == 6
    # The same as in Python.
    series = simulate(
        "wander", find_sensor("mpu6050", rate_hz=50, sampling=SampleKind.MEAN), 6.0, seed=0
    )
    result = MahonyFilter(MahonyParams(k_p=0.5, k_i=0.01)).run(series.samples.series(stamps="true"))
    late = series.truth[series.truth.t_ns - series.truth.t_ns[0] >= 2_000_000_000]
    errors = evaluate_orientation(result, late, align="heading")
    assert rows["mahony k_p=0.5 k_i=0.01"]["inclination_deg"] == errors.inclination_deg
    fleet.write_report(tmp_path / "out", tmp_path / "report.html")
    assert "mahony k_p=1 k_i=0.01" in (tmp_path / "report.html").read_text()


def test_a_run_of_a_list_takes_parameters(study_of):
    study = study_of("""
    duration = 3
    settle = 1
    [[run]]
    motion = "circle"
    sensor = "mpu6050"
    filter = ["vqf", {name = "eskf", parameters = {gyro_noise = 0.004}}]
    """)
    assert study.items[0]["filters"] == [
        "vqf",
        {"name": "eskf", "parameters": {"gyro_noise": 0.004}},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("k_p", "k_q"), "there is no parameter of MahonyParams 'k_q'; the nearest names: 'k_p'"),
        (("0.01]", "-1.0]"), "mahony: expected k_i finite and not negative, got -1.0"),
        (("[0.0, 0.01]", "'small'"), "mahony: expected k_i as a number, got 'small'"),
        (("[0.0, 0.01]", "[]"), "expected a value or more of each parameter of mahony, got none"),
        (
            ("{ k_p = [0.5, 1], k_i = [0.0, 0.01] }", "3"),
            "expected parameters of mahony as a table",
        ),
        (("tau_acc = 1.5", "k_p = 1.5"), "there is no parameter of VqfParams 'k_p'"),
        (('name = "mahony"', 'name = "mahoni"'), "there is no filter 'mahoni'"),
        (('name = "mahony"\n', ""), "expected the name of a filter, got none in {'parameters'"),
        (("parameters = {", "params = {"), "there is no key of a filter 'params'"),
        (('["mahony"]', '["mahony", "mahony"]'), "expected each filter once, got 'mahony' again"),
        (("[grid]", "[[run]]"), r"expected a table \[grid\] for \[\[filters\]\], got none"),
    ],
)
def test_a_mistake_in_parameters_is_named(change, message, study_of):
    with pytest.raises(FormatError, match=rf"study\.toml: .*{message}"):
        study_of(PARAMETERS.replace(*change))


def test_the_summary_is_that_of_the_runs(study_of, tmp_path, threads):
    fleet.run_study(study_of(GRID), tmp_path / "out", executor=threads)
    rows = table(tmp_path / "out" / "results.parquet")
    summary = table(tmp_path / "out" / "summary.parquet")
    assert len(summary) == 8
    group = summary[0]
    axes = ("motion", "sensor", "rate", "fault", "filter")
    values = [row["heading_deg"] for row in rows if all(row[name] == group[name] for name in axes)]
    assert len(values) == group["runs"] == 3
    np.testing.assert_allclose(group["heading_deg_mean"], np.mean(values), rtol=1e-12)
    np.testing.assert_allclose(group["heading_deg_std"], np.std(values, ddof=1), rtol=1e-9)
    assert (group["heading_deg_min"], group["heading_deg_max"]) == (min(values), max(values))


def test_an_ideal_sensor_at_rest_has_no_error_and_a_noisy_one_has(study_of, tmp_path, threads):
    study = study_of("""
    duration = 6
    settle = 2
    [grid]
    motions = ["static"]
    sensors = ["ideal", "mpu6050"]
    filters = ["eskf"]
    """)
    fleet.run_study(study, tmp_path / "out", executor=threads)
    ideal, real = table(tmp_path / "out" / "results.parquet")
    assert ideal["inclination_max_deg"] < 1e-6
    assert real["inclination_deg"] > 1e-3
    assert ideal["nees"] < 1e-9
    assert ideal["within"] == 1.0


def test_a_failed_run_is_a_row_with_its_error(study_of, tmp_path, threads):
    study = study_of(GRID.replace('motions = ["circle"]', 'motions = ["circle", "study.toml"]'))
    manifest = fleet.run_study(study, tmp_path / "out", executor=threads)
    rows = table(tmp_path / "out" / "results.parquet")
    failed = [row for row in rows if row["error"]]
    assert {row["motion"] for row in failed} == {"study"}
    assert {row["filter"] for row in failed} == {"mahony", "vqf smoothed"}
    assert failed[0]["error"].startswith(f"{tmp_path / 'study.toml'}: ")
    assert len(manifest.failed) == 12
    fleet.write_report(tmp_path / "out", tmp_path / "report.html")
    assert "48 runs, 24 of them failed" in (tmp_path / "report.html").read_text()


def test_moments_merge_to_those_of_all_numbers():
    values = np.random.default_rng(3).normal(5.0, 2.0, 1000)
    parts = [fleet.Moments.of(part.tolist()) for part in np.split(values, [0, 1, 400])]
    merged = fleet.Moments()
    for part in parts:
        merged = merged.merge(part)
    assert merged.count == 1000
    np.testing.assert_allclose(merged.mean, values.mean(), rtol=1e-13)
    np.testing.assert_allclose(merged.deviation, values.std(ddof=1), rtol=1e-13)
    assert (merged.smallest, merged.largest) == (values.min(), values.max())


def test_the_report_has_three_pictures_and_needs_no_other_file(study_of, tmp_path, threads):
    fleet.run_study(study_of(GRID), tmp_path / "out", executor=threads)
    page, again = tmp_path / "report.html", tmp_path / "again.html"
    best = fleet.write_report(tmp_path / "out", page)
    fleet.write_report(tmp_path / "out", again)
    assert page.read_bytes() == again.read_bytes()
    text = page.read_text()
    assert "<h1>Small &amp; short</h1>" in text
    pictures = re.findall(r'src="([^"]*)"', text)
    assert len(pictures) == 3
    for picture in pictures:
        assert base64.b64decode(picture.removeprefix("data:image/png;base64,")).startswith(
            b"\x89PNG"
        )
    assert len(best) == 4
    assert best[0].startswith("fault none, sensor mpu6050: ")
    with pytest.raises(FileExistsError):
        fleet.write_report(tmp_path / "out", page)
    with pytest.raises(UnsupportedError, match=r"\.html"):
        fleet.write_report(tmp_path / "out", tmp_path / "report.pdf")


def test_a_folder_without_study_is_refused(tmp_path):
    with pytest.raises(FormatError, match="expected the results of strapdown study"):
        fleet.write_report(tmp_path, tmp_path / "report.html")


@pytest.mark.parametrize("name", shipped())
def test_the_shipped_studies_are_read(name):
    study = fleet.Study.from_file(name)
    assert study.runs >= 200
    assert len({json.dumps(item, sort_keys=True) for item in study.items}) == len(study.items)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("vqf smoothed", "vqd"), "there is no filter 'vqd'; the nearest names: 'vqf'"),
        (("circle", "circel"), "no motion or file 'circel'; the nearest names: 'circle'"),
        (('"mpu6050", "mixed"', '"mpu650"'), "'mpu650'.*mpu6050"),
        (('"drop"', '"dorp"'), "there is no fault 'dorp'; the nearest names: 'drop'"),
        (("[50]", "[0]"), "expected a rate of 1 to 10000 Hz, got 0"),
        (("[50]", '["fast"]'), "expected a number as rate, got 'fast'"),
        (("seeds = 3", "seeds = [-1]"), "expected seeds of 0 or more, got -1"),
        (("seeds = 3", "seeds = 0"), "expected seed in every grid and run, got none"),
        (("faults", "fault"), r"there is no key of \[grid\] 'fault'; the nearest names: 'faults'"),
        (("settle = 2", "settle = 6"), "expected settle of 0 s or more and less than the duration"),
        (("[grid]", "[gird]"), "there is no key of a study 'gird'; the nearest names: 'grid'"),
        (("gyro =", "gyros ="), r"there is no key of \[sensor.mixed\] 'gyros'"),
        (("[grid]", "[grid"), "expected TOML: "),
        ((GRID, "duration = 9"), r"expected a table \[grid\], or one \[\[run\]\] or more"),
    ],
)
def test_a_mistake_in_a_study_is_named(change, message, study_of):
    with pytest.raises(FormatError, match=rf"study\.toml: .*{message}"):
        study_of(GRID.replace(*change))


def test_an_unknown_study_is_named_with_those_that_exist():
    with pytest.raises(
        FormatError, match="expected a file, or a study of strapdown: filters, gyro"
    ):
        fleet.Study.from_file("gyros")


SHORT_RUN = """
duration = 600
settle = 2
[[run]]
motion = "circle"
sensor = "mpu6050"
rate = 1
filter = "mahony"
"""
LONG_RUN = """
[[run]]
motion = "circle"
sensor = "mpu6050"
rate = 1000
filter = {{ name = "eskf", parameters = {{ gyro_noise = {} }} }}
"""


def test_an_interrupted_study_ends_with_its_processes_and_continues(study_of, tmp_path, is_gone):
    study_of(SHORT_RUN + LONG_RUN.format([number / 1000 for number in range(1, 300)]))
    out = tmp_path / "out"
    run = subprocess.Popen(
        [sys.executable, "-c", "from strapdown.cli import main; main()", "study",
         tmp_path / "study.toml", "--output", out, "--executor", "pool:2"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 60.0
        while not list(out.glob("units/*.json")) and time.monotonic() < end:
            time.sleep(0.02)
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) >= 2
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=10.0)
        assert (run.returncode, err) == (130, "strapdown: interrupted\n")
    finally:
        run.kill()
    assert all(is_gone(int(pid)) for pid in children)
    assert fleet.run_study(study_of(SHORT_RUN), out, executor=fleet.Serial()).executed == 0
