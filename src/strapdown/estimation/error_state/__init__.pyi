from .filter import ErrorStateFilter as ErrorStateFilter
from .params import ErrorStateParams as ErrorStateParams
from .smoother import ErrorStateSmoother as ErrorStateSmoother
from .smoother_params import SmootherParams as SmootherParams
