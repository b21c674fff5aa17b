"""Each example of docs/significance.md has the result that the page states."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacholog.compare.bands import same_build
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy, read_policy
from tacholog.compare.result import ComparisonRow, Loss
from tacholog.compare.sides import read_renames
from tacholog.store.frames import Dataset

PAGE = Path(__file__).parent.parent.parent / "docs" / "significance.md"
EXAMPLES = {
    title: tomllib.loads(code) for title, code in re.findall(r"^### (.+?)$.+?^```toml\n(.+?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
}
US, PERCENT = 1000.0, 0.01
GOODPUT = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}
METRIC = {"goodput": GOODPUT, "loss": {"metric": "loss", "statistic": "total", "unit": "ratio", "test": "throughput", "basis": None}}
Side = Callable[..., Dataset]


def said(example: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: example[name] for name in ("statistic", "samples") if name in example}
    if "resolution" in example:
        found["resolution"] = example["resolution"] * US
    if "reliability" in example:
        found["reliability"] = example["reliability"] or None
    return found | METRIC.get(example.get("metric", ""), {})


@pytest.mark.parametrize("title", EXAMPLES)
def test_example_has_the_stated_verdict(title: str, side: Side) -> None:
    example = EXAMPLES[title]
    unit = PERCENT if example.get("metric") == "loss" else US
    old, new = (np.array([example[name]]) * unit for name in ("old", "new"))
    pairs = np.arange(old.shape[1])
    turns = {"blocks": (pairs, pairs + 100), "old first": (2 * pairs, 2 * pairs + 1)}
    places = turns.get(example.get("order", ""), (2 * pairs + pairs % 2, 2 * pairs + 1 - pairs % 2))
    if "rows" in example:
        ups_and_downs = np.exp(0.1 * np.random.default_rng(1).standard_normal((example["rows"] - 1, len(pairs))))
        old, new = (np.concatenate([side, old * more]) for side, more in ((old, np.ones_like(ups_and_downs)), (new, ups_and_downs)))

    sides = [side(values, when, **said(example)) for values, when in zip((old, new), places, strict=True)]
    report = compare(sides[0], sides[1], Policy(false_discovery_rate=example.get("false_discovery_rate", 0.05)))
    row = next(row for row in report.rows or report.losses if row.key.payload_bytes == 16)

    assert len(report.rows or report.losses) == example.get("rows", 1)
    assert row.verdict == example["verdict"]
    assert row.reasons == ((example["reason"],) if "reason" in example else () if len(old[0]) > 1 else ("single_run",))
    for name in ("p", "p_adjusted", "ratio", "threshold", "attainable_p", "needed"):
        if name in example:
            assert getattr(row, name) == pytest.approx(example[name], abs=0.0005)
    if isinstance(row, Loss):
        assert row.difference == pytest.approx(example["difference"] * PERCENT)
    if isinstance(row, ComparisonRow) and "interval" in example:
        assert list(row.interval or ()) == pytest.approx(example["interval"], abs=0.0005)


def test_page_has_examples_for_most_verdicts() -> None:
    assert len(EXAMPLES) >= 12
    assert {example["verdict"] for example in EXAMPLES.values()} >= {
        "worse",
        "better",
        "no_change",
        "inconclusive",
        "too_few_pairs",
        "insufficient",
        "unreplicated_diff",
    }


def test_example_file_on_the_page_yields_the_bands_that_the_page_states(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (table,) = re.findall(r"^```csv\n(.+?)^```", text, re.MULTILINE | re.DOTALL)
    (said,) = re.findall(r"^```toml\n(single_percent.+?)^```", text, re.MULTILINE | re.DOTALL)
    whole, monday = tmp_path / "whole.csv", tmp_path / "monday.csv"
    whole.write_text(table)
    monday.write_text("".join(table.splitlines(keepends=True)[:2]))

    (three,), (one,) = (same_build(path).bands.values() for path in (whole, monday))

    wanted = tomllib.loads(said)
    assert 100 * np.expm1([three.single, three.paired]) == pytest.approx([wanted["single_percent"], wanted["paired_percent"]], abs=0.05)
    assert 100 * np.expm1([one.single, one.paired]) == pytest.approx([6.0, 2.4], abs=0.05)
    assert (three.across_sessions, one.across_sessions) == (True, False)


def test_renames_on_the_page_are_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```\n(\[transport\].+?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "renames.toml").write_text(block)

    assert read_renames(tmp_path / "renames.toml") == {"transport": {"shmem": "shm"}}


def test_thresholds_on_the_page_are_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```\n(false_discovery_rate.+?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "thresholds.toml").write_text(block)

    policy = read_policy(tmp_path / "thresholds.toml")

    assert policy == Policy(same_build_percent=4.5, row=policy.row, gate=policy.gate)
    assert [gate.wanted() for gate in policy.gate] == [{"transport": "shm", "statistic": "p50"}]
    assert policy.row[0].wanted() == {"transport": "udp", "statistic": "p99"}
