"""Two sensors on one body, for ``strapdown calibrate --pair``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strapdown import plots
from strapdown.calibration import align_pair, save_pair
from strapdown.cli._common import check_targets, read_losses, working
from strapdown.cli._outcome import EXIT_LOSSY, EXIT_OK, Outcome
from strapdown.cli._reading import open_imu, tracks
from strapdown.errors import FormatError
from strapdown.formats._output import check_ending

if TYPE_CHECKING:
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["pair"]

ENDINGS = (".toml", ".json")


def pair(
    first: Path,
    second: Path,
    *,
    topic: str | None = None,
    second_topic: str | None = None,
    scale: bool = False,
    output: Path | None = None,
    picture: Path | None = None,
    force: bool = False,
) -> Outcome:
    """Return clock offset, rotation and lever arm of two sensors.

    Parameters
    ----------
    first : Path
        Recording of the IMU whose clock and axes are kept.
    second : Path
        Recording of another IMU, or of a trajectory where it holds none; may be the same file.
    topic, second_topic : str, optional
        The IMU of the first, and the IMU or trajectory of the second.
    scale : bool
        Estimate scale errors of the first as well.
    output : Path, optional
        File of the result, ending in ``.toml`` or ``.json``.
    picture : Path, optional
        Figure of both angular velocities and of the residuals.
    force : bool
        Replace existing output.

    Raises
    ------
    FormatError, UnknownNameError
        A file cannot be read, or holds no such sensor; an output has another ending.
    ValueRangeError, ShapeError
        As :func:`strapdown.calibration.align_pair`.
    """
    check_targets(output, picture, force=force, recording=False, sources=[first, second])
    if output is not None:
        check_ending(output, ENDINGS)
    with working("reading"):
        recordings = [open_imu(first, topic), open_imu(second, second_topic, tracks)]
    one = recordings[0].imu_series(topic)
    two = _second(recordings[1], second_topic, alone=first != second)
    with working(f"aligning {len(one)} with {len(two)} samples"):
        result = align_pair(one, two, scale=scale)
    data = {"first": str(first), "second": str(second), **result.to_dict()}
    view = [*recordings[0].report.notes, *recordings[1].report.notes, *result.lines()]
    if output is not None:
        save_pair(result, output, force=force)
        view.append(f"wrote {output}")
    if picture is not None:
        title = f"{first.name} and {second.name}"
        plots.save(plots.plot_pair(one, two, result, title=title), picture, force=force)
        view.append(f"wrote {picture}")
    lost = [line for recording in recordings for line in read_losses(recording.report)]
    return Outcome(data, view, lost, code=EXIT_LOSSY if result.warnings else EXIT_OK)


def _second(recording: Recording, topic: str | None, *, alone: bool) -> ImuSeries | Trajectory:
    """Return the IMU or the trajectory of a recording; by default the IMU if it has any."""
    imus = {**recording.imu, **recording.increments}
    if topic is None and not alone and not recording.trajectories:
        raise FormatError(
            "expected another recording, or --second-topic, to align with the first; got one IMU "
            f"of {', '.join([*imus, *recording.unread]) or 'none'}",
            path=recording.path,
        )
    if topic in imus or (topic is None and imus and alone):
        return recording.imu_series(topic)
    if topic is None and recording.trajectories:
        return recording.trajectory(recording.reference_topic())
    return recording.trajectory(topic)
