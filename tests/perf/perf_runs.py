"""Folders with any number of runs, and the resources of a command that reads them."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.runs.manifest import LogFile, Manifest, read_manifest, write

ROOT = Path(__file__).parent.parent.parent
RELEASES = 20
TACHOLOG = (sys.executable, "-m", "tacholog")
_ALONE = Path(__file__).with_name("perf_alone.py")
_SMALL_BYTES = 3000
_SIZES = (32, 64, 256, 1024, 4096, 16384, 63000)
_PERFTEST = ROOT / "data" / "perftest" / "0.3.0"
# Runs are copies of models. From one copied model to the next, the position in the list of models grows by this number. The number is large, so that
# a few runs already have models of all kinds.
_STEP = 41


class Cost(NamedTuple):
    """The resources of a command: CPU seconds including its children, elapsed seconds, and its largest resident set in bytes."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def cost(argv: Sequence[str], cache: Path, *, allowed: Sequence[int] = (0,), cwd: Path | None = None, checkout: Path | None = None) -> Cost:
    """Run a command of Tacholog, and return the resources that the command used.

    Args:
        argv: the words after the name of the program.
        cache: the folder of the cache.
        allowed: the exit codes that are no error.
        cwd: the folder in which the command runs; by default, the parent folder of ``cache``.
        checkout: a checkout whose code runs instead of the code of this checkout.
    """
    settings = {**_compiled(checkout), "TACHOLOG_CACHE": str(cache)}
    began = time.monotonic()
    with tempfile.NamedTemporaryFile() as result, tempfile.TemporaryFile() as complaints:
        words = [sys.executable, "-I", "-S", str(_ALONE), result.name, *TACHOLOG, *argv]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=complaints, env=settings, cwd=cwd or cache.parent, check=True)
        wall_s = time.monotonic() - began
        exit_code, cpu_s, peak_bytes = json.load(result)
        if exit_code not in allowed:
            complaints.seek(0)
            raise SystemExit(f"{' '.join(argv)} failed: {complaints.read().decode(errors='replace')}")
    return Cost(cpu_s, wall_s, peak_bytes)


@functools.cache
def _compiled(checkout: Path | None) -> dict[str, str]:
    """Compile the modules, as an installation with pip does. Return an environment in which commands use the compiled modules."""
    compiled = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, compiled, ignore_errors=True)
    code = {"PYTHONPATH": str(checkout / "parsers")} if checkout else {}
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | code | {"PYTHONPYCACHEPREFIX": compiled}
    # All modules are compiled in advance. Otherwise, a module that only long logs need would be compiled during the first measurement of a long log.
    package = (checkout or ROOT) / "parsers" / "tacholog"
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(package)], env=settings, check=True)
    with tempfile.TemporaryDirectory() as folder:
        write_small_runs(Path(folder, "runs"), range(2))
        write_run(Path(folder, "long/run"), b"Length:  32  Packets: 7  Packets/s(ave): 7  Mbps(ave): 0.0  Lost: 0 (0.00%)\n" * 10_000, format="rti")
        long = ["export", "--data", "long", "--format", "parquet", "--output", "x.parquet"]
        for words in (["report", "runs", "--output", "site"], ["diff", "runs/0000/000", "runs/0000/001"], ["export", "--data", "runs"], long):
            subprocess.run([*TACHOLOG, *words], cwd=folder, env=settings | {"TACHOLOG_CACHE": folder}, capture_output=True, check=False)
    return settings


def write_run(folder: Path, content: bytes, **about: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "some.log").write_bytes(content)
    entry = LogFile(file="some.log", sha256=hashlib.sha256(content).hexdigest(), format=about.get("format"))
    write(folder / "run.toml", Manifest(system="some system", release=about.get("release"), logs=(entry,)))
    return folder


def at(count: int, few: tuple[int, float], many: tuple[int, float]) -> float:
    """Return the value on the straight line through ``few`` and ``many``."""
    return many[1] + (count - many[0]) * (many[1] - few[1]) / (many[0] - few[0])


def write_small_runs(root: Path, numbers: Iterable[int]) -> None:
    """Each run has one unique log of 3 kB, with summaries of RTI Perftest."""
    head = "RTI Perftest 3.0.1 (RTI Connext DDS 6.0.1)\n\nPerftest Configuration:\n\tReliability: Best Effort\n\tKeyed: No\n"
    for number in numbers:
        text = head
        while len(text) < _SMALL_BYTES:
            size, rate = _SIZES[len(text) % len(_SIZES)], 40_000 + number
            mbit = rate * size * 8 / 1e6
            text += f"Length: {size:5d}  Packets: {rate * 30:8d}  Packets/s(ave): {rate:7d}  Mbps(ave): {mbit:7.1f}  Lost:     0 (0.00%)\n"
        write_run(root / f"{number // 1000:04d}" / f"{number % 1000:03d}", text.encode())


def write_long_runs(root: Path, numbers: Iterable[int], release: str | None = None) -> None:
    """Write runs with about 190 numbers and 35 kB each. They are copies of the runs of perftest in ``data/``, but have new start times."""
    models = _models()
    for number in numbers:
        manifest, logs = models[number // RELEASES * _STEP % len(models)]
        folder = root / f"{number:05d}"
        folder.mkdir(parents=True)
        entries = []
        for entry, log in zip(manifest.logs, logs, strict=True):
            text = re.sub(rb"(?m)^start time=.*$", b"start time=2026-01-01T00:00:00.%06dZ" % number, log)
            (folder / entry.file).write_bytes(text)
            entries.append(LogFile(file=entry.file, sha256=hashlib.sha256(text).hexdigest(), format=entry.format))
        label = release or f"{number % RELEASES}.0"
        about = {"release": label, "system_version": label, "repetition": number, "logs": tuple(entries)}
        write(folder / "run.toml", Manifest(**{**{name: getattr(manifest, name) for name in Manifest.__struct_fields__}, **about}))


@functools.cache
def _models() -> list[tuple[Manifest, list[bytes]]]:
    """Return the runs that are copied: their manifests and logs. Runs with batches are left out, because such a run has only 44 numbers."""
    folders = sorted(path.parent for path in _PERFTEST.rglob("run.toml") if "batched" not in str(path))
    manifests = [(folder, read_manifest(folder / "run.toml")) for folder in folders]
    return [(manifest, [(folder / entry.file).read_bytes() for entry in manifest.logs]) for folder, manifest in manifests]
