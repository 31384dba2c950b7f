"""Text from files, made fit for a terminal and a figure."""

__all__ = ["printable"]


def printable(text: str) -> str:
    """Return ``text`` without the control characters that a hostile file or name may carry."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
