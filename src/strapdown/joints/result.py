"""Result of a joint: relative orientation, angles, heading, axes and centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.estimation import FilterReport
    from strapdown.joints.anatomy import JointKind, Side

__all__ = ["JointResult"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class JointResult(FieldsAsHtml):
    """Motion of a joint between a first and a second sensor.

    Parameters
    ----------
    kind : JointKind
    joint : str or None
        Anatomical name.
    side : Side
        Of the body; only named joints depend on it.
    neutral_s : float or None
        Length of the neutral pose at the beginning, in which the angles are zero [s]; None: they
        are zero in the mean pose.
    t_ns : (N,)
        Stamps of the first sensor, where both are recorded [ns].
    q_first_from_second : (N, 4)
        Turns components in the axes of the second sensor into those of the first, x y z w; NaN in
        gaps of the second.
    angle_names : tuple of str
    angles : (N, D)
        One column for each degree of freedom [rad].
    heading, heading_sigma : (N,)
        Heading of the second sensor's world in that of the first, and its standard deviation
        [rad].
    axis_first, axis_second : (3,)
        Axis of the first angle in the first sensor, and of the last one in the second [sensor];
        of a ball joint the axis of most rotation, in both.
    axes_angle : float or None
        Angle between the two axes of a saddle joint [rad].
    axis_first_sigma, axis_second_sigma : float or None
        Standard deviations of their directions [rad]; None of a ball joint.
    q_first_from_segment, q_second_from_segment : (4,)
        Axes of the segments in the sensors, x y z w: z the axis of the first angle, y up in the
        neutral pose. In the neutral pose those of both segments are equal.
    centre_first, centre_second : (3,)
        From the sensor to the centre of the joint [m, sensor]; of a hinge, to the point of its
        axis that is nearest to the first sensor.
    centre_first_sigma, centre_second_sigma : (3,)
        Their standard deviations [m].
    delay_s, delay_sigma_s : float
        Stamps of the second sensor less those of the first for the same instant [s], and its
        standard deviation; taken into account.
    axis_rms : float or None
        Residual of the axes [rad]; None of a ball joint.
    centre_rms : float
        Difference of the accelerations of the centre [m/s^2].
    reports : tuple of FilterReport
        Counts of the samples of both sensors; empty where the orientations were given.
    warnings : tuple of str
        Findings, each with the next step.
    """

    kind: JointKind
    joint: str | None
    side: Side
    neutral_s: float | None
    t_ns: IntArray
    q_first_from_second: FloatArray
    angle_names: tuple[str, ...]
    angles: FloatArray
    heading: FloatArray
    heading_sigma: FloatArray
    axis_first: FloatArray
    axis_second: FloatArray
    axes_angle: float | None
    axis_first_sigma: float | None
    axis_second_sigma: float | None
    q_first_from_segment: FloatArray
    q_second_from_segment: FloatArray
    centre_first: FloatArray
    centre_second: FloatArray
    centre_first_sigma: FloatArray
    centre_second_sigma: FloatArray
    delay_s: float
    delay_sigma_s: float
    axis_rms: float | None
    centre_rms: float
    reports: tuple[FilterReport, ...]
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t_ns)

    def __repr__(self) -> str:
        return f"JointResult({self.kind}, {len(self)} rows, {', '.join(self.angle_names)})"

    @property
    def duration_s(self) -> float:
        """Time between the first and the last row [s]."""
        return float(self.t_ns[-1] - self.t_ns[0]) / NS_PER_S

    @property
    def zero(self) -> str:
        """Meaning of zero angles, in words."""
        if self.neutral_s is None:
            return "the mean pose"
        return f"the mean pose of the first {self.neutral_s:g} s"

    def lines(self) -> list[str]:
        """Return a report for people."""
        name = str(self.kind) if self.joint is None else f"{self.kind}, {self.side} {self.joint}"
        text = [f"joint: {name}; {len(self)} rows over {self.duration_s:.0f} s"]
        for title, low, high, spread in self._ranges():
            text.append(
                f"{title}: {low / RAD_PER_DEG:.1f} to {high / RAD_PER_DEG:.1f} deg, standard "
                f"deviation {spread / RAD_PER_DEG:.1f} deg"
            )
        text.append(f"angles are zero in {self.zero}")
        for which, axis, sigma in (
            ("first", self.axis_first, self.axis_first_sigma),
            ("second", self.axis_second, self.axis_second_sigma),
        ):
            known = "" if sigma is None else f" +- {sigma / RAD_PER_DEG:.2g} deg"
            text.append(f"axis in the {which} sensor: {_vector(axis, 4)}{known}")
        for which, centre, spread_m in (
            ("first", self.centre_first, self.centre_first_sigma),
            ("second", self.centre_second, self.centre_second_sigma),
        ):
            text.append(
                f"centre from the {which} sensor: {_vector(1e3 * centre, 1)} +- "
                f"{_vector(1e3 * spread_m, 1)} mm"
            )
        drift = float(self.heading[-1] - self.heading[0]) / RAD_PER_DEG
        worst = float(np.max(self.heading_sigma)) / RAD_PER_DEG
        text.append(f"heading between the sensors: drift {drift:.1f} deg, +- {worst:.2g} deg")
        clock, spread_ms = 1e3 * self.delay_s, 1e3 * self.delay_sigma_s
        text.append(f"clock of the second sensor: late by {clock:.2f} +- {spread_ms:.2g} ms")
        left = "" if self.axis_rms is None else f"axis {self.axis_rms / RAD_PER_DEG:.2g} deg, "
        text.append(f"residuals: {left}acceleration of the centre {self.centre_rms:.2g} m/s^2")
        return text + [f"warning: {each}" for each in self.warnings]

    def to_dict(self) -> dict[str, Any]:
        """Return all but the rows as plain numbers and texts."""
        return {
            "kind": str(self.kind),
            "joint": self.joint,
            "side": str(self.side),
            "rows": len(self),
            "duration_s": self.duration_s,
            "zero": self.zero,
            "angles_rad": {
                name: {"min": low, "max": high, "standard_deviation": spread}
                for name, low, high, spread in self._ranges()
            },
            "axis_first": self.axis_first.tolist(),
            "axis_second": self.axis_second.tolist(),
            "axes_angle_rad": self.axes_angle,
            "axis_first_sigma_rad": self.axis_first_sigma,
            "axis_second_sigma_rad": self.axis_second_sigma,
            "q_first_from_segment": self.q_first_from_segment.tolist(),
            "q_second_from_segment": self.q_second_from_segment.tolist(),
            "centre_first_m": self.centre_first.tolist(),
            "centre_second_m": self.centre_second.tolist(),
            "centre_first_sigma_m": self.centre_first_sigma.tolist(),
            "centre_second_sigma_m": self.centre_second_sigma.tolist(),
            "heading_rad": [float(self.heading[0]), float(self.heading[-1])],
            "heading_sigma_rad": float(np.max(self.heading_sigma)),
            "delay_s": self.delay_s,
            "delay_sigma_s": self.delay_sigma_s,
            "axis_rms_rad": self.axis_rms,
            "centre_rms_m_s2": self.centre_rms,
            "reports": [report.to_dict() for report in self.reports],
            "warnings": list(self.warnings),
        }

    def _ranges(self) -> list[tuple[str, float, float, float]]:
        """Return name, least and largest value and standard deviation of each angle."""
        return [
            (name, float(np.nanmin(each)), float(np.nanmax(each)), float(np.nanstd(each)))
            for name, each in zip(self.angle_names, self.angles.T, strict=True)
        ]


def _vector(v: FloatArray, digits: int) -> str:
    return f"[{' '.join(f'{x:.{digits}f}' for x in v + 0.0)}]"
