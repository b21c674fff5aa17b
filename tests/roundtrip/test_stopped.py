"""A run that was stopped, in the words of tools that have none for it: what perftest says beside its log is read too."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S, until

from tacholog.formats.reading import read

pytestmark = pytest.mark.core

DIALECTS = ("rti", "rti-csv", "hmbdc", "ecal", "fastrtps", "fastrtps-1")
SIZES = ",".join(str(64 + size) for size in range(100))


def stopped(perftest: Path, folder: Path, dialect: str, *, errors: int = subprocess.STDOUT) -> Path:
    """The log of a run that got a signal after its first result, with what went to standard error, as ``> log 2>&1`` leaves them."""
    log, native = folder / "some.log", folder / "native.log"
    command = [str(perftest), "--test", "latency", "--transport", "shm", "--sizes", SIZES, "--duration", "0.3", "--warmup", "0.02"]
    reporters = ["--reporter", "native", "--output", str(native), "--reporter", dialect, "--output", "-"]
    with log.open("wb") as both, subprocess.Popen([*command, *reporters], stdout=both, stderr=errors) as run:
        until(lambda: run.poll() is not None or (native.exists() and "\nlatency " in native.read_text()), "there is a result")
        assert run.poll() is None, log.read_text()
        os.kill(run.pid, signal.SIGTERM)
        assert run.wait(LIMIT_S) == 1
    return log


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stopped_run_is_a_failed_one_in_every_dialect(perftest: Path, tmp_path: Path, dialect: str) -> None:
    log = read(stopped(perftest, tmp_path, dialect))

    assert (log.account.status, log.account.reason) == ("failed", "stopped by a signal")
    assert log.records
    assert not log.unknown
    assert not log.broken


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_what_went_to_standard_error_no_dialect_says_that_a_stopped_run_ended_well(perftest: Path, tmp_path: Path, dialect: str) -> None:
    account = read(stopped(perftest, tmp_path, dialect, errors=subprocess.DEVNULL)).account

    assert account.records
    assert account.status is None
