"""Settings of the runner for the controller of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strapdown.webots.port import Port

__all__ = ["owns_process", "port", "single_instance"]

port: Port | None = None
"""Port of ``Robot()`` without arguments."""

single_instance: bool = False
"""Whether a second ``Robot()`` is refused, as in a controller's process."""

owns_process: bool = False
"""Whether a controller that survives its ``SystemExit`` may be ended with its process."""
