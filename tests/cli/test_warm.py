"""``strapdown warm``."""

from __future__ import annotations

import json

from strapdown import warming
from strapdown._kernels import compilation
from strapdown._kernels.kernel import kernel
from strapdown.cli._outcome import Outcome, run
from strapdown.cli.warm import warm


def test_it_compiles_what_is_named_and_says_how_long(capsys):
    code = run(lambda: warm(["mahony"]), json=True, quiet=False, strict=False, debug=False)
    said = json.loads(capsys.readouterr().out)
    assert code == said["exit"] == 0
    assert said["seconds"].keys() == {"mahony"}
    assert said["total"] == said["seconds"]["mahony"] >= 0.0


def test_an_unknown_name_is_one_line(capsys):
    code = run(lambda: warm(["magic"]), json=False, quiet=False, strict=False, debug=False)
    assert code == 1
    assert "magic" in capsys.readouterr().err


def test_other_verbs_that_compile_name_warm_and_warm_itself_does_not(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kernels = iter([kernel(lambda n: n + n), kernel(lambda n: n + n + n)])

    def compile_one():
        compilation.compiled(next(kernels))(2)
        return Outcome({}, [])

    monkeypatch.setattr(warming, "parts", lambda: {"one": compile_one})
    for verb, hint in (
        (compile_one, " (strapdown warm does it beforehand)"),
        (lambda: warm(["one"]), ""),
    ):
        assert run(verb, json=True, quiet=False, strict=False, debug=False) == 0
        assert capsys.readouterr().err == f"compiling <lambda> for this machine, once{hint}\n"
