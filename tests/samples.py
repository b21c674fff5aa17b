"""The sample logs of all formats."""

from __future__ import annotations

from pathlib import Path

FORMATS = Path(__file__).parent / "formats"
#: Beside them lie what says where they come from, and what Python compiled of the tests.
SAMPLE_LOGS = sorted(path for path in FORMATS.glob("*/*") if path.is_file() and path.name != "README.md" and path.parent.name != "__pycache__")
