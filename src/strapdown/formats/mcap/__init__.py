"""MCAP: reading, writing, live recording and salvage."""
