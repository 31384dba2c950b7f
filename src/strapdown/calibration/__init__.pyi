from .allan_deviation import AllanAccumulator as AllanAccumulator
from .allan_deviation import AllanResult as AllanResult
from .allan_deviation import DeviationKind as DeviationKind
from .allan_deviation import NoiseType as NoiseType
from .allan_deviation import allan as allan
