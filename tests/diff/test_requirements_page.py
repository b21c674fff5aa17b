"""Each example of docs/requirements.md has the result that the page states."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacholog.compare.requirements.file import UNITS, Requirement, read_requirements
from tacholog.compare.requirements.judge import judge
from tacholog.compare.row_values import values_needed
from tacholog.schema.metrics import METRICS
from tacholog.store.frames import Dataset

PAGE = (Path(__file__).parent.parent.parent / "docs" / "requirements.md").read_text(encoding="utf-8")
FOUND = re.findall(r"^### (.+?)$.+?^```toml\n(.+?)^```.+?^```example\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = {title: (rule, tomllib.loads(said)) for title, rule, said in FOUND}
Side = Callable[..., Dataset]
LOSS = {"metric": "loss", "unit": "ratio", "test": "throughput", "basis": None}


def no_base(name: str) -> Dataset:
    raise AssertionError(name)


@pytest.mark.parametrize("title", EXAMPLES)
def test_example_has_the_stated_result(title: str, side: Side, tmp_path: Path) -> None:
    rule, said = EXAMPLES[title]
    (tmp_path / "requirements.toml").write_text(rule)
    file = read_requirements(tmp_path / "requirements.toml")
    asked = file.requirements[0].requirement
    unit = UNITS[METRICS[asked.metric].unit][asked.unit or ""]
    stated: dict[str, Any] = {"statistic": asked.statistic} | (LOSS if asked.metric == "loss" else {})
    stated |= {"samples": said["samples"]} if "samples" in said else {}
    stated |= {"resolution": said["resolution"] * unit} if "resolution" in said else {}
    stated |= {"session": said["sessions"]} if "sessions" in said else {}

    (result,) = judge(side(np.array([said["values"]]) * unit, **stated), file, no_base).results

    assert (result.verdict, result.hint) == (said["verdict"], said.get("hint"))
    if result.rows:
        (row,) = result.rows
        assert row.reasons == ((said["reason"],) if "reason" in said else ())
        if "interval" in said:
            assert list(row.interval or ()) == pytest.approx([end * unit for end in said["interval"]])
        if "confidence" in said:
            assert row.confidence == pytest.approx(said["confidence"], abs=0.0005)
        assert row.needed == said.get("needed")


def test_page_has_an_example_of_each_verdict() -> None:
    assert {said["verdict"] for _, said in EXAMPLES.values()} == {"passed", "failed", "undecided", "missing"}
    assert len(EXAMPLES) >= 11


def test_file_of_the_page_is_valid(tmp_path: Path) -> None:
    block = next(block for block in re.findall(r"^```toml\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL) if "small messages" in block)
    (tmp_path / "requirements.toml").write_text(block)

    small, plugin, _, relative = (placed.requirement for placed in read_requirements(tmp_path / "requirements.toml").requirements)

    assert (small.bytes_wanted, small.limit) == (1024, 5000.0)
    assert (plugin.label, plugin.limit, plugin.confidence) == ({"plugin": "flannel"}, 8e9, 0.99)
    assert (relative.than, relative.limit) == ("1.2", 0.05)


def test_page_states_the_number_of_runs_that_a_confidence_needs() -> None:
    table = re.findall(r"^\s*\| (0\.9+5?) \| (\d+) \|$", PAGE, re.MULTILINE)

    assert len(table) == 4
    assert [(confidence, values_needed(float(confidence))) for confidence, _ in table] == [(name, int(count)) for name, count in table]


def test_page_lists_each_unit_and_each_property() -> None:
    words = set(re.findall(r"`([^`\n]+)`", PAGE))

    assert {unit for units in UNITS.values() for unit in units} - words <= {"\u03bcs", "calls/s", "instances", "switches", "trials", "s/GB"}
    properties = set(Requirement.__struct_fields__) - {"label"}
    assert properties - words <= {"metric", "statistic", "name", "confidence"}
