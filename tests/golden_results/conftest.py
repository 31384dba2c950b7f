"""Puts the modules beside it where its test, and they among themselves, find them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
