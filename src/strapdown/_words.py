"""Text for terminals and figures: counts, printable text from files, messages of errors."""

__all__ = ["counted", "printable", "wording"]


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def printable(text: str) -> str:
    """Return ``text`` with control characters replaced, since a file or name may contain them."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def wording(error: BaseException) -> str:
    """Return the message of an error, with the file name for those of the operating system."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
