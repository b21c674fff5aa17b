"""Fuzz the log formats and the core's wire decoders: ``run.py SECONDS [NAME...]``.

Each fuzzer runs for this time with a new seed, from the stored inputs and from the inputs that earlier runs added under ``build/fuzz/``. What a
fuzzer finds depends on chance, so fuzzers are not part of the gate. In the gate, the tests of the formats read the stored logs, and the test
``kept_inputs`` of the build with the address sanitizer gives the decoders their stored inputs (``bench/fuzz/replay.cpp``).

A name is the name of a format (``rti``) or of a decoder (``core-stream``). ``formats`` names all formats, ``core`` all decoders. Without names, all
fuzzers run. The stored inputs are the sample logs in ``tests/formats/`` and the files in ``bench/fuzz/seeds/``. The number of simultaneous fuzzers is
the number of processors, and at least two. Findings stay under ``build/fuzz/``.
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
PATIENCE_S = 300
MEMORY_MB = 2048
LONGEST = 8192
FORMATS, CORE = "formats", "core"


class Job(NamedTuple):
    """One fuzzer: its kind and name, its command, and the folder of its stored inputs."""

    kind: str
    name: str
    command: list[str]
    seeds: Path


class Outcome(NamedTuple):
    """The result of one fuzzer: the number of inputs that it ran, and the end of its log if it failed."""

    name: str
    inputs: int
    finding: str | None


def jobs() -> list[Job]:
    """Return the built decoders of the core, such as ``core-control``, and the formats."""
    core = {path.name.removeprefix("fuzz_"): path for path in sorted(FUZZERS.glob("fuzz_*"))}
    script = str(Path(__file__).with_name("fuzz_format.py"))
    return [
        *(Job(CORE, f"core-{name}", [str(path)], ROOT / "bench/fuzz/seeds" / name) for name, path in core.items()),
        *(Job(FORMATS, name, [sys.executable, script, name], ROOT / "tests/formats" / name) for name in sorted(formats())),
    ]


def fuzz(job: Job, seconds: int) -> Outcome:
    folder = BUILD / job.name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in job.seeds.iterdir() if job.seeds.is_dir() else ():
        shutil.copyfile(seed, corpus / seed.name)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", "-print_final_stats=1"]
    command = [*job.command, *limits, f"-artifact_prefix={folder}/", str(corpus)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=seconds + PATIENCE_S)
    log = done.stderr.decode(errors="replace")
    (folder / "fuzz.log").write_text(log, encoding="utf-8")
    units = re.search(r"stat::number_of_executed_units: (\d+)", log)
    finding = None if done.returncode == 0 else "\n".join(log.splitlines()[-40:])
    return Outcome(job.name, int(units[1]) if units else 0, finding)


def chosen(names: list[str]) -> list[Job]:
    """Return the jobs with these names and kinds, or all jobs if there are no names."""
    known = jobs()
    allowed = [FORMATS, CORE, *(job.name for job in known)]
    missing = set(names) - set(allowed)
    if missing:
        sys.exit(f"nothing to fuzz is called {', '.join(sorted(missing))}; choose from {', '.join(allowed)}")
    return [job for job in known if not names or {job.name, job.kind} & set(names)]


def main() -> None:
    """Exit with 1 if a fuzzer found a fault or ran no input."""
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
