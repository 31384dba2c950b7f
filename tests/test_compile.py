from __future__ import annotations

import sys
import types

import numpy as np

from strapdown import _compile
from strapdown._compile import compiled
from strapdown.geometry._kernels import quaternion_multiply, quaternion_rotate


def test_the_compiled_kernel_gives_the_bits_of_the_plain_one():
    generator = np.random.default_rng(1)
    for kernel, count in ((quaternion_multiply, 8), (quaternion_rotate, 7)):
        twin = compiled(kernel)
        for _ in range(100):
            arguments = generator.standard_normal(count).tolist()
            assert twin(*arguments) == kernel(*arguments)


def test_a_kernel_is_compiled_once():
    assert compiled(quaternion_multiply) is compiled(quaternion_multiply)


def test_code_that_was_compiled_from_other_sources_is_not_used_again(tmp_path, monkeypatch):
    inner, outer = tmp_path / "strapdown_inner_kernels.py", tmp_path / "strapdown_outer_kernels.py"
    inner.write_text("def one():\n    return 1\n")
    outer.write_text("")
    for path in (inner, outer):
        module = types.ModuleType(f"strapdown.{path.stem}")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    outer.write_text("from strapdown.strapdown_inner_kernels import one\n")

    def digest():
        _compile._digest.cache_clear()
        return _compile._digest("strapdown.strapdown_outer_kernels")

    before = digest()
    assert digest() == before
    inner.write_text("def one():\n    return 2\n")
    assert digest() != before
