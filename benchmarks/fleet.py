"""Cost of a task in a fleet: pool and Dask, start and run.

Run with ``python benchmarks/fleet.py [TASKS]``. Each task waits for 20 ms without using a processor
and returns a row; two workers. ``bare`` is ``concurrent.futures`` alone with the same pool,
``map`` adds digests, result files and the manifest, ``skip`` is a second run of everything. The
cost of a task is the wall time beyond that of the waiting, without the start, divided by the tasks.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from distributed import Client, LocalCluster

from _machine import describe
from strapdown import fleet

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

WORKERS: Final = 2
TASK_S: Final = 0.02


def task(number: int) -> dict[str, float]:
    """Wait, and return a row like that of a study."""
    time.sleep(TASK_S)
    return {f"figure_{k}": number / (k + 3.0) for k in range(20)}


def timed(call: Callable[[], object]) -> float:
    """Return the wall time of a call [s]."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(name: str, executor: Executor, count: int, start_s: float) -> None:
    """Print a line for one executor."""
    ideal_s = count * TASK_S / WORKERS
    bare_s = timed(lambda: list(executor.map(task, range(count))))
    with TemporaryDirectory() as folder:
        run = partial(fleet.map, task, range(count), executor=executor, out=folder)
        map_s, skip_s = timed(run), timed(run)
    costs = [1e3 * (each - ideal_s) / count for each in (bare_s, map_s)]
    print(
        f"{name:6} start {start_s:6.2f} s   bare {costs[0]:6.2f} ms a task   "
        f"map {costs[1]:6.2f} ms a task   skip {1e3 * skip_s / count:6.3f} ms a task"
    )


def main() -> None:
    """Measure both executors."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(describe("dask", "distributed"))
    print(f"{count} tasks of {1e3 * TASK_S:.0f} ms on {WORKERS} workers")
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        start_s = timed(lambda: list(pool.map(task, range(WORKERS))))
        measure("pool", pool, count, start_s)
    began = time.perf_counter()
    local = LocalCluster(
        host="127.0.0.1", n_workers=WORKERS, threads_per_worker=1, dashboard_address=None
    )
    with local, Client(local) as client:
        executor = client.get_executor()
        list(executor.map(task, range(WORKERS)))
        measure("dask", executor, count, time.perf_counter() - began)


if __name__ == "__main__":
    main()
