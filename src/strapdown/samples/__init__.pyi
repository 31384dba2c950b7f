from .kind import SampleKind as SampleKind
from .kind import as_kind as as_kind
from .sample import ImuSample as ImuSample
