"""Imports everything that a process needs to read logs. Such processes are forked from a server, which imports this module once."""

from __future__ import annotations

import duckdb  # noqa: F401
import numpy as np  # noqa: F401

import tacholog.store.assembly
import tacholog.store.fetch  # noqa: F401
from tacholog.formats.registry import formats

formats()
