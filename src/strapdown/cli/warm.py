"""``strapdown warm``: compilation beforehand."""

from __future__ import annotations

from typing import Annotated

import typer

from strapdown.cli._common import working
from strapdown.cli._outcome import Outcome, expect_compiling
from strapdown.warming import parts, warm_up


def warm(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of the parts to compile; by default all.")
    ] = None,
) -> Outcome:
    """Compile estimators and detectors for this machine beforehand.

    This is optional: short recordings and streams run in plain Python, and a long recording
    compiles the code that it needs.

    Examples
    --------
    strapdown warm

    strapdown warm eskf "eskf smoother"

    strapdown warm "fall detector" --json
    """
    expect_compiling()
    took: dict[str, float] = {}
    for name in names or parts():
        with working(f"compiling {name}"):
            took |= warm_up([name])
    view = [f"{name}: {seconds:.1f} s" for name, seconds in took.items()]
    total = sum(took.values())
    return Outcome({"seconds": took, "total": total}, [*view, f"total: {total:.1f} s"])
