"""What processes that read logs have from the start: the server that they are copies of imports this module, and with it all formats."""

from __future__ import annotations

import duckdb  # noqa: F401
import numpy as np  # noqa: F401

import tacholog.store.assembly
import tacholog.store.fetch  # noqa: F401
from tacholog.formats.registry import formats

formats()
