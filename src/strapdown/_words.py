"""Text from files, made fit for a terminal and a figure."""

__all__ = ["counted", "printable"]


def counted(count: int, noun: str) -> str:
    """Return a number and what it counts, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def printable(text: str) -> str:
    """Return ``text`` without the control characters that a hostile file or name may carry."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
