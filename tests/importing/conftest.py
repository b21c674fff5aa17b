"""Folders of logs as users have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text

from tacholog.runs.manifest import Manifest, read_manifest

FORMATS = Path(__file__).resolve().parent.parent / "formats"
PATTERN = "{label.test}/{label.plugin}/test-{repetition}/rtiperftest-{role}{participant}.log"
#: A folder of logs: the text of each log by its path.
Tree = Mapping[str, str]


def log_of(side: str, value: int = 0, kind: str = "throughput") -> str:
    """Return a real log of RTI Perftest in which ``value`` was added to the results. So logs with different values are not equal."""
    text = (FORMATS / f"rti/3.0.1-{kind}-{side}.log").read_text()
    return text.replace("11833", str(11833 + value)).replace("1677 us", f"{1677 + value} us").replace("519 us", f"{519 + value} us")


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Tree], Path]:
    def make(files: Tree, name: str = "logs") -> Path:
        for path, text in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / name

    return make


@pytest.fixture
def cluster(tree: Callable[[Tree], Path]) -> Path:
    """Return a folder with logs of two network plugins. Each plugin has two tests, and each test has the logs of a publisher and of a subscriber."""
    number = 0
    files = {}
    for plugin in ("flannel-hostgw-dds-secure-tcp", "hostnetwork-udp"):
        for test in range(2):
            for side in ("pub", "sub"):
                number += 1
                files[f"throughput-test/{plugin}/test-{test}/rtiperftest-{side}0.log"] = log_of(side, number)
    return tree(files)


def import_logs(*words: str | Path, status: int = 0) -> str:
    """Return the output on both streams."""
    done = run_tacholog_text("import", *words)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def manifests(data: Path) -> dict[str, Manifest]:
    """Return the manifests of all runs, by the folder of the run."""
    return {path.parent.relative_to(data).as_posix(): read_manifest(path) for path in sorted(data.rglob("run.toml"))}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def conditions(manifest: Manifest) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(manifest.conditions).items() if value is not None}


def lines_with(text: str, words: Iterable[str]) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]
