"""Fixtures for tests of campaigns: two hosts behind ssh."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.campaign.ssh_campaigns import missing_requirement
from tests.campaign.two_hosts import TwoHosts, two_hosts
from tests.left_out import leave_out


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., TwoHosts]]:
    """Yield a function that makes two hosts. The function calls ``prepare``, and then starts the hosts that ``start`` names."""
    if missing_requirement():
        leave_out(f"needs {missing_requirement()}")
    made = []
    (tmp_path / "lab").mkdir()

    def make(prepare: Callable[[TwoHosts], object] = lambda _: None, start: tuple[str, ...] = ("a", "b")) -> TwoHosts:
        made.append(two_hosts(tmp_path / "lab", prepare, start))
        hosts = made[-1].__enter__()
        monkeypatch.setenv("PATH", f"{hosts.bin}{os.pathsep}{os.environ['PATH']}")
        return hosts

    yield make
    for hosts in made:
        hosts.__exit__(None, None, None)
