"""Tables of numbers in text: CSV, TUM and EuRoC."""
