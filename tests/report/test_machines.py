"""Machines side by side: one column for each machine with runs. A sign marks the values that differ between the machines."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.report.conftest import write_data

from tacholog.render.tables.hosts import machines_side_by_side
from tacholog.runs.manifest import Host, read_manifest, write
from tacholog.store.load import load
from tacholog.view.views import View, view_of


@pytest.fixture
def machines(tmp_path: Path) -> View:
    """Runs on two machines with different properties. A third machine has no runs."""
    root = write_data(tmp_path / "data")
    laptop = Host(
        name="A <laptop>", source="made up", cpu={"model": "Other CPU", "cores": "4"}, system={"kernel": "6.18", "virtualisation": "virtual machine"}
    )
    write(root / "hosts/laptop.toml", laptop)
    write(root / "hosts/unused.toml", Host(name="Never used", source="made up"))
    manifest = next(path for path in sorted(root.rglob("run.toml")) if read_manifest(path).host == "desk")
    write(manifest, msgspec.structs.replace(read_manifest(manifest), host="laptop"))
    return view_of(load([root]))


def row(page: str, name: str) -> str:
    found = re.search(rf'<tr[^>]*><th scope="row">{name}.*?</tr>', page)
    assert found
    return found[0]


def test_each_machine_with_runs_is_a_column_and_a_machine_without_runs_is_not_listed(machines: View) -> None:
    page = str(machines_side_by_side(machines))

    assert sorted(re.findall(r'<span class="tl-name">(.*?)</span>', page)) == ["A &lt;laptop&gt;", "A desk"]
    assert {*re.findall(r'<th scope="col" id="([^"]+)"', page)} == {"host-desk", "host-laptop"}
    assert "Never used" not in page


def test_only_properties_that_differ_have_the_sign_for_unequal(machines: View) -> None:
    page = str(machines_side_by_side(machines))

    assert "\u2260" in row(page, "model")
    assert "\u2260" not in row(page, "kernel")
    assert 'class="tl-alike"' in row(page, "kernel")


def test_property_that_only_one_machine_states_is_not_stated_for_the_other_machine(machines: View) -> None:
    cores = row(str(machines_side_by_side(machines)), "cores")

    assert cores.count("not stated") == 1
    assert "<td>4</td>" in cores


def test_caveat_of_a_machine_is_in_its_column_header(machines: View) -> None:
    heads = re.findall(r'<th scope="col" id="host-(\w+)">(.*?)</th>', str(machines_side_by_side(machines)))

    assert {name: "virtual machine" in head for name, head in heads} == {"desk": False, "laptop": True}
