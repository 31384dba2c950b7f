"""Fleets: speed-up of a second worker, and cost of a task; pool and Dask, ours and bare.

Run with ``python benchmarks/fleet.py [TASKS]``.

* Speed-up: units of a study (60 s of a simulated sensor, three filters; all on the processor, one
  thread each) with one worker and with two, in turn, as the median of some repetitions. ``bare`` is
  ``concurrent.futures`` or the executor of Dask alone; ``map`` adds digests, result files and the
  manifest.
* Cost: each task waits for 20 ms without using a processor and returns a row; two workers. The cost
  of a task is the wall time beyond that of the waiting, without the start, divided by the tasks.
  ``skip`` is a second run of everything.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from distributed import Client, LocalCluster

from _machine import describe
from strapdown import fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

WORKERS: Final = 2
TASK_S: Final = 0.02
UNITS: Final = 12
REPEATS: Final = 3
SLOW_S: Final = 60.0
RATE_HZ: Final = 400


def task(number: int) -> dict[str, float]:
    """Wait, and return a row like that of a study."""
    time.sleep(TASK_S)
    return {f"figure_{k}": number / (k + 3.0) for k in range(20)}


def units() -> list[dict[str, Any]]:
    """Return units of a study that differ by their seed."""
    filters = ["mahony", "vqf", "eskf"]
    one = {**fleet.Study.from_file("filters").items[0], "filters": filters}
    return [{**one, "duration": SLOW_S, "rate": RATE_HZ, "seed": seed} for seed in range(UNITS)]


def timed(call: Callable[[], object]) -> float:
    """Return the wall time of a call [s]."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@contextmanager
def pool(workers: int) -> Iterator[Executor]:
    """Yield a pool of processes."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as executor:
        yield executor


@contextmanager
def dask(workers: int) -> Iterator[Executor]:
    """Yield the executor of a Dask cluster."""
    local = LocalCluster(
        host="127.0.0.1", n_workers=workers, threads_per_worker=1, dashboard_address=":0"
    )
    with local, Client(local) as client:
        yield client.get_executor()


KINDS: Final = {"pool": pool, "dask": dask}


def run_bare(executor: Executor, function: Callable[[Any], object], items: Sequence[Any]) -> None:
    """Run a task for every item with the executor alone."""
    for future in [executor.submit(function, item) for item in items]:
        future.result()


def run_map(executor: Executor, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    """Run a task for every item, and keep the results."""
    with TemporaryDirectory() as folder:
        fleet.map(function, items, executor=executor, out=folder)


def speed_up() -> None:
    """Print the speed-up of a second worker."""
    print(f"\n{UNITS} units of a study, median of {REPEATS}")
    ways = {"bare": run_bare, "map": run_map}
    items = units()
    for kind, opened in KINDS.items():
        with ExitStack() as stack:
            executors = {count: stack.enter_context(opened(count)) for count in (1, WORKERS)}
            for executor in executors.values():
                run_bare(executor, fleet.simulate_and_evaluate, items[: 2 * WORKERS])
            times: dict[tuple[str, int], list[float]] = {}
            for _ in range(REPEATS):
                for way, run in ways.items():
                    for count, executor in executors.items():
                        call = partial(run, executor, fleet.simulate_and_evaluate, items)
                        times.setdefault((way, count), []).append(timed(call))
        for way in ways:
            one, two = times[way, 1], times[way, WORKERS]
            ratio = statistics.median(a / b for a, b in zip(one, two, strict=True))
            print(
                f"{kind:6} {way:5} one worker {statistics.median(one):6.2f} s   two "
                f"{statistics.median(two):6.2f} s   speed-up {ratio:5.2f}",
                flush=True,
            )


def costs(count: int) -> None:
    """Print the cost of a task."""
    print(f"\n{count} tasks of {1e3 * TASK_S:.0f} ms on {WORKERS} workers")
    for kind, opened in KINDS.items():
        began = time.perf_counter()
        with opened(WORKERS) as executor:
            list(executor.map(task, range(WORKERS)))
            start_s = time.perf_counter() - began
            ideal_s = count * TASK_S / WORKERS
            bare_s = timed(partial(run_bare, executor, task, range(count)))
            with TemporaryDirectory() as folder:
                run = partial(fleet.map, task, range(count), executor=executor, out=folder)
                map_s, skip_s = timed(run), timed(run)
        bare_ms, map_ms = (1e3 * (each - ideal_s) / count for each in (bare_s, map_s))
        print(
            f"{kind:6} start {start_s:5.2f} s   bare {bare_ms:6.2f} ms a task   map {map_ms:6.2f} "
            f"ms a task   skip {1e3 * skip_s / count:6.3f} ms a task"
        )


def main() -> None:
    """Measure pool and Dask."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = "1"  # of the workers, which import NumPy later
    print(describe("dask", "distributed", "numpy", "numba"))
    speed_up()
    costs(int(sys.argv[1]) if len(sys.argv) > 1 else 400)


if __name__ == "__main__":
    main()
