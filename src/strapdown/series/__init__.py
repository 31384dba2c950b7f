"""Series: frozen structs of arrays with frames and nanoseconds, and their time base."""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.series import timebase
    from strapdown.series.series import ImuSeries, Increments, SensorIdentity, Trajectory

__all__ = ["ImuSeries", "Increments", "SensorIdentity", "Trajectory", "timebase"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ImuSeries": "series",
        "Increments": "series",
        "SensorIdentity": "series",
        "Trajectory": "series",
        "timebase": "timebase",
    },
)
