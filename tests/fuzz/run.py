"""Fuzz every format: ``run.py SECONDS [FORMAT...]``. As many at once as there are processors; findings stay under ``build/fuzz/``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import click

from tacholog.formats.registry import formats

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build/fuzz"
TIMEOUT_S = 25
MEMORY_MB = 2048


class Outcome(NamedTuple):
    """What came of fuzzing one format."""

    name: str
    inputs: int
    finding: str | None


def fuzz(name: str, seconds: int) -> Outcome:
    """Fuzz one format for so long, starting from its sample logs."""
    corpus = BUILD / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for sample in (ROOT / "tests/formats" / name).iterdir():
        shutil.copyfile(sample, corpus / sample.name)
    options = [f"-max_total_time={seconds}", "-max_len=8192", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", "-print_final_stats=1"]
    command = [sys.executable, str(Path(__file__).with_name("fuzz_format.py")), name, *options, f"-artifact_prefix={BUILD / name}/", str(corpus)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=seconds + 300)
    log = done.stderr.decode(errors="replace")
    (BUILD / name / "fuzz.log").write_text(log, encoding="utf-8")
    units = re.search(r"stat::number_of_executed_units: (\d+)", log)
    finding = None if done.returncode == 0 else "\n".join(log.splitlines()[-40:])
    return Outcome(name, int(units[1]) if units else 0, finding)


def main() -> None:
    """Fuzz, print a line a format, and exit with 1 if anything was found."""
    seconds, names = int(sys.argv[1]), sys.argv[2:] or sorted(formats())
    failed = False
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for outcome in pool.map(lambda name: fuzz(name, seconds), names):
            click.echo(f"{outcome.name}: {outcome.inputs} inputs in {seconds} s, {'0 findings' if outcome.finding is None else 'A FINDING:'}")
            if outcome.finding is not None or outcome.inputs == 0:
                failed = True
                click.echo(outcome.finding or "no input was run")
    sys.exit(failed)


if __name__ == "__main__":
    main()
