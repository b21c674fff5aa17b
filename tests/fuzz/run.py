"""Fuzz every format, and every decoder of the core that was built: ``run.py SECONDS [NAME...]``, where ``formats`` and ``core`` name all of a kind.

As many at once as there are processors, and at least two; findings stay under ``build/fuzz/``.
"""

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
FUZZERS = ROOT / "build/bench/fuzz/fuzz"
TIMEOUT_S = 25
MEMORY_MB = 2048
LONGEST = 8192
FORMATS, CORE = "formats", "core"


class Job(NamedTuple):
    """What is fuzzed, and from where it starts."""

    kind: str
    name: str
    command: list[str]
    seeds: Path


class Outcome(NamedTuple):
    """What came of a job."""

    name: str
    inputs: int
    finding: str | None


def jobs() -> list[Job]:
    """The decoders of the core, as ``core-control``, and the formats by their names."""
    core = {path.name.removeprefix("fuzz_"): path for path in sorted(FUZZERS.glob("fuzz_*"))}
    script = str(Path(__file__).with_name("fuzz_format.py"))
    return [
        *(Job(CORE, f"core-{name}", [str(path)], ROOT / "bench/fuzz/seeds" / name) for name, path in core.items()),
        *(Job(FORMATS, name, [sys.executable, script, name], ROOT / "tests/formats" / name) for name in sorted(formats())),
    ]


def fuzz(job: Job, seconds: int) -> Outcome:
    """Fuzz for so long."""
    folder = BUILD / job.name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in job.seeds.iterdir() if job.seeds.is_dir() else ():
        shutil.copyfile(seed, corpus / seed.name)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", "-print_final_stats=1"]
    command = [*job.command, *options, f"-artifact_prefix={folder}/", str(corpus)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=seconds + 300)
    log = done.stderr.decode(errors="replace")
    (folder / "fuzz.log").write_text(log, encoding="utf-8")
    units = re.search(r"stat::number_of_executed_units: (\d+)", log)
    finding = None if done.returncode == 0 else "\n".join(log.splitlines()[-40:])
    return Outcome(job.name, int(units[1]) if units else 0, finding)


def chosen(names: list[str]) -> list[Job]:
    """The jobs of these names and kinds, or all."""
    known = jobs()
    there = [FORMATS, CORE, *(job.name for job in known)]
    missing = set(names) - set(there)
    if missing:
        sys.exit(f"nothing to fuzz is called {', '.join(sorted(missing))}; there are {', '.join(there)}")
    return [job for job in known if not names or {job.name, job.kind} & set(names)]


def main() -> None:
    """Fuzz, print a line a job, and exit with 1 if anything was found."""
    seconds, wanted = int(sys.argv[1]), chosen(sys.argv[2:])
    failed = False
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
        for outcome in pool.map(lambda job: fuzz(job, seconds), wanted):
            click.echo(f"{outcome.name}: {outcome.inputs} inputs in {seconds} s, {'0 findings' if outcome.finding is None else 'A FINDING:'}")
            if outcome.finding is not None or outcome.inputs == 0:
                failed = True
                click.echo(outcome.finding or "no input was run")
    sys.exit(failed)


if __name__ == "__main__":
    main()
