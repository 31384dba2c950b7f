"""Camera: inert, with black images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import SupportsFloat

from strapdown.webots.api.pixels import PixelDevice
from strapdown.webots.api.sensor import Sensor

__all__ = ["Camera", "CameraRecognitionObject"]


@dataclass
class CameraRecognitionObject:
    """Object recognised by a camera."""

    id: int = 0
    """Number of the node."""
    position: list[float] = field(default_factory=lambda: [0.0] * 3)
    """Position in the frame of the camera [m]."""
    orientation: list[float] = field(default_factory=lambda: [0.0, 0.0, 1.0, 0.0])
    """Orientation in the frame of the camera, as axis and angle."""
    size: list[float] = field(default_factory=lambda: [0.0] * 2)
    """Width and height [m]."""
    position_on_image: list[int] = field(default_factory=lambda: [0] * 2)
    """Centre [pixel]."""
    size_on_image: list[int] = field(default_factory=lambda: [0] * 2)
    """Width and height [pixel]."""
    number_of_colors: int = 0
    colors: list[float] = field(default_factory=list)
    """Red, green and blue of each colour."""
    model: str = ""

    def getId(self) -> int:
        """Return the number of the node."""
        return self.id

    def getPosition(self) -> list[float]:
        """Return the position in the frame of the camera [m]."""
        return self.position

    def getOrientation(self) -> list[float]:
        """Return the orientation in the frame of the camera, as axis and angle."""
        return self.orientation

    def getSize(self) -> list[float]:
        """Return width and height [m]."""
        return self.size

    def getPositionOnImage(self) -> list[int]:
        """Return the centre [pixel]."""
        return self.position_on_image

    def getSizeOnImage(self) -> list[int]:
        """Return width and height [pixel]."""
        return self.size_on_image

    def getNumberOfColors(self) -> int:
        """Return the number of colours."""
        return self.number_of_colors

    def getColors(self) -> list[float]:
        """Return red, green and blue of each colour."""
        return self.colors

    def getModel(self) -> str:
        """Return the model of the node."""
        return self.model


class Camera(PixelDevice, Sensor):
    """Camera; its images are BGRA, row by row."""

    _function = "camera"
    _kinds = ("Camera",)

    def getImage(self) -> bytes:
        """Return the image as BGRA: zeros."""
        return self.image

    def getImageArray(self) -> list[list[list[int]]]:
        """Return red, green and blue by column and row: zeros."""
        return [[[0, 0, 0] for _ in range(self.height)] for _ in range(self.width)]

    @staticmethod
    def imageGetRed(image: bytes, width: int, x: int, y: int) -> int:
        """Return the red of one pixel of an image."""
        return image[4 * (y * width + x) + 2]

    @staticmethod
    def imageGetGreen(image: bytes, width: int, x: int, y: int) -> int:
        """Return the green of one pixel of an image."""
        return image[4 * (y * width + x) + 1]

    @staticmethod
    def imageGetBlue(image: bytes, width: int, x: int, y: int) -> int:
        """Return the blue of one pixel of an image."""
        return image[4 * (y * width + x)]

    @staticmethod
    def imageGetGray(image: bytes, width: int, x: int, y: int) -> int:
        """Return the mean of red, green and blue of one pixel of an image."""
        pixel = 4 * (y * width + x)
        return sum(image[pixel : pixel + 3]) // 3

    def saveImage(self, filename: str, quality: int) -> int:
        """Return -1: no image can be saved."""
        return -1

    def getFov(self) -> float:
        """Return the field of view [rad]."""
        return self.fov

    def setFov(self, f: SupportsFloat) -> None:
        """Set the field of view [rad]."""
        self.fov = f

    def getMaxFov(self) -> float:
        """Return the largest field of view [rad]."""
        return self.max_fov

    def getMinFov(self) -> float:
        """Return the smallest field of view [rad]."""
        return self.min_fov

    def getNear(self) -> float:
        """Return the distance of the near clipping plane [m]."""
        return self.near

    def getExposure(self) -> float:
        """Return the exposure [J/m^2]."""
        return self.exposure

    def setExposure(self, exposure: SupportsFloat) -> None:
        """Set the exposure [J/m^2]."""
        self.exposure = exposure

    def getFocalLength(self) -> float:
        """Return the focal length [m]."""
        return self.focal_length

    def getFocalDistance(self) -> float:
        """Return the focal distance [m]."""
        return self.focal_distance

    def setFocalDistance(self, d: SupportsFloat) -> None:
        """Set the focal distance [m]."""
        self.focal_distance = d

    def getMaxFocalDistance(self) -> float:
        """Return the largest focal distance [m]."""
        return self.max_focal_distance

    def getMinFocalDistance(self) -> float:
        """Return the smallest focal distance [m]."""
        return self.min_focal_distance

    def hasRecognition(self) -> bool:
        """Return whether the camera recognises objects: False."""
        return False

    def recognitionEnable(self, sampling_period: int) -> None:
        """Enable recognition with a period [ms]."""
        period = self._session.milliseconds(sampling_period, 2)
        self._keep("recognition", "recognition_enable", period)

    def recognitionDisable(self) -> None:
        """Disable recognition."""
        self._keep("recognition", "recognition_disable", 0)

    def getRecognitionSamplingPeriod(self) -> int:
        """Return the period of recognition [ms]; 0: disabled."""
        return int(self._parameter("recognition", "recognition_get_sampling_period", 0))

    def getRecognitionNumberOfObjects(self) -> int:
        """Return the number of recognised objects: 0."""
        return 0

    def getRecognitionObjects(self) -> list[CameraRecognitionObject]:
        """Return the recognised objects: none."""
        return []

    def hasRecognitionSegmentation(self) -> bool:
        """Return whether images are segmented: False."""
        return False

    def enableRecognitionSegmentation(self) -> None:
        """Enable segmentation."""
        self._keep("segmentation", "recognition_enable_segmentation", 1)

    def disableRecognitionSegmentation(self) -> None:
        """Disable segmentation."""
        self._keep("segmentation", "recognition_disable_segmentation", 0)

    def isRecognitionSegmentationEnabled(self) -> bool:
        """Return whether segmentation was enabled."""
        call = "recognition_is_segmentation_enabled"
        return bool(self._parameter("segmentation", call, 0))

    def getRecognitionSegmentationImage(self) -> bytes:
        """Return the segmented image as BGRA: zeros."""
        return self.segmentation_image

    def getRecognitionSegmentationImageArray(self) -> list[list[list[int]]]:
        """Return the segmented image by column and row: zeros."""
        return self.getImageArray()

    def saveRecognitionSegmentationImage(self, filename: str, quality: int) -> int:
        """Return -1: no image can be saved."""
        return -1

    @property
    def image(self) -> bytes:
        """Image as BGRA: zeros."""
        return bytes(4 * self.width * self.height)

    @property
    def segmentation_image(self) -> bytes:
        """Segmented image as BGRA: zeros."""
        return self.image

    @property
    def fov(self) -> float:
        """Field of view [rad]."""
        return self._parameter("fov", "get_fov", 0.7854)

    @fov.setter
    def fov(self, fov: SupportsFloat) -> None:
        self._keep("fov", "set_fov", fov)

    @property
    def min_fov(self) -> float:
        """Smallest field of view [rad]."""
        return self._parameter("min_fov", "get_min_fov", 0.7854)

    @property
    def max_fov(self) -> float:
        """Largest field of view [rad]."""
        return self._parameter("max_fov", "get_max_fov", 0.7854)

    @property
    def near(self) -> float:
        """Distance of the near clipping plane [m]."""
        return self._parameter("near", "get_near", 0.01)

    @property
    def exposure(self) -> float:
        """Exposure [J/m^2]."""
        return self._parameter("exposure", "get_exposure", 1.0)

    @exposure.setter
    def exposure(self, exposure: SupportsFloat) -> None:
        self._keep("exposure", "set_exposure", exposure)

    @property
    def focal_length(self) -> float:
        """Focal length [m]."""
        return self._parameter("focal_length", "get_focal_length", 0.0)

    @property
    def focal_distance(self) -> float:
        """Focal distance [m]."""
        return self._parameter("focal_distance", "get_focal_distance", 0.0)

    @focal_distance.setter
    def focal_distance(self, focal_distance: SupportsFloat) -> None:
        self._keep("focal_distance", "set_focal_distance", focal_distance)

    @property
    def min_focal_distance(self) -> float:
        """Smallest focal distance [m]."""
        return self._parameter("min_focal_distance", "get_min_focal_distance", 0.0)

    @property
    def max_focal_distance(self) -> float:
        """Largest focal distance [m]."""
        return self._parameter("max_focal_distance", "get_max_focal_distance", 0.0)
