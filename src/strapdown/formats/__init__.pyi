from .block_reader import BlockReader as BlockReader
from .blocks import BlockWriter as BlockWriter
from .blocks import block_writer as block_writer
from .files import OnError as OnError
from .files import check_output as check_output
from .files import open as open  # noqa: A004 (strapdown.open, like gzip.open)
from .files import write as write
from .long_files import open_blocks as open_blocks
from .long_files import summarize as summarize
from .mcap.writer import McapWriter as McapWriter
from .recording import Recording as Recording
from .reports import ReadReport as ReadReport
from .reports import WriteReport as WriteReport
from .summary import Summary as Summary
from .summary import TopicSummary as TopicSummary
from .ulog.writer import LoggedRows as LoggedRows
from .ulog.writer import UlogWriter as UlogWriter
