"""Files of GNSS receivers and of programs for their observations: NMEA 0183, RTKLIB."""
