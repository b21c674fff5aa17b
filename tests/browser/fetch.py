"""Fetch the npm packages for the browser tests, so that no test needs a network: ``python -m tests.browser.fetch``.

The packages are stored in the folder that ``TACHOLOG_FETCHED`` names. Stored packages are not fetched again. Packages that could not be fetched are
named, and the tests that need them are skipped (see tests/left_out.py).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.left_out import leave_out

from tacholog.site.bundle import BASIC, Packed, fetch

VARIABLE = "TACHOLOG_FETCHED"
CHECKER = Packed(
    package="vnu-jar@26.9.27",
    member="package/build/dist/vnu.jar",
    sha256="22f15dd39a33bed929d2a5c0cddf5946849a647eca9272bf4d5d00bc7e7a4d47",
    name="vnu-26.9.27.jar",
)
PLOTLY = BASIC
_LIMIT_S = 300  # Enough for the largest package: the checker has 30 MB.


def fetched(wanted: Packed) -> Path:
    """Return the path of a fetched file. Skip the running test if the file was not fetched."""
    path = Path(os.environ.get(VARIABLE, ""), wanted.name).absolute()
    if not path.is_file():
        leave_out(f"{path} is not there: {VARIABLE}=FOLDER python -m tests.browser.fetch fetches it")
    return path


def main() -> None:
    for wanted in (CHECKER, PLOTLY):
        if reason := fetch(wanted, Path(os.environ[VARIABLE]), _LIMIT_S):
            sys.stderr.write(f"left out: tests that need {wanted.package}, because {reason}\n")


if __name__ == "__main__":
    main()
