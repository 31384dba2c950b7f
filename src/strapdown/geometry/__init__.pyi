from . import euler as euler
from . import frames as frames
from . import gravity as gravity
from . import quaternion as quaternion
from . import rotations as rotations
from .euler import EulerConvention as EulerConvention
from .frames import BodyFrame as BodyFrame
from .frames import WorldFrame as WorldFrame
