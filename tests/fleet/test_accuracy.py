"""Accuracy on public data sets: their layouts, the figures, and the tables.

The files of BROAD and TUM VI are parts of real recordings (CC BY 4.0; D. Laidig et al., Data
6(7):72, 2021; D. Schubert et al., IROS 2018), written here in the layouts of the public downloads.
Those of RepoIMU are simulated, in the layout of its files.
"""

from __future__ import annotations

import csv
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from strapdown import fleet
from strapdown.errors import BackendMissingError, FormatError, UnsupportedError, ValueRangeError
from strapdown.evaluation import Alignment
from strapdown.fleet import accuracy as module
from strapdown.simulation import simulate

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
TRIAL = "02_undisturbed_slow_rotation_B"
ROOM = "room4"


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(scope="session")
def broad_arrays(data_dir):
    """Three seconds about the start of the movement, by the names of the public files."""
    path = data_dir / "broad" / f"{TRIAL}.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    with np.load(path) as trial:
        start = int(np.argmax(trial["mov"])) - 286
        part = slice(start, start + 858)
        names = {"gyr": "imu_gyr", "acc": "imu_acc", "mag": "imu_mag"}
        names |= {"ref": "opt_quat", "pos": "opt_pos", "mov": "movement"}
        arrays = {public: trial[ours][part].astype(float) for ours, public in names.items()}
        arrays["movement"] = arrays["movement"].astype(bool)[:, None]
        return arrays | {"sampling_rate": np.array([[2000.0 / 7.0]])}


@pytest.fixture
def broad(broad_arrays, tmp_path):
    """The folder of a download with ``data_mat``."""
    folder = tmp_path / "broad"
    (folder / "data_mat").mkdir(parents=True)
    savemat(folder / "data_mat" / f"{TRIAL}.mat", broad_arrays)
    (folder / "data_mat" / "trials.json").write_text("{}")
    return folder


@pytest.fixture
def tum_vi(data_dir, tmp_path):
    """The folder of a sequence in the layout of EuRoC, ten seconds of it."""
    path = data_dir / "tumvi" / f"{ROOM}.npz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    folder = tmp_path / "tum_vi"
    with np.load(path) as room:
        imu = zip(room["t_ns"].tolist(), room["gyr"].tolist(), room["acc"].tolist(), strict=True)
        poses = zip(room["gt_t_ns"].tolist(), room["gt"].tolist(), strict=True)
        lines = {
            "imu0": ["#timestamp [ns],w_RS_S_x [rad s^-1],w_y,w_z,a_RS_S_x [m s^-2],a_y,a_z"],
            "mocap0": ["#timestamp [ns], p_RS_R_x [m], p_y, p_z, q_RS_w [], q_x, q_y, q_z"],
        }
        lines["imu0"] += [",".join(map(str, [t, *w, *a])) for t, w, a in list(imu)[:2000]]
        lines["mocap0"] += [",".join(map(str, [t, *pose])) for t, pose in list(poses)[:1200]]
    for name, rows in lines.items():
        sensor = folder / "dataset-room4_512_16" / "mav0" / name
        sensor.mkdir(parents=True)
        (sensor / "data.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def repoimu(tmp_path):
    """A trial whose reference is lost for a while, and whose markers are turned to the sensor."""
    folder = tmp_path / "RepoIMU"
    (folder / "TStick").mkdir(parents=True)
    run = simulate("wander", "ideal", 8.0, rate_hz=100, seed=1)
    series, truth = run.samples.series(), run.truth
    field = np.tile([0.0, 0.4, -0.9], (len(series), 1))  # of the world, in units of the file
    rows = ["Time (s);Vicon Orientation;;;;IMU Acceleration;;;IMU Gyroscope;;;IMU Magnetometer;;;"]
    rows.append(";W;X;Y;Z;X;Y;Z;X;Y;Z;X;Y;Z;")
    half = np.sqrt(0.5)
    for k, q in enumerate(truth.q_world_from_body):
        x, y, z, w = q
        rotation = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        # q times a quarter turn about x
        reference = (
            half * np.array([w - x, w + x, y + z, z - y]) if k not in range(300, 320) else 4 * [0]
        )
        numbers = [0.01 * (k + 1), *reference, *series.specific_force[k]]
        numbers += [*series.angular_velocity[k], *(rotation.T @ field[k])]
        rows.append(";".join(f"{number:.9g}" for number in numbers))
    (folder / "TStick" / "TStick_Test02_Trial1.csv").write_text("\n".join(rows) + "\n")
    (folder / "TStick" / "TStick_Test01_Static.csv").write_text("not a trial\n")
    return folder


def trial_of(folder):
    found = fleet.DataSet.find(folder)
    (path,) = found.recordings
    return found, fleet.read_trial(found.name, path)


def test_both_files_of_broad_give_the_same_trial(broad, broad_arrays, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install h5py")
    (tmp_path / "data_hdf5").mkdir()
    with h5py.File(tmp_path / "data_hdf5" / f"{TRIAL}.hdf5", "w") as file:
        for name, array in broad_arrays.items():
            if name == "sampling_rate":
                file.attrs[name] = 2000.0 / 7.0
            else:
                file[name] = array
    (found, of_mat), (_, of_hdf5) = trial_of(broad), trial_of(tmp_path / "data_hdf5")
    assert (found.name, of_mat.name, of_mat.part) == ("BROAD", TRIAL, "development")
    assert of_mat._replace(name="03_undisturbed_slow_rotation_C").part == "held back"
    assert of_mat.series == of_hdf5.series
    assert of_mat.truth == of_hdf5.truth
    assert np.array_equal(of_mat.series.t_ns[:3], [0, 3_500_000, 7_000_000])
    assert of_mat.series.magnetic_field == pytest.approx(1e-6 * broad_arrays["imu_mag"])
    assert of_mat.truth.moving.sum() == broad_arrays["movement"].sum()


def test_a_download_of_broad_is_read_once(broad):
    (broad / "data_hdf5").mkdir()
    (broad / "data_hdf5" / f"{TRIAL}.hdf5").write_bytes(b"the same")
    assert [path.suffix for path in fleet.DataSet.find(broad).recordings] == [".mat"]


def test_the_converted_files_are_data_sets_too(data_dir):
    for folder, name in (("broad", "BROAD"), ("tumvi", "TUM VI")):
        if not (data_dir / folder).is_dir():
            pytest.skip(f"no {data_dir / folder}")
        found = fleet.DataSet.find(data_dir / folder)
        assert found.name == name
        assert all(path.suffix == ".npz" for path in found.recordings)


def test_a_sequence_of_tum_vi_has_the_samples_of_its_files(tum_vi, data_dir):
    found, trial = trial_of(tum_vi)
    assert (found.name, trial.name) == ("TUM VI", "dataset-room4_512_16")
    with np.load(data_dir / "tumvi" / f"{ROOM}.npz") as room:
        assert np.array_equal(trial.series.t_ns, room["t_ns"][:2000])
        assert np.array_equal(trial.series.angular_velocity, room["gyr"][:2000])
        assert trial.truth.q_world_from_body[:, 3] == pytest.approx(room["gt"][:1200, 3])


def test_a_trial_of_repoimu_has_its_units_and_its_reference_any_mounting(repoimu):
    found, trial = trial_of(repoimu)
    assert (found.name, trial.name) == ("RepoIMU", "TStick_Test02_Trial1")
    assert trial.series.t_ns[:2].tolist() == [10_000_000, 20_000_000]
    assert np.linalg.norm(trial.series.magnetic_field, axis=1) == pytest.approx(
        50e-6 * np.hypot(0.4, 0.9)
    )
    run = simulate("wander", "ideal", 8.0, rate_hz=100, seed=1)
    estimate = run.truth.replace(t_ns=trial.series.t_ns)
    errors = trial.evaluate(estimate, with_field=True)
    assert errors.total_deg < 1e-3  # two means, computed alternately
    assert errors.samples == len(estimate) - 20
    assert errors.align is Alignment.WORLD_AND_BODY


def broad_rmse(q_wxyz, arrays):
    """Return the errors [deg] by the formulas of the benchmark's own ``broad_utils.py``."""
    w, x, y, z = q_wxyz.T
    a, b, c, d = (arrays["opt_quat"] * [1, -1, -1, -1]).T
    turn = np.stack([
        w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a,
    ])  # fmt: skip
    turn /= np.linalg.norm(turn, axis=0)
    errors = [
        2 * np.arccos(np.clip(np.abs(turn[0]), 0, 1)),
        2 * np.arctan(np.abs(turn[3] / turn[0])),
        2 * np.arccos(np.clip(np.hypot(turn[0], turn[3]), 0, 1)),
    ]
    return [np.degrees(np.sqrt(np.nanmean(e[arrays["movement"][:, 0]] ** 2))) for e in errors]


def test_errors_are_those_of_the_benchmark_and_of_vqf(broad, broad_arrays):
    vqf = pytest.importorskip("vqf", reason="vqf is not installed: pip install vqf")
    found, trial = trial_of(broad)
    item = {"data_set": "BROAD", "recording": found.recordings[0], "vqf": "0"}
    rows = {(row["library"], row["filter"], row["axes"]): row for row in fleet.evaluate_trial(item)}
    assert len(rows) == 2 * (3 + 7)
    columns = [np.ascontiguousarray(broad_arrays[f"imu_{name}"]) for name in ("gyr", "acc", "mag")]
    theirs = vqf.VQF(7.0 / 2000.0).updateBatch(*columns)["quat9D"]
    row = rows["vqf 0", "online", 9]
    figures = [row[name] for name in ("total_deg", "heading_deg", "inclination_deg")]
    assert figures == pytest.approx(broad_rmse(theirs, broad_arrays), abs=1e-6)
    assert row["samples"] == np.isfinite(broad_arrays["opt_quat"][trial.truth.moving, 0]).sum()
    for axes in (9, 6):
        ours, peer = rows["strapdown", "vqf", axes], rows["vqf 0", "online", axes]
        assert ours["total_deg"] == pytest.approx(peer["total_deg"], abs=0.02)


def test_data_sets_are_measured_in_one_table(tum_vi, repoimu, threads, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "ESTIMATORS", ("mahony", "vqf"))
    monkeypatch.setattr(module, "peer_version", lambda: None)
    found = fleet.measure_accuracy([tum_vi, repoimu], executor=threads)
    assert found.failed == {}
    means = {(row["data_set"], row["axes"], row["filter"]): row for row in found.summary()}
    assert list(means) == [
        *(("TUM VI", 6, name) for name in ("mahony", "vqf")),
        *(("RepoIMU", axes, name) for axes in (9, 6) for name in ("mahony", "vqf")),
    ]
    assert means["RepoIMU", 9, "vqf"]["total_deg"] < 5.0  # wrong axes give tens of degrees
    titles = [title for title, _, _ in found.tables()]
    assert titles == [
        "TUM VI, development, 1 recording: mean RMS error [deg]",
        "RepoIMU, held back, 1 recording: mean RMS error [deg]",
    ]
    for ending in module.ENDINGS:
        found.write(tmp_path / f"rows{ending}")
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "rows.parquet")
    assert table.to_pylist() == list(found.rows)
    with (tmp_path / "rows.csv").open() as file:
        assert [float(row["total_deg"]) for row in csv.DictReader(file)] == [
            row["total_deg"] for row in found.rows
        ]
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == list(found.rows)
    assert "RepoIMU, held back, 1 recording" in (tmp_path / "rows.html").read_text()
    assert "<caption>TUM VI" in found._repr_html_()


def test_an_estimator_that_fails_has_an_error_and_no_means(repoimu, threads, monkeypatch):
    def fails(name, *_):
        raise ValueRangeError(f"no {name}")

    monkeypatch.setattr(module, "estimate", fails)
    monkeypatch.setattr(module, "peer_version", lambda: None)
    found = fleet.measure_accuracy([repoimu], executor=threads)
    assert {row["error"] for row in found.rows} == {f"no {name}" for name in module.ESTIMATORS}
    assert all(row["total_deg"] is None and row["errors"] == 1 for row in found.summary())


@pytest.fixture
def two_recordings(repoimu, monkeypatch):
    """Two trials and two filters; the second trial is the one whose name has Test04."""
    trial = repoimu / "TStick" / "TStick_Test02_Trial1.csv"
    (repoimu / "TStick" / "TStick_Test04_Trial1.csv").write_text(trial.read_text())
    monkeypatch.setattr(module, "ESTIMATORS", ("mahony", "vqf"))
    monkeypatch.setattr(module, "peer_version", lambda: None)
    return repoimu


def no_rows(found):
    """Whether every error is that no rows can be compared."""
    errors = {row["error"] for row in found.rows if row["error"]}
    return all("expected rows that can be compared, got none of" in each for each in errors)


def test_an_estimate_of_nan_is_counted_in_the_table(two_recordings, threads, monkeypatch, tmp_path):
    def lacking(name, series, with_field):
        q = estimate(name, series, with_field)
        return np.full_like(q, np.nan) if name == "vqf" and with_field else q

    estimate = module.estimate
    monkeypatch.setattr(module, "estimate", lacking)
    found = fleet.measure_accuracy([two_recordings], executor=threads)
    assert no_rows(found)
    ((title, heading, lines),) = found.tables()
    assert "2 recordings" in title
    assert heading[-1] == "9D failed"
    assert [line[-1] for line in lines] == ["0", "2"]
    assert lines[1][1:4] == ["-"] * 3
    assert "-" not in lines[0] + lines[1][4:]
    found.write(tmp_path / "rows.html")
    assert "9D failed" in (tmp_path / "rows.html").read_text()


def test_a_recording_whose_reference_has_other_times_is_counted(
    two_recordings, threads, monkeypatch
):
    def shifted(data_set, path):
        trial = read(data_set, path)
        late = trial.truth.replace(t_ns=trial.truth.t_ns + 1_000_000_000_000)
        return trial._replace(truth=late) if "Test04" in path.name else trial

    read = module.read_trial
    monkeypatch.setattr(module, "read_trial", shifted)
    found = fleet.measure_accuracy([two_recordings], executor=threads)
    assert no_rows(found)
    assert all(row["recordings"] == 2 and row["errors"] == 1 for row in found.summary())
    ((_, heading, lines),) = found.tables()
    assert heading[-2:] == ["9D failed", "6D failed"]
    assert [line[-2:] for line in lines] == [["1", "1"]] * 2


def test_a_damaged_recording_fails_alone(repoimu, threads, monkeypatch):
    monkeypatch.setattr(module, "ESTIMATORS", ("mahony",))
    bad = repoimu / "TStick" / "TStick_Test03_Trial1.csv"
    bad.write_text("Time (s);Vicon Orientation;;;;\n;W;X;Y;Z\n1;2;3\n")
    found = fleet.measure_accuracy([repoimu], executor=threads)
    assert list(found.failed) == [str(bad)]
    assert "expected a readable table of 14 columns" in found.failed[str(bad)]
    assert {row["recording"] for row in found.rows} == {"TStick_Test02_Trial1"}
    assert str(bad) in found._repr_html_()


def test_other_folders_are_refused_with_what_was_expected(tmp_path, repoimu):
    with pytest.raises(FormatError, match=r"RepoIMU \(TStick/TStick_Test\*_Trial\*.csv"):
        fleet.DataSet.find(tmp_path)
    with pytest.raises(FormatError, match="expected the folder of a data set, there is none"):
        fleet.DataSet.find(tmp_path / "absent")
    with pytest.raises(ValueRangeError, match="expected the folders of one data set or more"):
        fleet.measure_accuracy([repoimu, repoimu])
    with pytest.raises(ValueRangeError, match="expected the folders of one data set or more"):
        fleet.measure_accuracy([])
    with pytest.raises(UnsupportedError, match=r"expected an ending of \.parquet, \.csv"):
        fleet.Accuracy([]).write(tmp_path / "rows.xml")


def test_files_of_other_content_are_refused(tmp_path, broad_arrays, monkeypatch):
    path = tmp_path / f"{TRIAL}.mat"
    savemat(path, {name: broad_arrays[name] for name in ("imu_gyr", "imu_acc")})
    with pytest.raises(FormatError, match="imu_mag, opt_quat, opt_pos, movement, sampling_rate is"):
        fleet.read_trial("BROAD", path)
    savemat(path, broad_arrays | {"imu_acc": broad_arrays["imu_acc"][:-1]})
    with pytest.raises(FormatError, match=r"expected array acc of shape \(858, 3\)"):
        fleet.read_trial("BROAD", path)
    path.write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    with pytest.raises(FormatError, match="expected a readable MATLAB file"):
        fleet.read_trial("BROAD", path)
    table = tmp_path / "TStick_Test02_Trial1.csv"
    table.write_text("a;b;c\n1;2;3\n")
    with pytest.raises(FormatError, match="expected a heading with Time and Vicon Orientation"):
        fleet.read_trial("RepoIMU", table)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(BackendMissingError, match="data_mat holds the same data"):
        fleet.read_trial("BROAD", tmp_path / f"{TRIAL}.hdf5")


@pytest.mark.slow
@pytest.mark.data
def test_the_table_of_the_page_is_that_of_the_recordings(data_dir):
    pytest.importorskip("vqf", reason="vqf is not installed: pip install vqf")
    folders = [data_dir / "broad", data_dir / "tumvi"]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip(f"no {folders[0]}")
    lines = PAGE.read_text().split("| development |")[1].splitlines()
    printed = {}
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        name, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        printed[name] = [float(figure) for figure in figures]
    measured = {}
    for _, _, rows in fleet.measure_accuracy(folders).tables():
        for name, *figures in rows:
            measured.setdefault(name, []).extend(float(figure) for figure in figures)
    assert list(measured) == list(printed)
    for name, figures in measured.items():
        assert figures == pytest.approx(printed[name], abs=0.015), name
