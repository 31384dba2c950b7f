"""Run kernels: one source, as ordinary Python or as machine code.

A kernel is a small pure function over plain floats and records, marked :func:`kernel`. As it
stands it runs as ordinary Python. :func:`compiled` gives the same source as machine code (Numba),
and so does :class:`MachineCode` for a loop over records, which knows whether that code is there
already: a caller goes on in plain Python as long as it is not worth the wait.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dis import get_instructions
from functools import cache, cached_property
from hashlib import blake2s
from threading import RLock
from time import perf_counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from warnings import catch_warnings, simplefilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown._object_code import LinkedCode
    from strapdown._records import Record, RecordArray

    Kernel = TypeVar("Kernel", bound=Callable[..., Any])

__all__ = [
    "MachineCode",
    "announce_compiling",
    "array_making_kernel",
    "bind",
    "compiled",
    "compiled_is_quicker",
    "compiling_first",
    "inlined_kernel",
    "kernel",
    "quickest",
    "worth_compiling",
    "worth_loading",
]

_log: Final = logging.getLogger("strapdown")
_compiler: Final = RLock()  # Numba compiles one function at a time
_listeners: Final[list[Callable[[str], object]]] = []
_entered: Final[set[FunctionType]] = set()
_eager: Final = ContextVar("eager", default=False)

PLAIN_ROWS: Final = 500  # a recording this short is done before machine code is loaded
COLD_ROWS: Final = 50_000  # ... and this short, before it is compiled


def kernel(function: Kernel) -> Kernel:
    """Mark a function as a kernel: what it calls by name is a kernel or known to the compiler.

    A kernel makes no arrays and keeps none, unless it is marked :func:`array_making_kernel`.
    """
    function.makes_arrays = False  # type: ignore[attr-defined]
    return function


def array_making_kernel(function: Kernel) -> Kernel:
    """Mark a kernel that makes arrays, or writes to slices: the compiler counts who holds them."""
    function.makes_arrays = True  # type: ignore[attr-defined]
    return function


def inlined_kernel(function: Kernel) -> Kernel:
    """Mark a kernel that is merged into its callers, because it hands on many numbers by value."""
    function.inlines = True  # type: ignore[attr-defined]
    return kernel(function)


def is_kernel(value: object) -> bool:
    """Whether a value is a function marked as a kernel."""
    return isinstance(value, FunctionType) and hasattr(value, "makes_arrays")


def bind(loop: Kernel, **parts: Callable[..., Any]) -> Kernel:
    """Return a kernel in which names that its module leaves open stand for other kernels.

    So one loop serves the steps of many filters, in both executions.
    """
    source = cast("FunctionType", loop)
    name = "_".join(
        [source.__name__, *(f"{part.__module__}.{part.__name__}" for part in parts.values())]
    )
    bound = FunctionType(source.__code__, source.__globals__ | parts, name)
    bound.__module__ = source.__module__
    return kernel(cast("Kernel", bound))


def compiled(function: Kernel, **parts: Callable[..., Any]) -> Kernel:
    """Return a kernel as machine code, together with every kernel that it calls.

    The machine code is cached on disk, so one process pays for it once per installation; what was
    compiled from another source, of this kernel or of one that it calls, is not used again.
    Arithmetic stays IEEE double in the written order (no fast-math), and the call releases the
    interpreter lock.

    Parameters
    ----------
    function : kernel
    **parts : kernel
        As in :func:`bind`.
    """
    if parts:
        function = _bound(function, tuple(parts.items()))
    return cast("Kernel", _entry(cast("FunctionType", function)))


@cache
def _bound(function: Kernel, parts: tuple[tuple[str, Callable[..., Any]], ...]) -> Kernel:
    return bind(function, **dict(parts))


class MachineCode:
    """A kernel over arrays of records as machine code, which may be there or not.

    Parameters
    ----------
    function : kernel
        Takes one array of records an argument.
    records : type of Record
        What each argument holds.
    name : str
        What it is for, as a person reads it.
    """

    def __init__(
        self, function: Callable[..., Any], *records: type[Record], name: str = ""
    ) -> None:
        self.name = name or function.__name__
        self._function = cast("FunctionType", function)
        self._records = records
        self._loaded: LinkedCode | None = None

    @property
    def loaded(self) -> LinkedCode | None:
        """The machine code, where this process has it."""
        return self._loaded

    def load(self) -> LinkedCode | None:
        """Return the machine code if it has been compiled before, by any process."""
        from strapdown._object_code import find  # noqa: PLC0415 (imports LLVM)

        with _compiler:
            if self._loaded is None and (code := find(self._file)):
                self._loaded = self._linked(code)
            return self._loaded

    def compile(self) -> LinkedCode:
        """Return the machine code; compile it if it is not there."""
        with _compiler:
            if (ready := self.load()) is not None:
                return ready
            from strapdown._object_code import save  # noqa: PLC0415 (imports LLVM)

            with _announced(self.name):
                code = self._compiled()
                self._loaded = self._linked(code)
            save(self._file, code)
            return self._loaded

    def plain(self, *arrays: RecordArray) -> None:
        """Run the kernel as plain Python; the arrays change as they do by machine code."""
        pairs = list(zip(self._records, arrays, strict=True))
        lists = [record.unpack(array) for record, array in pairs]
        self._function(*lists)
        for (record, array), changed in zip(pairs, lists, strict=True):
            array[:] = record.pack(changed)

    def code_for(self, rows: int, *, compiled: bool | None = None) -> LinkedCode | None:
        """Return the machine code for so many rows; None where plain Python is done sooner.

        ``compiled`` asks for one of them: True for machine code, False for plain Python.
        """
        if compiled is False:
            return None
        if compiled or worth_compiling(rows):
            return self.compile()
        return self.load() if worth_loading(rows) else self.loaded

    @cached_property
    def _file(self) -> str:
        layouts = repr([record.dtype() for record in self._records])
        source = blake2s((_digest(self._function) + layouts).encode(), digest_size=8).hexdigest()
        return f"{self._function.__name__}.{source}"

    def _linked(self, code: bytes) -> LinkedCode:
        from strapdown._object_code import LinkedCode  # noqa: PLC0415 (imports LLVM)

        return LinkedCode(self.name, code, [record.dtype() for record in self._records])

    def _compiled(self) -> bytes:
        from numba import from_dtype, types  # noqa: PLC0415 (a slow import)

        from strapdown._object_code import with_entry  # noqa: PLC0415 (imports LLVM)

        signature = tuple(
            types.Array(from_dtype(record.dtype()), 1, "C") for record in self._records
        )
        dispatcher = _within(self._function)
        with catch_warnings():  # a record may stand for its base: experimental, and tested
            simplefilter("ignore")
            dispatcher.compile(signature)
        return with_entry(dispatcher.overloads[signature], self.name)


def worth_loading(rows: int) -> bool:
    """Whether machine code that is on disk saves time with so many rows."""
    return rows > PLAIN_ROWS or _eager.get()


def worth_compiling(rows: int) -> bool:
    """Whether machine code saves time with so many rows even if it has to be made."""
    return rows > COLD_ROWS or _eager.get()


@contextmanager
def compiling_first() -> Iterator[None]:
    """Let everything inside the block run by machine code, however short it is."""
    before = _eager.set(True)
    try:
        yield
    finally:
        _eager.reset(before)


@contextmanager
def announce_compiling(announce: Callable[[str], object]) -> Iterator[None]:
    """Call ``announce(name)`` before every compilation inside the block."""
    _listeners.append(announce)
    try:
        yield
    finally:
        _listeners.remove(announce)


@contextmanager
def _announced(name: str) -> Iterator[None]:
    begun = perf_counter()
    for announce in _listeners:
        announce(name)
    yield
    _log.info("compiled %s in %.1f s", name, perf_counter() - begun)


@cache
def _entry(function: FunctionType) -> Any:
    """Return a kernel as Python calls it."""
    return _jit(function, function.__name__, no_cpython_wrapper=False)


@cache
def _within(function: FunctionType) -> Any:
    """Return a kernel as other kernels call it.

    It needs no wrapper that takes Python's objects apart, which for a tuple of many floats takes
    longer to compile than the kernel does.
    """
    return _jit(function, f"{function.__name__}_within", no_cpython_wrapper=True)


def _jit(function: FunctionType, name: str, *, no_cpython_wrapper: bool) -> Any:
    """Return a kernel to be compiled, under a name for its file in the cache."""
    from numba import njit  # noqa: PLC0415 (a slow import that only compiled runs pay for)

    from strapdown._code_cache import CodeCache  # noqa: PLC0415 (imports the compiler)

    scope = dict(function.__globals__)
    for used in _kernels_used(function):
        scope[used] = _within(scope[used])
    twin = FunctionType(function.__code__, scope, name, function.__defaults__)
    twin.__qualname__ = f"{name}_{_digest(function)}"
    twin.__module__ = function.__module__
    options: dict[str, Any] = {
        "no_cpython_wrapper": no_cpython_wrapper,
        "no_cfunc_wrapper": True,
        "forceinline": hasattr(function, "inlines"),
        "_nrt": function.makes_arrays,  # type: ignore[attr-defined]
        "nogil": True,
        "fastmath": False,
    }
    dispatcher = njit(**options)(twin)
    if not no_cpython_wrapper:
        with suppress(RuntimeError):  # nowhere to write: code for this process alone
            dispatcher._cache = CodeCache(twin)  # noqa: SLF001 (no other way to name its files)
    return dispatcher


def _kernels_used(function: FunctionType) -> list[str]:
    """Return the names of the kernels that a kernel calls."""
    scope = function.__globals__
    return [name for name in _names(function.__code__) if is_kernel(scope.get(name))]


@cache
def _names(code: CodeType) -> list[str]:
    """Return the names of the globals that code uses."""
    own = [step.argval for step in get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return list(dict.fromkeys([*own, *inner]))


@cache
def _digest(function: FunctionType) -> str:
    """Return what changes with the code of a kernel, of one that it calls, or with a constant.

    The cache of the compiler looks at the file of a function alone, not at what is called.
    """
    scope = function.__globals__
    parts = [function.__module__, *_code_parts(function.__code__)]  # machine code imports modules
    for name in _names(function.__code__):
        value = scope.get(name)
        if is_kernel(value):
            parts.append(_digest(cast("FunctionType", value)))
        elif isinstance(value, int | float | str | tuple):
            parts.append(f"{name}={value!r}")
        elif isinstance(value, type):
            parts.append(f"{name}={vars(value).get('_fields')}")
    return blake2s("\n".join(parts).encode(), digest_size=6).hexdigest()


def _code_parts(code: CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant)


def compiled_is_quicker(function: Kernel, rows: int) -> bool:
    """Whether machine code is done first with so many rows.

    Few are done first in plain Python, unless this process has the machine code already.
    """
    if worth_compiling(rows):
        _entered.add(cast("FunctionType", function))
    return function in _entered


def quickest(function: Kernel, rows: int) -> Kernel:
    """Return a kernel over arrays in the execution that is done first with so many rows."""
    if compiled_is_quicker(function, rows):
        return compiled(function)
    from numpy import errstate  # noqa: PLC0415 (this module serves code that needs no arrays)

    return errstate(all="ignore")(function)
