"""Runs with one small log, and the tables that are read from them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.schema.tables import TABLES
from tacholog.store.frames import Dataset

LINE = "Length:    32  Packets: {:8d}  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
FIRST = 77_841_180


def add_run(folder: Path, *logs: int | str, **about: Any) -> Path:  # noqa: ANN401 - what its manifest states
    """Write the logs and the manifest of a run into a folder, and return the folder.

    Each log is given as a text, or as the number of received packets in a log of one line.
    The names of the logs are ``sub.log``, ``sub1.log`` and so on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for index, log in enumerate(logs):
        content, name = log if isinstance(log, str) else LINE.format(log), f"sub{index or ''}.log"
        (folder / name).write_text(content)
        entries.append(LogFile(file=name, sha256=hashlib.sha256(content.encode()).hexdigest()))
    write(folder / "run.toml", Manifest(system="rti", logs=tuple(entries), **about))
    return folder


def tables(dataset: Dataset) -> dict[str, list[list[object]]]:
    objects = {name: getattr(dataset, name).astype("object") for name in TABLES}
    objects["histograms"]["bins"] = [bins.tolist() for bins in objects["histograms"]["bins"]]
    return {name: table.where(table.notna(), None).to_numpy().tolist() for name, table in objects.items()}


def messages_received(dataset: Dataset) -> list[int]:
    return [*map(int, dataset.results["value"][dataset.results["metric"] == "messages_received"])]
