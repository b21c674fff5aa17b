"""CMake for tests that configure the core: the CMake of the shared environment, which is not on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.left_out import leave_out
from tests.waiting import LIMIT_S


def cmake(*arguments: str | Path, environment: Mapping[str, str] | None = None, fails: bool = False) -> str:
    """Run CMake, and return its output. CMake must succeed, or must fail if ``fails`` is true."""
    program = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        leave_out("no cmake")
    ended = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT_S, env=environment)
    assert (ended.returncode != 0) == fails, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout + ended.stderr
