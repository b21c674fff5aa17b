"""Where the C++ core is that the session built, before tests go to folders of their own."""

from __future__ import annotations

import os
from pathlib import Path

_NAMED = os.environ.get("TACHOLOG_PERFTEST")
#: perftest; ``None`` if nobody named one.
PERFTEST = Path(_NAMED).absolute() if _NAMED else None
