"""``strapdown warm``."""

from __future__ import annotations

import json

from strapdown.cli._outcome import run
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
