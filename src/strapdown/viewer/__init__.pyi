from .html import ChartPage as ChartPage
from .html import chart_page as chart_page
from .live import LiveSource as LiveSource
from .model import ViewModel as ViewModel
from .server import serve as serve
from .sources import RecordingSource as RecordingSource
from .sources import Source as Source
from .terminal import show_in_terminal as show_in_terminal
