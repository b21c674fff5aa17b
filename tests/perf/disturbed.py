"""Comparisons of one build on a host that another process disturbs, with and without controls. They take about eight minutes.

The other process runs during each session of the new side. It copies memory, which takes memory bandwidth, cache and processor time. It copies
either without a pause, or only four megabytes thirty times per second (called "light"), which takes about 2 % of a processor.

Both sides are the same build, so each row that is called worse or better is an error. The runs are stored in ``build/perf/disturbed``, where
``tacholog diff OLD NEW`` shows the whole report. docs/significance.md has the figures of one measurement.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import NamedTuple

from ingest import TACHOLOG
from perf_figures import BUILD, PERFTEST, Failed
from perf_table import Effort, LeftOut, Row

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.sides import find, without_controls
from tacholog.store.frames import Dataset

FOLDER = BUILD.parents[1] / "perf" / "disturbed"
SESSION_S = 600  # The longest duration of a session.
COPIES = "import numpy, time; a = numpy.ones({values}); b = numpy.empty_like(a)\nwhile True: b[:] = a; time.sleep({pause_s})"


class Layout(NamedTuple):
    """How both sides are measured: the new sessions after the old sessions, which gives no verdicts; or in turns, which gives verdicts."""

    name: str
    sessions: int  # The number of sessions of each side.
    repetitions: int  # The number of repetitions in each session.
    copies: str


HARD, LIGHT = COPIES.format(values=1 << 25, pause_s=0), COPIES.format(values=1 << 19, pause_s=0.03)
LAYOUTS = (
    Layout("two sessions", 1, 6, HARD),
    Layout("sessions in turns", 8, 1, HARD),
    Layout("two sessions, light", 1, 6, LIGHT),
    Layout("sessions in turns, light", 8, 1, LIGHT),
)
CAMPAIGN = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = {repetitions}

[[runs]]
name = "{{test}}-{{transport}}"
command = [
  "perftest", "--test", "{{test}}", "--transport", "{{transport}}", "--role", "both", "--sizes", "{{sizes_bytes}}",
  "--duration", "{{duration_s}}", "--warmup", "{{warmup_s}}", "--touch", "write+read", "--output", "-",
]
vary = {{ test = ["latency", "throughput"], transport = ["shm", "tcp", "udp"] }}
options = {{ sizes_bytes = [64, 65536], duration_s = {seconds}, warmup_s = 0.1 }}
conditions = {{ transport = "{{transport}}", payload_touched = "write+read", publishers = 1, subscribers = 1, planned_duration_s = "{{duration_s}}" }}
"""


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """Measure both layouts, and compare each with and without controls."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for layout in LAYOUTS:
        folder = FOLDER / layout.name.replace(",", "").replace(" ", "-")
        try:
            old, new = _measured(folder, layout, CAMPAIGN.format(repetitions=layout.repetitions, seconds=effort.seconds))
        except (Failed, OSError) as failed:
            yield LeftOut(layout.name, str(failed))
            continue
        yield from _wrong_rows(f"{layout.name}, with controls", compare(old, new, Policy()))
        yield from _wrong_rows(f"{layout.name}, without", compare(without_controls(old), without_controls(new), Policy()))


def _measured(folder: Path, layout: Layout, campaign: str) -> tuple[Dataset, Dataset]:
    """Measure one build in alternating sessions. Another process copies memory during the sessions of the new side."""
    folder.mkdir(parents=True)
    file = folder / "disturbed.toml"
    file.write_text(campaign)
    for _ in range(layout.sessions):
        _session(file, folder / "old")
        with _busy_memory(layout.copies):
            _session(file, folder / "new")
    return find(str(folder / "old"), []), find(str(folder / "new"), [])


def _session(campaign: Path, output: Path) -> None:
    command = [*TACHOLOG, "bench", str(campaign), "--output", str(output), "--perftest", str(PERFTEST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SESSION_S)
    if done.returncode:
        raise Failed(f"tacholog bench: {(done.stderr.strip() or done.stdout.strip() or str(done.returncode)).splitlines()[-1]}")


@contextlib.contextmanager
def _busy_memory(copies: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", copies]) as process:
        try:
            yield
        finally:
            process.kill()


def _wrong_rows(words: str, report: Comparison) -> Iterator[Row]:
    """Yield the number of rows that are wrongly called worse or better, including rows of loss. Then yield the change of the controls."""
    called = sum(counts[verdict] for counts in (report.counts, report.loss_counts) for verdict in ("worse", "better"))
    rows = len(report.rows) + len(report.losses)
    yield Row(f"{words}: rows called worse or better", 100 * called / max(rows, 1), "%", f"{called} of {rows} rows", nan)
    controls = report.controls
    if controls is not None and controls.moved is not None:
        said = "host changed" if controls.moved else "no significant change"
        yield Row(f"{words}: the controls became worse by", 100 * (controls.change or 0.0), "%", f"{said}, p = {controls.p:.2g}", nan)
