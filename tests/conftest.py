"""Make the shared helpers importable as ``tests.<name>``, whatever directory pytest is started in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
