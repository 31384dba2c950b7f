"""ULog, the log of PX4: reading, writing and salvage."""
