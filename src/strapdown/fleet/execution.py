"""Executors by name, and the results of a function as they are completed."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from strapdown.errors import BackendMissingError, PeerLostError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

__all__ = ["KILLED", "Serial", "check_executor", "completed"]

KILLED: Final = "its process was killed; it may need more memory than there is"
"""Error of an item whose process was lost twice while it ran alone."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_POOL: Final = re.compile(r"pool(?::([1-9]\d*))?")
_DASK: Final = re.compile(r"dask(?:://(.+:\d+))?|(tls://.+:\d+)")


class Serial(Executor):
    """Executor without other processes: :func:`completed` makes one call after another with it.

    Examples
    --------
    >>> Serial().submit(abs, -3).result()
    3
    """

    def submit(self, function: Any, /, *args: Any, **keywords: Any) -> Future[Any]:  # noqa: ANN401 (as the base class)
        """Call a function, and return its result or its exception."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **keywords))
        except Exception as error:  # noqa: BLE001 (as every executor)
            future.set_exception(error)
        return future


def completed(
    function: Callable[[_Item], _Result],
    items: Sequence[_Item],
    executor: Executor | str | None = None,
) -> Iterator[tuple[int, Future[_Result]]]:
    """Call a function for every item in other processes, and yield the results as they end.

    A process that is lost (killed, out of memory) ends a pool. The items that it may have been
    working on are then run again, each alone, and the others in a new pool. An item that ends
    its process twice while it runs alone has an exception, ``BrokenExecutor``.

    Parameters
    ----------
    function : callable
        Importable by name, so that other processes find it.
    items : sequence
        Arguments, one a call.
    executor : Executor or str, optional
        An executor of ``concurrent.futures``, which stays open, or a name: ``pool`` (the default,
        a process per processor), ``pool:N``, ``dask`` (a cluster on this machine), or
        ``dask://HOST:PORT`` (its scheduler; ``tls://HOST:PORT`` with TLS). :class:`Serial` makes
        the calls in this process.

    Yields
    ------
    number : int
        Index of the item.
    future : Future
        Done; ``result()`` returns the result or raises the exception of the call.

    Raises
    ------
    ValueRangeError
        There is no such executor.
    BackendMissingError
        Dask is not installed.
    PeerLostError
        No Dask scheduler answers at the address.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted((n, future.result()) for n, future in completed(abs, [-3, 2], pool))
    [(0, 3), (1, 2)]
    """
    numbered = dict(enumerate(items))
    if isinstance(executor, Serial):
        yield from ((number, executor.submit(function, item)) for number, item in numbered.items())
        return
    if isinstance(executor, Executor):
        yield from _submitted(function, numbered, executor)
        return
    check_executor(executor)
    if executor is not None and (dask := _DASK.fullmatch(executor)):
        with _dask(dask[2] or (dask[1] and f"tcp://{dask[1]}")) as cluster:
            yield from _submitted(function, numbered, cluster)
    else:
        pool = _POOL.fullmatch(executor or "pool")
        workers = int(pool[1]) if pool and pool[1] else len(os.sched_getaffinity(0))
        yield from _in_pools(function, numbered, workers)


def check_executor(executor: Executor | str | None) -> None:
    """Raise ValueRangeError unless there is such an executor."""
    if executor is None or isinstance(executor, Executor):
        return
    if not (_POOL.fullmatch(executor) or _DASK.fullmatch(executor)):
        raise ValueRangeError(
            "expected an executor pool, pool:N, dask or dask://HOST:PORT, or with TLS "
            f"tls://HOST:PORT, got {executor!r}"
        )


def _in_pools(
    function: Callable[[_Item], _Result], items: dict[int, _Item], workers: int
) -> Iterator[tuple[int, Future[_Result]]]:
    """Yield the results from process pools, of which each serves until it loses a process."""
    while items:
        for number, future in _in_pool(function, items, workers):
            if not isinstance(future.exception(), BrokenExecutor):
                del items[number]
                yield number, future
        # A pool starts items in order, so the lost process had one of the first that remain.
        for number in list(items)[:workers]:
            yield number, _alone(function, items.pop(number))


def _alone(function: Callable[[_Item], _Result], item: _Item) -> Future[_Result]:
    """Run an item by itself, twice if its process is lost: the first run may be its very first."""
    for _ in range(2):
        ((_, future),) = _in_pool(function, {0: item}, 1)
        if not isinstance(future.exception(), BrokenExecutor):
            break
    return future


def _in_pool(
    function: Callable[[_Item], _Result], items: Mapping[int, _Item], workers: int
) -> Iterator[tuple[int, Future[_Result]]]:
    """Yield the results from one process pool, whose processes end with this generator."""
    context, count = get_context("spawn"), min(workers, len(items))
    ended, here = context.Pipe(duplex=False)
    with ended, here, ProcessPoolExecutor(count, context, _end_with_command, (ended,)) as pool:
        try:
            yield from _submitted(function, items, pool)
        except BaseException:
            here.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_command(ended: Connection) -> None:
    """End this process of a pool with the command: by Ctrl-C, and as soon as a pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_with, args=[ended], daemon=True).start()


def _end_with(ended: Connection) -> None:
    ended.poll(None)  # nothing is ever sent
    os._exit(1)


def _submitted(
    function: Callable[[_Item], _Result], items: Mapping[int, _Item], executor: Executor
) -> Iterator[tuple[int, Future[_Result]]]:
    numbers: dict[Future[_Result], int] = {}
    for number, item in items.items():
        try:
            future = executor.submit(function, item)
        except BrokenExecutor as error:  # lost a process already
            future = Future()
            future.set_exception(error)
        numbers[future] = number
    for future in as_completed(list(numbers)):
        yield numbers.pop(future), future


@contextmanager
def _dask(address: str | None) -> Iterator[Executor]:
    """Yield the executor of a Dask cluster: on this machine, or of the scheduler at an address.

    Certificates for TLS are those of Dask's own configuration.
    """
    try:
        distributed: Any = import_module("distributed")  # an extra
    except ImportError:
        raise BackendMissingError("Dask", extra="fleet") from None
    if address is None:
        local = distributed.LocalCluster(
            host="127.0.0.1", threads_per_worker=1, dashboard_address=None
        )
        with local, distributed.Client(local) as client:
            yield client.get_executor()
        return
    try:
        client = distributed.Client(address)
    except OSError as error:  # a time-out is one, too
        raise PeerLostError(
            f"expected a Dask scheduler at {address}, found none ({error}); start one with: dask "
            "scheduler"
        ) from error
    except TypeError as error:  # of Dask, without a context of TLS
        raise PeerLostError(
            f"expected certificates for {address} in the configuration of Dask ({error}); set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and "
            "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
        ) from error
    with client:
        yield client.get_executor()
