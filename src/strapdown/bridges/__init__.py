"""Doors for other programs, and what joins topics, files and estimators to live systems."""
