"""Doors for other programs: the wire protocol of Webots controllers, and MAVLink."""
