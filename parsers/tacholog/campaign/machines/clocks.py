"""Ask the clocks of a run's hosts how exact they are, before and after the run. `tacholog.runs.clocks` reads the answers."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from tacholog.campaign.machines.machine import Machine
from tacholog.errors import TachologError
from tacholog.runs.clocks import CLOCK_FILE, CLOCK_FORMAT, END, HEAD
from tacholog.runs.manifest import LogFile

_LONGEST_LINE = 400
_MOST_LINES = 200
# chronyc and pmc wait long for a service that is not there; `timeout` is in coreutils and in busybox.
_REPORT = r"""
limit=$(command -v timeout >/dev/null && echo timeout 5)
{ ip -o addr show 2>/dev/null || true; } | while read -r number device family address rest; do echo "address ${address%%/*}"; done
if report=$($limit chronyc -c tracking 2>/dev/null); then
  echo "chronyc $report"
else
  report=$($limit pmc -u -b 0 'GET CURRENT_DATA_SET' 'GET PARENT_DATA_SET' 'GET PORT_PROPERTIES_NP' 2>/dev/null)
  case $report in *RESPONSE*) printf '%s\n' "$report" | while read -r line; do echo "pmc $line"; done ;; esac
fi
"""


def _may_be_reference(address: str) -> bool:
    """Whether the clock of another host may follow the one at this address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not found.is_loopback and not found.is_link_local


def have_one_clock(machines: Mapping[str, Machine]) -> bool:
    """Whether all machines are one machine since one boot. An unknown boot is another one."""
    boots = {machine.boot_id for machine in machines.values()}
    return len(machines) == 1 or (len(boots) == 1 and None not in boots)


class ClockReports:
    """The reports of one run. Nothing is asked if its machines share a clock."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        """Take the machines of a run by their names; the one without a name is called ``harness``."""
        self._machines = {} if have_one_clock(machines) else machines
        self._lines: list[str] = []

    @property
    def are_needed(self) -> bool:
        """Whether the machines have several clocks."""
        return bool(self._machines)

    def take(self, when: str) -> None:
        """Ask all clocks. A machine that does not answer reports nothing.

        Args:
            when: ``before`` or ``after`` the run.
        """
        for name, machine in self._machines.items():
            try:
                report = machine.ask(["sh", "-c", _REPORT]) or ""
            except TachologError:  # its connection is lost
                continue
            for line in report.splitlines()[:_MOST_LINES]:
                tool, _, text = line.strip().partition(" ")
                shown = tool in ("chronyc", "pmc") or (tool == "address" and _may_be_reference(text))
                if shown and text.isprintable():
                    self._lines.append(f"{name or 'harness'} {when} {tool} {text[:_LONGEST_LINE]}")

    def write(self, folder: Path) -> None:
        """Write the log of the reports."""
        if self.are_needed:
            (folder / CLOCK_FILE).write_text("\n".join([HEAD, *self._lines, END]) + "\n", encoding="utf-8")


def clock_entry(sha256: str) -> LogFile:
    """Return the entry of the log in a manifest."""
    return LogFile(file=CLOCK_FILE, sha256=sha256, format=CLOCK_FORMAT, results=False)
