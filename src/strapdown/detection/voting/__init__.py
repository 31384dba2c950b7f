"""Voting: one angular velocity and specific force from several IMUs on one body."""

from __future__ import annotations

from strapdown.detection.voting.params import SensorMount, VoterParams, VoterProfile
from strapdown.detection.voting.result import SensorState, Vote, VoteResult, VoterReport
from strapdown.detection.voting.voter import Voter

__all__ = [
    "SensorMount",
    "SensorState",
    "Vote",
    "VoteResult",
    "Voter",
    "VoterParams",
    "VoterProfile",
    "VoterReport",
]
