"""Topics shared with programs that use horus itself."""
