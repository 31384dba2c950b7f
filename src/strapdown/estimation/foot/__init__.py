"""Pedestrian dead reckoning with a sensor on a foot."""

from strapdown.estimation.foot.navigator import FootNavigator, FootState
from strapdown.estimation.foot.params import FootParams
from strapdown.estimation.foot.result import FootEstimate, FootResult, GaitResult

__all__ = ["FootEstimate", "FootNavigator", "FootParams", "FootResult", "FootState", "GaitResult"]
