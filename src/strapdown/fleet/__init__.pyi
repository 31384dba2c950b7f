from .accuracy import Accuracy as Accuracy
from .accuracy import evaluate_trial as evaluate_trial
from .accuracy import measure_accuracy as measure_accuracy
from .data_sets import DataSet as DataSet
from .data_sets import Trial as Trial
from .data_sets import read_trial as read_trial
from .execution import Serial as Serial
from .execution import completed as completed
from .manifest import Manifest as Manifest
from .manifest import Unit as Unit
from .mapping import Progress as Progress
from .mapping import map as map  # noqa: A004 (the name of this operation everywhere)
from .report import write_report as write_report
from .results import run_study as run_study
from .statistics import Moments as Moments
from .study import Study as Study
from .study import simulate_and_evaluate as simulate_and_evaluate
