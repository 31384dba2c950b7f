"""The command ``strapdown``: one module a verb, imported only when that verb runs."""

from strapdown.cli._app import main

__all__ = ["main"]
