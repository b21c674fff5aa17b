"""Fixtures of the tests of formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read_text

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def changed() -> Callable[[str, str, str], Log]:
    """Change and read a sample log, such as ``rti/page.txt``: the first ``old`` is replaced by ``new``."""

    def read_changed(sample: str, old: str, new: str) -> Log:
        text = (HERE / sample).read_text(encoding="utf-8")
        assert old in text
        return read_text(text.replace(old, new, 1), sample.partition("/")[0])

    return read_changed
