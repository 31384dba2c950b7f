"""Text from files, made fit for a terminal and a figure; and errors in words."""

__all__ = ["counted", "printable", "wording"]


def counted(count: int, noun: str) -> str:
    """Return a number and what it counts, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def printable(text: str) -> str:
    """Return ``text`` without the control characters that a hostile file or name may carry."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def wording(error: BaseException) -> str:
    """Return what an error says, and of the operating system's: about which file."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
