from __future__ import annotations

import math
import signal
import time
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite.binding import ExecutionEngine

from strapdown._kernels import compilation
from strapdown._kernels import kernel as _kernel
from strapdown._kernels.compilation import compiled
from strapdown.geometry.formulas import quaternion_multiply, quaternion_rotate


def test_the_compiled_kernel_gives_the_bits_of_the_plain_one():
    generator = np.random.default_rng(1)
    for kernel, count in ((quaternion_multiply, 8), (quaternion_rotate, 7)):
        twin = compiled(kernel)
        for _ in range(100):
            arguments = generator.standard_normal(count).tolist()
            assert twin(*arguments) == kernel(*arguments)


def test_a_kernel_is_compiled_once():
    assert compiled(quaternion_multiply) is compiled(quaternion_multiply)


def made(source, **known):
    """Return the function f of a source, as a kernel."""
    scope = known | {"__name__": "strapdown.made"}
    exec(source, scope)  # noqa: S102 (sources of this test)
    return _kernel.kernel(scope["f"])


def test_code_that_was_compiled_from_another_source_is_not_used_again():
    one, two = made("def f():\n    return 1"), made("def f():\n    return 2")
    caller = "def f():\n    return g() + LIMIT"
    first = _kernel.digest(made(caller, g=one, LIMIT=1.0))
    assert _kernel.digest(made(caller, g=one, LIMIT=1.0)) == first
    assert _kernel.digest(made(caller, g=two, LIMIT=1.0)) != first, "what it calls"
    assert _kernel.digest(made(caller, g=one, LIMIT=2.0)) != first, "a constant"
    assert _kernel.digest(made(caller + " + 0.0", g=one, LIMIT=1.0)) != first, "itself"


def test_what_a_loop_leaves_open_is_bound_in_both_executions():
    loop = made("def f(n):\n    for _ in range(2):\n        n = step(n)\n    return n")
    twice, thrice = made("def f(n):\n    return 2 * n"), made("def f(n):\n    return 3 * n")
    assert _kernel.bind(loop, step=twice)(5) == 20
    assert _kernel.bind(loop, step=thrice)(5) == 45


def test_short_work_is_done_in_plain_python_and_long_by_machine_code(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    thrice, told = made("def f(n):\n    return n + n + n"), []
    with compilation.announce_compiling(told.append):
        assert compilation.quickest(thrice, 10)(2) == 6
        assert compilation.quickest(thrice, 1000)(2) == 6
        assert not list(tmp_path.iterdir())
        assert not told
        assert compilation.quickest(thrice, 10**6)(2) == 6
        assert told == ["f"]
    by_types = compilation._ByTypes(thrice)
    assert by_types.if_made(2) == 6
    assert by_types._code, "it was there already"


def test_work_on_whole_arrays_replaces_plain_python_until_there_is_machine_code(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    thrice = made("def f(n):\n    return n + n + n")
    for rows in (10, 1000):
        assert compilation.quickest(thrice, rows, lambda n: 3.5 * n)(2) == 7.0
    assert compilation.quickest(thrice, 10**6, lambda n: 3.5 * n)(2) == 6
    assert compilation.quickest(thrice, 1000, lambda n: 3.5 * n)(2) == 6
    assert compilation.quickest(thrice, 10, lambda n: 3.5 * n)(2) == 7.0


def test_what_is_compiled_for_each_combination_of_types_has_a_file_of_its_own(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    total = made("def f(a, pair):\n    return a[0] + a[1], pair[0], pair[1]")
    floats, integers = np.array([1.5, 2.5]), np.array([1, 2])
    cases = [(floats, (1, True)), (integers, (1, True)), (floats[::-1], (1, True)),
             (floats, (None, 0.5)), (floats.astype(np.float32), (1, True))]  # fmt: skip
    expected = [(4.0, 1, True), (3, 1, True), (4.0, 1, True), (4.0, None, 0.5), (4.0, 1, True)]
    for _ in range(2):
        by_types = compilation._ByTypes(total)
        assert [by_types(*case) for case in cases] == expected
        assert len(list(tmp_path.glob("*.o"))) == len(cases)


class Pair(NamedTuple):
    left: np.float32
    right: tuple[int, bool]


def test_a_result_is_what_the_kernel_returns_with_its_named_tuples():
    swap = made("def f(p):\n    return Pair(p.left, (p.right[0] + 1, not p.right[1]))", Pair=Pair)
    assert compilation.compiled(swap)(Pair(np.float32(0.1), (2, True))) == swap(
        Pair(np.float32(0.1), (2, True))
    )
    nothing = made("def f(a):\n    a[0] = 7.0")
    room = np.zeros(1)
    assert compilation.compiled(nothing)(room) is None
    assert room[0] == 7.0


def test_a_kernel_that_could_not_run_without_the_compiler_is_refused():
    gamma = made("def f(x):\n    return math.gamma(x)", math=math)
    with pytest.raises(RuntimeError, match="f needs numba_gamma, which only the compiler has"):
        compilation.compiled(gamma)(0.5)


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, np.int8), (signal.SIGTERM, np.uint8)])
def test_a_signal_within_the_compiler_is_not_lost(monkeypatch, tmp_path, number, kind):
    """A callback of LLVM prints an exception and goes on: Ctrl-C would end nothing.

    LLVM calls back while it loads ``max`` of Numba, once for each type.
    """

    class EndedError(Exception):
        pass

    def end(*_):
        raise EndedError

    def found(engine, module):
        monkeypatch.setattr(ExecutionEngine, "_find_module_ptr", as_it_is)
        signal.raise_signal(number)
        return as_it_is(engine, module)

    def compile_and_wait():
        compiled(made("def f(n):\n    return max(n, n)"))(kind(1))
        time.sleep(5.0)

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    as_it_is = ExecutionEngine._find_module_ptr
    monkeypatch.setattr(ExecutionEngine, "_find_module_ptr", found)
    before = signal.signal(number, end)
    try:
        with pytest.raises(EndedError):
            compile_and_wait()
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)
