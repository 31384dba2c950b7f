"""The command ``strapdown``: one module a verb, imported only when that verb runs."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from strapdown.cli._app import main as run  # noqa: PLC0415 (Ctrl-C may come while it loads)

        run()
    except KeyboardInterrupt:
        sys.stderr.write("strapdown: interrupted\n")
        sys.exit(130)
