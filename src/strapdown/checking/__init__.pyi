from .check import check as check
from .check import check_reference as check_reference
from .check import doubts as doubts
from .report import CheckReport as CheckReport
from .report import Finding as Finding
