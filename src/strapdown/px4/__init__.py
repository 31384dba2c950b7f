"""PX4's way from the samples of a chip to ``VehicleImu``, bit for bit, and a better one."""
