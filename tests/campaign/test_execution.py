"""The harness waits for processes. It notices immediately that a process has ended."""

from __future__ import annotations

import select
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S, until

from tacholog.campaign.campaign_file import Process
from tacholog.campaign.execution import ProcessStep, run_steps
from tacholog.campaign.machines.local import LocalMachine, LocalProcess
from tacholog.campaign.machines.machine import HostEntry, Job, ProcessEnd

# A program that fails as soon as the file ``go`` exists, and at the latest after a second. Without this limit, the test could hang if the harness
# checked less often than expected.
FAILS_WHEN_TOLD = "n=0; until test -e go || test $n = 100; do n=$((n + 1)); sleep 0.01; done; exit 3"


class EndsBeforeACheck(LocalProcess):
    """A process that ends just before the n-th check by the harness."""

    looks = 0
    ends_before = 0

    def poll(self) -> ProcessEnd | None:
        """Return how the process ended, or ``None`` if it still runs.

        Let the process end just before the call with the number ``ends_before``.
        """
        self.looks += 1
        if self.looks == self.ends_before:
            (self.job.folder / "go").write_text("")
            until(lambda: select.select([self], [], [], 0)[0], "the process ended")
        return super().poll()


class Here(LocalMachine):
    """This machine. The process named ``first`` ends at a time that the test chooses."""

    def __init__(self, ends_before: int) -> None:
        """Let the process end just before the check with the number ``ends_before``."""
        super().__init__("", HostEntry(), {})
        self.ends_before = ends_before

    def start(self, job: Job) -> LocalProcess:
        if job.name != "first":
            return super().start(job)
        running = EndsBeforeACheck(self, job, job.program, job.argv)
        running.ends_before = self.ends_before
        running.wait_for_start()
        return running


@pytest.mark.parametrize("look", range(1, 6))
@pytest.mark.parametrize("others", [{}, {"second": "sleep 300"}], ids=["alone", "beside a process that goes on"])
def test_harness_notices_immediately_when_a_process_ends_between_two_checks(tmp_path: Path, look: int, others: Mapping[str, str]) -> None:
    machine = Here(look)
    commands = {"first": FAILS_WHEN_TOLD, **others}
    processes = [Process(name=name, role="both", command=("sh", "-c", text), log=f"{name}.log") for name, text in commands.items()]
    steps = [ProcessStep(process, machine, machine.find("sh"), process.log_file, process.errors_file) for process in processes]
    outcome = run_steps(steps, tmp_path, LIMIT_S)

    assert (outcome.status, outcome.reason) == ("failed", "first: exit code 3")  # If the deadline had passed, the reason would be another.
