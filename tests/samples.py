"""The sample logs of all formats."""

from __future__ import annotations

from pathlib import Path

FORMATS = Path(__file__).parent / "formats"
#: The folders also contain descriptions of the sources of the samples, and compiled files of Python.
SAMPLE_LOGS = sorted(path for path in FORMATS.glob("*/*") if path.is_file() and path.name != "README.md" and path.parent.name != "__pycache__")
