from .anatomy import JOINTS as JOINTS
from .anatomy import Joint as Joint
from .anatomy import JointKind as JointKind
from .anatomy import Side as Side
from .estimate import estimate_joint as estimate_joint
from .files import save_angles as save_angles
from .result import JointResult as JointResult
