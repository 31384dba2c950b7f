from .guess import Guess as Guess
from .guess import Hints as Hints
from .importing import recognised as recognised
from .plan import ImportPlan as ImportPlan
from .plan import TimeColumn as TimeColumn
from .plan import VectorColumns as VectorColumns
from .tables import import_frame as import_frame
from .tables import read_sheet as read_sheet
