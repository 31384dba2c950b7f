"""A task for every item: the same bytes however it runs, and each item once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from strapdown import fleet
from strapdown._version import __version__
from strapdown.errors import FormatError, ValueRangeError

HERE = Path(__file__).parent


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def rows(manifest):
    return [row for _, found in manifest.rows() for row in found]


@pytest.mark.parametrize("executor", ["pool:2", "pool:8"])
def test_more_processes_change_no_byte(executor, tasks, tmp_path, contents):
    fleet.map(tasks.slow_first, range(9), executor="pool:1", out=tmp_path / "one")
    manifest = fleet.map(tasks.slow_first, range(9), executor=executor, out=tmp_path / "more")
    assert contents(tmp_path / "more") == contents(tmp_path / "one")
    assert rows(manifest) == [{"number": n, "square": n * n / 3.0} for n in range(9)]


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_lost_processes_change_no_byte_and_cost_no_result(count, tasks, tmp_path, contents):
    (tmp_path / "marks").mkdir()
    task = partial(tasks.killed_once, str(tmp_path / "marks"))
    manifest = fleet.map(task, range(count), executor="pool:2", out=tmp_path / "killed")
    killed = sorted(path.name for path in (tmp_path / "marks").iterdir())
    assert killed == ["2", "5"][: 1 + (count > 5)]
    assert manifest.failed == []
    fleet.map(task, range(count), executor=fleet.Serial(), out=tmp_path / "whole")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_an_item_whose_process_is_lost_when_it_first_runs_to_its_end_has_another_chance(
    tasks, tmp_path
):
    (tmp_path / "marks").mkdir()
    task = partial(tasks.killed_alone, str(tmp_path / "marks"))
    manifest = fleet.map(task, range(2), executor="pool:2", out=tmp_path / "out")
    assert {path.name for path in (tmp_path / "marks").iterdir()} == {"begun", "0", "1"}
    assert manifest.failed == []


def test_an_item_that_always_ends_its_process_fails_alone(tasks, tmp_path):
    manifest = fleet.map(tasks.killed_always, range(8), executor="pool:2", out=tmp_path)
    assert [(unit.item, "killed" in unit.error) for unit in manifest.failed] == [(3, True)]
    assert [row["number"] for row in rows(manifest)] == [0, 1, 2, 4, 5, 6, 7]


KILLED = """
import sys
from functools import partial
import fleet_tasks
from strapdown import fleet

if __name__ == "__main__":
    task = partial(fleet_tasks.waits, sys.argv[1])
    fleet.map(task, range(6), executor="pool:2", out=sys.argv[2])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_continues_where_it_was(number, tasks, tmp_path, contents, is_gone):
    folder, out = tmp_path / "pids", tmp_path / "out"
    folder.mkdir()
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    run = subprocess.Popen(
        [sys.executable, script, folder, out], env=environment, stderr=subprocess.DEVNULL
    )
    units = out / "units"
    end = time.monotonic() + 30.0
    while (not units.is_dir() or len(list(units.glob("*.json"))) < 4) and time.monotonic() < end:
        time.sleep(0.02)
    run.send_signal(number)
    assert run.wait(timeout=10.0) == -number
    workers = [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]
    (folder / "go").touch()
    assert workers
    assert all(is_gone(pid) for pid in workers)
    assert not (out / "manifest.json").exists()
    task = partial(tasks.waits, str(folder))
    manifest = fleet.map(task, range(6), executor=fleet.Serial(), out=out)
    assert manifest.executed == 2
    fleet.map(task, range(6), executor=fleet.Serial(), out=tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


def test_a_second_run_executes_nothing(tasks, tmp_path, contents, threads):
    calls = tmp_path / "calls"
    calls.mkdir()
    run = partial(fleet.map, partial(tasks.counted, str(calls)), out=tmp_path / "out")
    assert run(range(5), executor=threads).executed == 5
    before = contents(tmp_path / "out")
    assert run(range(5), executor=threads).executed == 0
    assert contents(tmp_path / "out") == before
    assert run(range(7), executor=threads).executed == 2
    assert len(list(calls.iterdir())) == 7


def test_a_damaged_result_is_computed_again(tasks, tmp_path, contents, threads):
    fleet.map(tasks.square, range(3), executor=threads, out=tmp_path)
    before = contents(tmp_path)
    path = next(iter((tmp_path / "units").iterdir()))
    path.write_bytes(path.read_bytes()[:5])
    assert fleet.map(tasks.square, range(3), executor=threads, out=tmp_path).executed == 1
    assert contents(tmp_path) == before


def test_a_failed_item_is_a_row_with_its_error_and_is_tried_again(tasks, tmp_path, threads):
    manifest = fleet.map(tasks.reciprocal, [2, 0, 4], executor=threads, out=tmp_path)
    (failed,) = manifest.failed
    assert (failed.item, failed.error) == (0, "ZeroDivisionError: float division by zero")
    assert rows(manifest) == [
        {"number": 2, "reciprocal": 0.5},
        {"number": 4, "reciprocal": 0.25},
    ]
    assert fleet.Manifest.read(tmp_path).units == list(manifest.units)
    assert fleet.map(tasks.reciprocal, [2, 0, 4], executor=threads, out=tmp_path).executed == 1


def test_calls_in_this_process_are_made_one_after_another(tasks, tmp_path, contents, threads):
    seen, units = [], tmp_path / "here" / "units"

    def progress(now):
        seen.append((now.executed, len(list(units.iterdir()))))

    run = partial(fleet.map, tasks.reciprocal, [1, 0, 2])
    run(executor=fleet.Serial(), out=tmp_path / "here", progress=progress)
    assert seen == [(0, 0), (1, 1), (2, 1), (3, 2)]
    run(executor=threads, out=tmp_path / "threads")
    assert contents(tmp_path / "here") == contents(tmp_path / "threads")


def test_a_key_names_what_an_item_depends_on(tasks, tmp_path, threads):
    run = partial(fleet.map, tasks.square, executor=threads, out=tmp_path, key=lambda n: n % 10)
    assert run([1, 2]).executed == 2
    again = run([11, 12, 13])
    assert again.executed == 1
    assert [unit.item for unit in again.units] == [1, 2, 3]
    assert again.skipped == {unit.name for unit in again.units[:2]}
    assert rows(again) == [tasks.square(1), tasks.square(2), tasks.square(13)]


def test_an_item_whose_own_files_are_gone_is_done_again(tasks, tmp_path, threads):
    calls = tmp_path / "calls"
    calls.mkdir()
    run = partial(
        fleet.map,
        partial(tasks.counted, str(calls)),
        range(3),
        executor=threads,
        out=tmp_path / "out",
        complete=lambda number: any(calls.glob(f"{number}-*")),
    )
    assert run().executed == 3
    assert run().executed == 0
    next(calls.glob("1-*")).unlink()
    assert run().executed == 1
    assert any(calls.glob("1-*"))


def test_a_folder_counts_by_the_content_of_its_files(tasks, tmp_path, threads):
    folder = tmp_path / "log"
    (folder / "imu0").mkdir(parents=True)
    (folder / "imu0" / "data.csv").write_text("1")
    run = partial(fleet.map, tasks.entries, [folder], executor=threads, out=tmp_path / "out")
    assert [run().executed, run().executed] == [1, 0]
    (folder / "imu0" / "data.csv").write_text("2")
    assert run().executed == 1
    (folder / "imu0" / "data.csv").rename(folder / "imu0" / "other.csv")
    assert run().executed == 1


def test_a_notebook_shows_counts_and_failed_units(tasks, tmp_path, threads):
    text = fleet.map(tasks.reciprocal, [2, 0], executor=threads, out=tmp_path)._repr_html_()
    assert "<tr><td>units</td><td>2</td></tr>" in text
    assert "<td>0</td><td>ZeroDivisionError: float division by zero</td>" in text


class Twice(Executor):
    """Execute everything twice, as a cluster may after it has lost sight of a worker."""

    def submit(self, function, /, *args):
        function(*args)
        future = Future()
        future.set_result(function(*args))
        return future


def test_duplicated_execution_changes_no_byte(tasks, tmp_path, contents, threads):
    fleet.map(tasks.square, [3, 4, 3], executor=Twice(), out=tmp_path / "twice")
    fleet.map(tasks.square, [3, 4], executor=threads, out=tmp_path / "once")
    assert contents(tmp_path / "twice") == contents(tmp_path / "once")


def test_two_runs_at_once_in_one_folder_agree(tasks, tmp_path, contents, threads):
    run = partial(fleet.map, tasks.square, range(50), executor=Twice(), out=tmp_path / "both")
    for future in [threads.submit(run), threads.submit(run)]:
        assert future.result().failed == []
    fleet.map(tasks.square, range(50), executor=threads, out=tmp_path / "one")
    assert contents(tmp_path / "both") == contents(tmp_path / "one")


def test_a_unit_is_named_by_the_digest_of_its_content(tasks, tmp_path, threads):
    manifest = fleet.map(tasks.square, [7], executor=threads, out=tmp_path, version="1")
    named = (
        '{"item": 7, "task": {"arguments": [], "function": "fleet_tasks:square"}, "version": "1"}'
    )
    assert manifest.units[0].name == hashlib.sha256(named.encode()).hexdigest()
    assert fleet.map(tasks.square, [7], executor=threads, out=tmp_path).version == __version__


def test_input_configuration_and_version_each_make_another_unit(tasks, tmp_path, threads):
    log = tmp_path / "log.txt"
    log.write_text("four")
    run = partial(fleet.map, executor=threads, out=tmp_path / "out")
    names = {
        run(tasks.length, [log]).units[0].name,
        run(tasks.length, [log], version="2").units[0].name,
    }
    moved = log.rename(tmp_path / "moved.txt")
    assert run(tasks.length, [moved]).executed == 0
    moved.write_text("five!")
    manifest = run(tasks.length, [moved])
    assert manifest.executed == 1
    assert rows(manifest) == [{"bytes": 5}]
    assert len(names | {manifest.units[0].name}) == 3
    folders = [str(tmp_path), str(tmp_path / "out")]
    first, second = (run(partial(tasks.counted, folder), [1]) for folder in folders)
    assert first.units[0].name != second.units[0].name


def test_a_number_that_is_not_finite_is_null_and_other_results_fail(tmp_path, threads):
    run = partial(fleet.map, executor=threads, out=tmp_path)
    assert rows(run(dict, [{"x": float("nan")}])) == [{"x": None}]
    (failed,) = run(repr, [1]).failed
    assert failed.error == "TypeError: expected rows as mappings, got str from builtins:repr"
    with pytest.raises(TypeError, match="expected numbers, strings, paths, lists and mappings"):
        run(repr, [object()])


def test_progress_gives_rate_and_time_left(tasks, tmp_path, threads):
    seen = []
    fleet.map(tasks.reciprocal, [1, 0], executor=threads, out=tmp_path, progress=seen.append)
    assert [(each.executed, each.total) for each in seen] == [(0, 2), (1, 2), (2, 2)]
    assert seen[-1].failed == 1
    assert seen[-1].left_s == 0.0
    halfway = fleet.Progress(total=100, skipped=20, executed=30, failed=0, elapsed_s=6.0)
    assert (halfway.rate_per_s, halfway.left_s) == (5.0, 10.0)


def test_times_are_in_a_file_of_their_own(tasks, tmp_path, threads):
    manifest = fleet.map(tasks.square, range(3), executor=threads, out=tmp_path)
    times = json.loads((tmp_path / "times.json").read_text())
    assert set(times) == {unit.name for unit in manifest.units}


@pytest.mark.parametrize(
    "name", ["", "pools", "pool:0", "dask:2", "dask://host", "tls://host", "ray"]
)
def test_an_unknown_executor_is_refused(name, tasks, tmp_path):
    with pytest.raises(ValueRangeError, match="expected an executor pool, pool:N, dask or"):
        fleet.map(tasks.square, [1], executor=name, out=tmp_path)


def test_a_folder_without_manifest_is_refused(tmp_path):
    with pytest.raises(FormatError, match="expected a folder of results"):
        fleet.Manifest.read(tmp_path)


DASK = """
import sys
from distributed import Client, LocalCluster
import fleet_tasks
from strapdown import fleet

if __name__ == "__main__":
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(host="127.0.0.1", **options) as cluster:
        address = cluster.scheduler_address.replace("tcp", "dask")
        fleet.map(fleet_tasks.slow_first, range(9), executor=address, out=sys.argv[1])
"""


def test_a_dask_cluster_with_two_workers_gives_the_same_bytes(
    tasks, tmp_path, contents, threads, need_peer
):
    need_peer("dask", pytest.importorskip("distributed"), "pip install 'strapdown[fleet]'")
    (tmp_path / "run.py").write_text(DASK)
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [sys.executable, tmp_path / "run.py", tmp_path / "dask"]
    subprocess.run(command, env=environment, check=True, timeout=120)
    fleet.map(tasks.slow_first, range(9), executor=threads, out=tmp_path / "threads")
    assert contents(tmp_path / "dask") == contents(tmp_path / "threads")
