"""Construction of the devices of robots: their measurements and descriptions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from strapdown.errors import DeviceError
from strapdown.webots.devices.device import DeviceState, JointPosition, Neutral
from strapdown.webots.devices.device_info import MOTORS, describe
from strapdown.webots.devices.measurement_factory import MEASURED, Warned, make_measurement
from strapdown.webots.devices.output_stage import Setting, rounding
from strapdown.webots.devices.random_streams import Streams
from strapdown.webots.devices.surroundings import DistanceMeter, Obstacles, TouchMeter
from strapdown.webots.devices.vectors import DifferenceAccelerometer
from strapdown.webots.file.conventions import conventions
from strapdown.webots.file.releases import is_older
from strapdown.webots.file.world_file import carrier_of, has_physics
from strapdown.webots.profiles import InertialFrame

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.webots.devices.device import Measuring, RobotState
    from strapdown.webots.devices.measurement import Measurement
    from strapdown.webots.file.node import Node
    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.port import DeviceInfo
    from strapdown.webots.profiles import Profile
    from strapdown.webots.world.timeline import Timeline

__all__ = ["DeviceFactory"]


class DeviceFactory:
    """Creates the devices of a world.

    Parameters
    ----------
    file : WorldFile
    profile : Profile
    timeline : Timeline
    warn : callable
        Called with a node and the text of a warning.
    seed : int
        Seed of all noise.
    noise_order : {"zyx", "xyz"}
    axes : {"FUR", "FLU"}
    """

    def __init__(  # noqa: PLR0913 (what devices depend on)
        self,
        file: WorldFile,
        profile: Profile,
        timeline: Timeline,
        warn: Callable[[Node, str], None],
        *,
        seed: int,
        noise_order: str,
        axes: str,
    ) -> None:
        self._file = file
        self._profile = profile
        self._timeline = timeline
        self._warn = warn
        self._options = {"noise_order": noise_order, "axes": axes}
        self._streams = Streams(profile, seed)
        self._gps_noise: dict[DeviceState | None, list[float]] = {}
        """By device, or under None for all of them where they share one stream."""
        self.obstacles = Obstacles(file.walk)
        """What a DistanceSensor sees."""
        self._made: dict[DeviceState, Measuring | None] = {}
        self.adopt_directions()

    def adopt_directions(self) -> None:
        """Read up, north and gravity of the world, for devices that are created later."""
        profile = self._profile
        self.conventions = conventions(
            self._file.world_info,
            keep_vectors=profile.keeps_vectors,
            level_north=profile.inertial_frame is InertialFrame.COMPASS,
        )

    def reset(self) -> None:
        """Restart all noise, and read the directions."""
        self._streams.reset()
        for noise in self._gps_noise.values():
            noise[:] = 0.0, 0.0, 0.0
        self.adopt_directions()

    def add(self, robot: RobotState, node: Node) -> DeviceState:
        """Add a device to a robot."""
        tag = len(robot.devices) + 1
        gaussian = self._streams.gaussian(robot.name, node.text("name"))
        device = DeviceState(robot, self.info(node, tag), node, gaussian, self._timeline)
        robot.devices.append(device)
        device.measurement = self._made[device] = self.measurement(device)
        return device

    def renew(self, device: DeviceState) -> None:
        """Create the measurement of a device again, unless it was replaced by another."""
        old = device.measurement
        if old is self._made[device]:
            new = self._made[device] = self.measurement(device)
            if isinstance(old, DifferenceAccelerometer) and isinstance(new, type(old)):
                new.before = old.before
            elif isinstance(old, Warned) and isinstance(new, Warned):
                new.silent = old.silent
            device.measurement = new

    def measurement(self, device: DeviceState) -> Measuring | None:
        """Return the measurement of a device that the world file describes."""
        node, kind, gaussian = device.node, device.kind, device.gaussian
        if kind == "PositionSensor":
            return JointPosition(node, gaussian=gaussian, discretize=rounding(self._profile))
        if kind in {"DistanceSensor", "TouchSensor"}:
            setting = Setting(self._profile, self.conventions, gaussian, partial(self._warn, node))
            if kind == "DistanceSensor":
                return DistanceMeter(node, setting, self.obstacles)
            old = is_older(self._file.release, "R2022a")
            return TouchMeter(node, setting, axis=2 if old else 0)
        if kind == "LightSensor":
            return Neutral()
        return self._of_motion(device, node) if kind in MEASURED else None

    def perfect(self, device: DeviceState) -> Measurement:
        """Return a measurement of a device's motion without lookup table and resolution.

        Raises
        ------
        DeviceError
            The device does not measure its own motion.
        """
        if device.kind not in MEASURED:
            raise DeviceError(f"expected a device that measures its motion, got {device.kind}")
        bare = device.node.copy()
        bare.fields.pop("lookupTable", None)
        bare.fields.pop("resolution", None)
        bare.parent, bare.parent_field = device.node.parent, device.node.parent_field
        return self._of_motion(device, bare)

    def _of_motion(self, device: DeviceState, node: Node) -> Measurement:
        """Return a measurement of a device's motion, with the fields of another node."""
        carried = has_physics(carrier_of(node))
        noisy = None if self._profile.shared_stream else device
        return make_measurement(
            node,
            profile=self._profile,
            conventions=self.conventions,
            gaussian=device.gaussian,
            warn=partial(self._warn, node),
            has_physics=carried,
            has_body=carried or has_physics(node),
            world_info=self._file.world_info,
            gps_noise=self._gps_noise.setdefault(noisy, [0.0, 0.0, 0.0]),
            **self._options,
        )

    def info(self, node: Node, tag: int) -> DeviceInfo:
        """Return the description of a device for its controller."""
        on_joint = node.type in MOTORS and node.parent is not None and node.parent.is_a("Joint")
        return describe(
            node,
            tag,
            coordinate_system=self.conventions.coordinate_system,
            wgs84=self._file.world_info.text("gpsCoordinateSystem") == "WGS84",
            position=self._timeline.scene.position(node) if on_joint else 0.0,
        )
