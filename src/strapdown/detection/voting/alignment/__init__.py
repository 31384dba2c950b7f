"""Voting: readings of several sensors brought together."""
