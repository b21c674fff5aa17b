"""The path of the C++ core that the session built, resolved before tests change into other folders."""

from __future__ import annotations

import os
from pathlib import Path

_NAMED = os.environ.get("TACHOLOG_PERFTEST")
#: perftest; ``None`` if no path is set.
PERFTEST = Path(_NAMED).absolute() if _NAMED else None
