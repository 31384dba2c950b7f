"""Pictures of recordings, of estimates against truth, of simulated sensors, of their health.

Every function returns a figure and shows nothing. Units stand in the labels and frames in the
titles; x, y and z differ in colour and in dash; gaps are drawn as gaps; long signals keep
their peaks, because each pixel shows the smallest and the largest value behind it.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.plots._axes import save
    from strapdown.plots.events import plot_events
    from strapdown.plots.health import plot_clipping, plot_spectrum, plot_timing, plot_vibration
    from strapdown.plots.odometry import plot_odometry
    from strapdown.plots.orientation import plot_comparison
    from strapdown.plots.recordings import plot_estimate, plot_recording, plot_track
    from strapdown.plots.simulation import plot_allan, plot_motion, plot_simulation

__all__ = [
    "plot_allan",
    "plot_clipping",
    "plot_comparison",
    "plot_estimate",
    "plot_events",
    "plot_motion",
    "plot_odometry",
    "plot_recording",
    "plot_simulation",
    "plot_spectrum",
    "plot_timing",
    "plot_track",
    "plot_vibration",
    "save",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "plot_allan": "simulation",
        "plot_clipping": "health",
        "plot_comparison": "orientation",
        "plot_estimate": "recordings",
        "plot_events": "events",
        "plot_motion": "simulation",
        "plot_odometry": "odometry",
        "plot_recording": "recordings",
        "plot_simulation": "simulation",
        "plot_spectrum": "health",
        "plot_timing": "health",
        "plot_track": "recordings",
        "plot_vibration": "health",
        "save": "_axes",
    },
)
