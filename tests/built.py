"""The path of the built perftest. It is absolute, because tests change the current folder."""

from __future__ import annotations

import os
from pathlib import Path

_NAMED = os.environ.get("TACHOLOG_PERFTEST")
#: The program perftest; ``None`` if TACHOLOG_PERFTEST is not set.
PERFTEST = Path(_NAMED).absolute() if _NAMED else None
