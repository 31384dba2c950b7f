from __future__ import annotations

import numba
import numpy as np

from strapdown import _compile
from strapdown._compile import compiled
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
    return _compile.kernel(scope["f"])


def test_code_that_was_compiled_from_another_source_is_not_used_again():
    one, two = made("def f():\n    return 1"), made("def f():\n    return 2")
    caller = "def f():\n    return g() + LIMIT"
    first = _compile._digest(made(caller, g=one, LIMIT=1.0))
    assert _compile._digest(made(caller, g=one, LIMIT=1.0)) == first
    assert _compile._digest(made(caller, g=two, LIMIT=1.0)) != first, "what it calls"
    assert _compile._digest(made(caller, g=one, LIMIT=2.0)) != first, "a constant"
    assert _compile._digest(made(caller + " + 0.0", g=one, LIMIT=1.0)) != first, "itself"


def test_what_a_loop_leaves_open_is_bound_in_both_executions():
    loop = made("def f(n):\n    for _ in range(2):\n        n = step(n)\n    return n")
    twice, thrice = made("def f(n):\n    return 2 * n"), made("def f(n):\n    return 3 * n")
    assert _compile.bind(loop, step=twice)(5) == 20
    assert _compile.bind(loop, step=thrice)(5) == 45


def test_short_work_is_done_in_plain_python_and_long_by_machine_code():
    short = _compile.quickest(quaternion_rotate, 10)
    assert short(0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0) == (-1.0, -2.0, 3.0)
    assert quaternion_rotate not in _compile._entered
    twin = _compile.quickest(quaternion_multiply, 10**6)
    assert twin is compiled(quaternion_multiply)
    assert _compile.quickest(quaternion_multiply, 10) is twin, "it is there already"


def test_processes_that_compile_a_kernel_for_other_arguments_write_other_files(
    tmp_path, monkeypatch
):
    double = made("def f(a):\n    return 2 * a")
    double.__code__ = double.__code__.replace(co_filename=__file__)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def files_after(argument):
        _compile._jit(double, "double", no_cpython_wrapper=False)(argument)
        folder = (tmp_path / "cache").rename(tmp_path / str(argument))
        return {path.name for path in folder.rglob("*.nb?")}

    one, other = files_after(1), files_after(2.5)
    assert len(one) == len(other) == 1
    assert not one & other


def test_machine_code_of_another_version_of_the_source_file_is_not_used(tmp_path, monkeypatch):
    double = made("def f(a):\n    return 2 * a")
    double.__code__ = double.__code__.replace(co_filename=__file__)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first = _compile._jit(double, "double", no_cpython_wrapper=False)
    first(1)
    again = _compile._jit(double, "double", no_cpython_wrapper=False)
    again(1)
    assert (again.stats.cache_hits, again.stats.cache_misses) == ({(numba.int64,): 1}, {})
    edited = _compile._jit(double, "double", no_cpython_wrapper=False)
    edited._cache._cache_file._source_stamp = "later"
    edited(1)
    assert not edited.stats.cache_hits
