"""Conditions of a run from a file next to its logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.importing.conftest import import_logs, log_of, manifests

MakeTree = Callable[..., Path]
MAP = ("--map", "{label.folder}/{role}.log", "--facts", "{folder}/config.json")


def experiment(tree: MakeTree, *configurations: dict[str, object]) -> Path:
    files: dict[str, object] = {}
    for number, configuration in enumerate(configurations):
        files |= {f"{number}/sub.log": log_of("sub", number), f"{number}/config.json": json.dumps(configuration)}
    return tree(files)


def test_known_keys_become_conditions_and_other_keys_become_labels_or_options(tree: MakeTree, tmp_path: Path) -> None:
    """Another key becomes a label if its values differ between the runs. Otherwise, the key becomes an option."""
    folder = experiment(
        tree,
        {"network_loss_percent": "5%", "release": "1.0", "qos": {"depth": 10}, "comment": "a", "hosts": ["x", "y"], "rosbag": True},
        {"network_loss_percent": 20, "release": "1.0", "qos": {"depth": 100}, "comment": "a", "hosts": ["x", "y"], "rosbag": True},
    )

    import_logs(folder, "--to", tmp_path / "data", *MAP)

    first, second = sorted(manifests(tmp_path / "data").values(), key=lambda run: run.conditions.network_loss_percent or 0)
    assert (first.conditions.network_loss_percent, second.conditions.network_loss_percent) == (5, 20)
    assert (first.release, first.labels, second.labels["qos-depth"]) == ("1.0", {"folder": "0", "qos-depth": "10"}, "100")
    assert first.options == {"comment": "a", "rosbag": True}


def test_log_is_refused_if_the_file_of_facts_contradicts_the_path(tree: MakeTree, tmp_path: Path) -> None:
    folder = experiment(tree, {"folder": "1", "x": 1}, {"folder": "1", "x": 2})
    (folder / "0" / "config.json").write_text('{"release": "2.0"}')

    said = import_logs(folder, "--to", tmp_path / "data", "--map", "{release}/{role}.log", "--facts", "{folder}/config.json", status=2)

    assert "0/sub.log: the path or its rule states release = '0', the file of facts states '2.0'" in said


def test_log_without_its_file_of_facts_is_imported_and_a_message_counts_such_logs(tree: MakeTree, tmp_path: Path) -> None:
    folder = experiment(tree, {"network_loss_percent": 5}, {"network_loss_percent": 5})
    (folder / "1" / "config.json").unlink()

    said = import_logs(folder, "--to", tmp_path / "data", *MAP)

    assert "1 file of facts not found, so these logs have no facts: 1/config.json" in said
    assert sorted(str(run.conditions.network_loss_percent) for run in manifests(tmp_path / "data").values()) == ["5.0", "None"]


@pytest.mark.parametrize(
    ("template", "content", "message"),
    [
        ("{folder}/config.json", "{", "0/config.json: Expecting property name"),
        ("{folder}/config.json", '{"payload_bytes": "much"}', "in 0/config.json, conditions.payload_bytes"),
        ("{folder}/config.txt", "{}", "facts are in a file of JSON, TOML or YAML"),
        ("{folder}/../../config.json", "{}", "is not in"),
    ],
)
def test_message_names_an_invalid_file_of_facts(template: str, content: str, message: str, tree: MakeTree, tmp_path: Path) -> None:
    folder = experiment(tree, {})
    (folder / "0" / "config.json").write_text(content)

    said = import_logs(folder, "--to", tmp_path / "data", "--map", "{*}/{role}.log", "--facts", template, status=2)

    assert message in said.replace("payload_bytes = 'much'", "conditions.payload_bytes")
