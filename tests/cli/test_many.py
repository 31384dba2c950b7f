"""One verb over many recordings: a row for each, and the worst exit code."""

from __future__ import annotations

import fcntl
import json
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
import strapdown.formats as files
from strapdown import fleet
from strapdown.cli import _many
from strapdown.cli._app import MANY, app
from strapdown.cli._unfinished import STATE
from strapdown.formats import Recording
from strapdown.series import ImuSeries

runner = CliRunner()
ROWS = 400


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def listed(*arguments, code=0):
    done = run(*arguments, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def still(rows=ROWS):
    t_ns = 1_700_000_000_000_000_000 + np.arange(rows) * 10_000_000
    noise = np.random.default_rng(1).normal(0.0, 1e-4, (rows, 3))
    return ImuSeries(t_ns, noise, noise + np.array([0.0, 0.0, 9.81]))


@pytest.fixture
def logs(tmp_path):
    """Two recordings of 4 s and 2 s, and between them a file that is none."""
    folder = tmp_path / "logs"
    folder.mkdir()
    paths = [folder / "a.mcap", folder / "b.mcap", folder / "c.npz"]
    strapdown.write(paths[0], Recording(imu={"imu/data": still()}))
    paths[1].write_bytes(b"nothing of the kind")
    strapdown.write(paths[2], Recording(imu={"other": still(200), "short": still(100)}))
    return paths


@pytest.mark.parametrize("workers", [1, 2])
def test_fuse_writes_a_file_for_each_and_names_the_topic(logs, tmp_path, workers):
    folder = tmp_path / "new" / "results"
    options = ("--no-mag", "--output", folder, "--workers", workers)
    rows = listed("fuse", *logs, *options, code=1)
    assert [row["input"] for row in rows] == [str(path) for path in logs]
    assert [row["exit"] for row in rows] == [0, 1, 0]
    assert "expected MCAP" in rows[1]["error"]
    assert [(row["topic"], row["samples"]) for row in (rows[0], rows[2])] == [
        ("imu/data", 400),
        ("other", 200),
    ]
    assert sorted(path.name for path in folder.iterdir()) == [STATE, "a.csv", "c.csv"]
    for path, count in (("a.csv", 400), ("c.csv", 200)):
        assert len(strapdown.open(folder / path).trajectory()) == count


def test_the_table_has_a_row_for_each_with_its_folder(logs):
    done = run("info", *logs)
    assert done.exit_code == 1
    head, *rows, last = done.stdout.splitlines()
    assert head.split() == ["file", "topic", "samples", "result", "exit"]
    assert last == "1 of 3 failed"
    starts = [row.split()[0] for row in rows if row[0] != " "]
    assert starts == [str(path) for path in logs]
    assert "mcap, 1 topic, 3.990 s" in rows[0]
    assert "imu/data" in rows[0]
    assert rows[0].endswith(" 0")


def test_the_worst_exit_code_counts_and_every_loss_names_its_file(logs):
    series = still()
    wrong = logs[0].with_name("wrong.npz")
    strapdown.write(wrong, series.replace(specific_force=series.specific_force * 0.1))
    rows = listed("check", logs[0], wrong, logs[2], code=3)
    assert [row["exit"] for row in rows] == [0, 3, 0]
    assert rows[1]["findings"]
    table = run("check", logs[0], wrong)
    assert "no findings" in table.stdout
    assert "1 finding: " in table.stdout
    strict = listed("check", logs[0], wrong, "--strict", code=1)
    assert [row["exit"] for row in strict] == [0, 1]


def test_names_of_outputs(logs, tmp_path):
    good = (logs[0], logs[2])
    listed("convert", *good, tmp_path / "npz", "--format", "npz")
    assert strapdown.open(tmp_path / "npz" / "a.npz").imu["imu/data"] == still()
    listed("convert", *good, tmp_path / "{}_fast" / "{}.parquet", "--to", 1)
    assert len(strapdown.open(tmp_path / "a_fast" / "a.parquet").imu_series()) == 100
    listed("detect", *good, "--kind", "still", "--output", tmp_path / "events", code=3)
    assert sorted(p.name for p in (tmp_path / "events").iterdir()) == [STATE, "a.json", "c.json"]
    listed("convert", logs[0], tmp_path / "one_{}.npz")
    assert (tmp_path / "one_a.npz").is_file()


def test_what_cannot_be_is_refused_before_anything_is_written(logs, tmp_path):
    twin = tmp_path / "a.npz"
    strapdown.write(twin, still())
    out = tmp_path / "out"
    for arguments, words in (
        (("fuse", logs[0], twin, "--output", out), "would both be written to"),
        (("fuse", logs[0], twin, "--output", out), "or *.npz"),
        (("fuse", *logs, "--output", out / "x.csv"), "expected a folder, or a name with {}"),
        (("convert", *logs, out), "such as"),
        (("convert", *logs, "-", "--format", "csv"), "expected a folder"),
        (("fuse", *logs), "expected --output, --picture or --compare"),
        (("info", logs[0], logs[0]), "expected each recording once"),
        (("info", logs[0], "-"), "does not go with other recordings"),
        (("fuse", "ipc:a", "ipc:b", "--output", out), "expected one live topic"),
    ):
        done = run(*arguments)
        text = " ".join(done.output.replace("│", " ").split())
        assert done.exit_code == 2, text
        assert words in text
    assert not out.exists()


def test_an_existing_output_is_an_error_of_its_row(logs, tmp_path):
    good = (logs[0], logs[2])
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.npz").write_text("of another program")
    rows = listed("convert", *good, out / "{}.npz", code=1)
    assert [row["exit"] for row in rows] == [1, 0]
    assert (out / "a.npz").read_text() == "of another program"
    listed("convert", *good, out / "{}.npz", "--force")


def test_a_second_run_skips_what_is_done(logs, tmp_path, monkeypatch):
    calls, once = [], _many._run

    def counted(job):
        calls.append(job.source.name)
        return once(job)

    monkeypatch.setattr(_many, "_run", counted)
    run_again = partial(listed, "fuse", *logs, "--no-mag", "--output", tmp_path / "out")
    first = run_again(code=1)
    assert calls == ["a.mcap", "b.mcap", "c.npz"]
    second = run_again(code=1)
    assert calls[3:] == ["b.mcap"]
    assert [row.pop("skipped", False) for row in second] == [True, False, True]
    assert second == first
    monkeypatch.chdir(tmp_path)
    table = run("fuse", *logs, "--no-mag", "--output", "out").stdout.splitlines()
    assert table[-2:] == ["1 of 3 failed", "2 of 3 done before, skipped"]
    manifest = fleet.Manifest.read(tmp_path / "out" / STATE)
    assert [bool(unit.error) for unit in manifest.units] == [False, True, False]
    assert "expected MCAP" in manifest.units[1].error


def test_another_input_other_arguments_and_a_lost_output_are_done_again(logs, tmp_path):
    good, out = (logs[0], logs[2]), tmp_path / "out"

    def executed(*options):
        rows = listed("fuse", *good, "--no-mag", "--output", out, *options)
        return [not row.get("skipped", False) for row in rows]

    assert executed() == [True, True]
    assert executed() == [False, False]
    assert executed("--workers", 2) == [False, False]
    (out / "c.csv").unlink()
    assert executed() == [False, True]
    assert executed("--force") == [True, True]
    assert executed("--filter", "mahony", "--force") == [True, True]
    params = tmp_path / "mahony.toml"
    params.write_text("k_p = 0.5\n")
    options = ("--filter", "mahony", "--params", params)
    assert executed(*options, "--force") == [True, True]
    assert executed(*options) == [False, False]
    params.write_text("k_p = 0.6\n")
    rows = listed("fuse", *good, "--no-mag", "--output", out, *options, code=1)
    assert all("exists already" in row["error"] for row in rows)
    strapdown.write(logs[2], Recording(imu={"other": still(300)}), force=True)
    assert executed("--force") == [True, True]


def test_an_interrupted_run_leaves_nothing_in_the_way_of_the_next(logs, tmp_path, monkeypatch):
    """The second of two recordings is interrupted after its output has its name."""
    good, out = (logs[0], logs[2]), tmp_path / "out"
    write = files.write

    def interrupted(path, *arguments, **options):
        done = write(path, *arguments, **options)
        if path.name == "c.csv":
            (out / "c.csv.partial").write_text("half")
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(files, "write", interrupted)
    assert run("fuse", *good, "--no-mag", "--output", out).exit_code == 130
    monkeypatch.setattr(files, "write", write)
    assert (out / "c.csv").exists()
    rows = listed("fuse", *good, "--no-mag", "--output", out)
    assert [row.get("skipped", False) for row in rows] == [True, False]
    assert sorted(path.name for path in out.iterdir()) == [STATE, "a.csv", "c.csv"]


def test_a_file_that_was_written_after_an_interrupted_run_is_kept(logs, tmp_path, monkeypatch):
    """The first of two recordings is interrupted; the output of the second is of another origin."""
    good, out = (logs[0], logs[2]), tmp_path / "out"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files, "write", interrupted)
        assert run("fuse", *good, "--no-mag", "--output", out).exit_code == 130
    (out / "c.csv").write_text("mine")
    rows = listed("fuse", *good, "--no-mag", "--output", out, code=1)
    assert ["error" in row for row in rows] == [False, True]
    assert "exists already" in rows[1]["error"]
    assert (out / "c.csv").read_text() == "mine"


def test_two_runs_do_not_write_to_one_folder_at_once(logs, tmp_path):
    good, out = (logs[0], logs[2]), tmp_path / "out"
    (out / STATE).mkdir(parents=True)
    with (out / STATE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run("fuse", *good, "--no-mag", "--output", out)
    assert done.exit_code == 1
    assert "another one is writing to it" in " ".join(done.stderr.split())
    listed("fuse", *good, "--no-mag", "--output", out)


def test_every_verb_of_the_list_takes_several(logs, tmp_path):
    good = (logs[0], logs[2])
    needs = {"convert": (tmp_path / "x" / "{}.npz",), "fuse": ("--output", tmp_path / "f")}
    for verb in MANY:
        done = run(verb, *good, *needs.get(verb, ()), "--json")
        assert done.exit_code == 0, done.output
        assert len(json.loads(done.stdout)) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("fuse", "--output", "a.tum"),
        ("fuse", "--compare"),
        ("odometry",),
        ("detect",),
        ("allan",),
        ("plot", "--output", "a.png"),
        ("convert", "a.npz"),
    ],
)
def test_the_topic_that_is_taken_is_named_even_if_it_is_the_only_one(
    logs, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    verb, *others = arguments
    done = run(verb, logs[0], *others)
    assert done.exit_code in {0, 3}, done.output
    assert any(
        line.startswith(("topic imu/data", "topics: imu/data")) for line in done.stdout.splitlines()
    )
    data = json.loads(
        run(verb, logs[0], *others, "--force" if others else "--json", "--json").stdout
    )
    assert data.get("topic", [*data.get("topics", ())][:1]) in ("imu/data", ["imu/data"])
