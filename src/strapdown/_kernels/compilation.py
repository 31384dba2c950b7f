"""Choice of the execution of a kernel: plain Python or machine code.

:func:`compiled` returns a kernel as machine code. :class:`MachineCode` and :func:`quickest` use
machine code that exists already, and plain Python as long as compiling would take longer than it
saves.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, partial
from hashlib import blake2s
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from strapdown._kernels.kernel import bind, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FunctionType

    from strapdown._kernels.object_code import LinkedCode, ObjectCode, PreparedCall
    from strapdown._kernels.records import Record, RecordArray

    Kernel = TypeVar("Kernel", bound=Callable[..., Any])

__all__ = [
    "MachineCode",
    "announce_compiling",
    "compiled",
    "compiled_is_quicker",
    "compiling_first",
    "prepared",
    "quickest",
    "worth_compiling",
    "worth_loading",
]

_log: Final = logging.getLogger("strapdown")
_compiler: Final = RLock()  # Numba compiles one function at a time
_listeners: Final[list[Callable[[str], object]]] = []
_entered: Final[set[FunctionType]] = set()
_eager: Final = ContextVar("eager", default=False)

PLAIN_ROWS: Final = 500  # a recording this short is finished before machine code is loaded
COLD_ROWS: Final = 50_000  # ... and this short, before it is compiled


def compiled(function: Kernel, **parts: Callable[..., Any]) -> Kernel:
    """Return a kernel as machine code, together with every kernel that it calls.

    The machine code is cached on disk, so it is compiled once per installation; machine code of
    another version of the source, of this kernel or of one that it calls, is not used.
    Arithmetic is IEEE double in the written order (no fast-math), and the call releases the
    interpreter lock.

    Parameters
    ----------
    function : kernel
    **parts : kernel
        As in :func:`bind`.
    """
    if parts:
        function = _bound(function, tuple(parts.items()))
    return cast("Kernel", _by_types(cast("FunctionType", function)))


def prepared(function: Callable[..., Any], *arguments: object) -> PreparedCall:
    """Return the call of a kernel as machine code with these arguments, which can be repeated.

    The contents of arrays may change between the runs.
    """
    return _by_types(cast("FunctionType", function)).prepared(*arguments)


@cache
def _bound(function: Kernel, parts: tuple[tuple[str, Callable[..., Any]], ...]) -> Kernel:
    return bind(function, **dict(parts))


class _ByTypes:
    """Kernel as machine code, compiled for each combination of types on its first use."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._name = function.__name__.rpartition(".")[2]
        self._code: dict[tuple[Any, ...], LinkedCode] = {}

    def __call__(self, *arguments: object) -> Any:
        return self._for(arguments)(*arguments)

    def prepared(self, *arguments: object) -> PreparedCall:
        return self._for(arguments).prepared(*arguments)

    def _for(self, arguments: Sequence[object]) -> LinkedCode:
        kinds = _kinds(arguments)
        code = self._code.get(kinds)
        if code is None:
            with _compiler:
                code = self._found(kinds) or self._made(kinds, arguments)
        return code

    def if_made(self, *arguments: object, plain: Callable[..., Any] | None = None) -> Any:
        """Run by machine code if it exists, else in plain Python or by another function."""
        kinds = _kinds(arguments)
        code = self._code.get(kinds)
        if code is None:
            with _compiler:
                code = self._found(kinds)
        return (code or plain or _in_plain_python(self._function))(*arguments)

    def _found(self, kinds: tuple[Any, ...]) -> LinkedCode | None:
        if kinds not in self._code and (code := _found(_file(self._function, kinds))):
            self._keep(kinds, code)  # another thread may have done it meanwhile
        return self._code.get(kinds)

    def _made(self, kinds: tuple[Any, ...], arguments: Sequence[object]) -> LinkedCode:
        file = _file(self._function, kinds)
        return self._keep(kinds, _made(self._function, arguments, file, self._name))

    def _keep(self, kinds: tuple[Any, ...], code: ObjectCode) -> LinkedCode:
        from strapdown._kernels.object_code import LinkedCode  # noqa: PLC0415 (imports LLVM)

        linked = self._code[kinds] = LinkedCode(self._name, code)
        return linked


@cache
def _by_types(function: FunctionType) -> _ByTypes:
    return _ByTypes(function)


def _kinds(arguments: Sequence[object]) -> tuple[Any, ...]:
    """Return the properties of the arguments that machine code depends on."""
    return tuple([_kind(argument) for argument in arguments])


def _kind(value: object) -> Any:
    from numpy import ndarray  # noqa: PLC0415 (this module serves code that needs no arrays)

    if isinstance(value, ndarray):
        flags = value.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, order, flags.writeable
    if isinstance(value, tuple):
        return type(value), *_kinds(value)
    return type(value)


class MachineCode:
    """Kernel over arrays of records as machine code, which may exist or not.

    Parameters
    ----------
    function : kernel
        Each of its arguments is an array of records.
    records : type of Record
        Record type of each argument.
    name : str
        Name in messages.
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
        """Machine code, if this process has loaded it."""
        return self._loaded

    def load(self) -> LinkedCode | None:
        """Return the machine code if it has been compiled before, by any process."""
        with _compiler:
            if self._loaded is None:
                self._loaded = self._linked(_found(self._file))
            return self._loaded

    def compile(self) -> LinkedCode:
        """Return the machine code; compile it if it does not exist."""
        with _compiler:
            if self.load() is None:
                from numpy import empty  # noqa: PLC0415 (this module serves code without arrays)

                arrays = [empty(1, record.dtype()) for record in self._records]
                code = _made(self._function, arrays, self._file, self.name)
                self._loaded = self._linked(code)
            return cast("LinkedCode", self._loaded)

    def plain(self, *arrays: RecordArray) -> None:
        """Run the kernel as plain Python, with the same effect on the arrays as machine code."""
        pairs = list(zip(self._records, arrays, strict=True))
        lists = [record.unpack(array) for record, array in pairs]
        self._function(*lists)
        for (record, array), changed in zip(pairs, lists, strict=True):
            array[:] = record.pack(changed)

    def code_for(self, rows: int, *, compiled: bool | None = None) -> LinkedCode | None:
        """Return the machine code for this many rows; None where plain Python is faster.

        ``compiled`` forces one of them: True machine code, False plain Python.
        """
        if compiled is False:
            return None
        if compiled or worth_compiling(rows):
            return self.compile()
        return self.load() if worth_loading(rows) else self.loaded

    @cached_property
    def _file(self) -> str:
        return _file(self._function, [record.dtype() for record in self._records])

    def _linked(self, code: ObjectCode | None) -> LinkedCode | None:
        from strapdown._kernels.object_code import LinkedCode  # noqa: PLC0415 (imports LLVM)

        layouts = [record.dtype() for record in self._records]
        return None if code is None else LinkedCode(self.name, code, layouts)


def _file(function: FunctionType, kinds: object) -> str:
    """Return the file name of the machine code of a kernel for arguments of certain kinds."""
    source = blake2s(f"{digest(function)} {kinds!r}".encode(), digest_size=8).hexdigest()
    return f"{function.__name__}.{source}"


def _found(file: str) -> ObjectCode | None:
    """Return machine code that was compiled before."""
    from strapdown._kernels.object_code import find  # noqa: PLC0415 (imports LLVM)

    return find(file)


def _made(function: FunctionType, arguments: Sequence[object], file: str, name: str) -> ObjectCode:
    """Compile for arguments of these types, and save the machine code for later processes."""
    from strapdown._kernels.object_code import save  # noqa: PLC0415 (imports LLVM)
    from strapdown._kernels.translation import translated  # noqa: PLC0415 (imports Numba)

    with _announced(name):
        code = translated(function, arguments)
    save(file, code)
    return code


def worth_loading(rows: int) -> bool:
    """Whether loading machine code from disk saves time with this many rows."""
    return rows > PLAIN_ROWS or _eager.get()


def worth_compiling(rows: int) -> bool:
    """Whether machine code saves time with this many rows even if it has to be compiled."""
    return rows > COLD_ROWS or _eager.get()


@contextmanager
def compiling_first() -> Iterator[None]:
    """Run everything inside the block by machine code, regardless of its length."""
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


def compiled_is_quicker(function: Kernel, rows: int) -> bool:
    """Whether machine code is faster with this many rows.

    With few rows plain Python is faster, unless this process has loaded the machine code already.
    """
    if worth_compiling(rows):
        _entered.add(cast("FunctionType", function))
    return function in _entered


def quickest(function: Kernel, rows: int, plain: Callable[..., Any] | None = None) -> Kernel:
    """Return a kernel over arrays in the execution that is fastest with this many rows.

    Parameters
    ----------
    function : kernel
    rows : int
    plain : callable, optional
        Function with the same arguments and results, on whole arrays, which is faster than the
        kernel in plain Python.
    """
    if worth_compiling(rows):
        return compiled(function)
    if worth_loading(rows):
        by_types = _by_types(cast("FunctionType", function))
        return cast("Kernel", partial(by_types.if_made, plain=plain))
    return cast("Kernel", plain) or _in_plain_python(function)


def _in_plain_python(function: Kernel) -> Kernel:
    """Return a kernel that, like machine code, gives no warnings about floating-point errors."""
    from numpy import errstate  # noqa: PLC0415 (this module serves code that needs no arrays)

    return errstate(all="ignore")(function)
