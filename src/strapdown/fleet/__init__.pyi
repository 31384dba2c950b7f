from .execution import completed as completed
from .manifest import Manifest as Manifest
from .manifest import Unit as Unit
from .mapping import Progress as Progress
from .mapping import map as map  # noqa: A004 (the name of this operation everywhere)
