"""The rule for comparable results is the same everywhere: a diff, a ranking, a table and the comparison page refuse with the same words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacholog.compare.comparable import CONDITIONS, judge
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.render.diff.words import remark
from tacholog.render.links import Links
from tacholog.render.tables.comparison import compare as page_that_compares
from tacholog.render.tables.sizes import side_by_side
from tacholog.schema.conditions import CONDITIONS as DECLARED
from tacholog.store.frames import Dataset
from tacholog.view.comparison import comparison
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, conditions_of, group_of, system_series
from tacholog.view.rankings import unranked
from tacholog.view.views import View, view_of

Side = Callable[..., Dataset]

VALUES = np.array([[1000.0] * 6])
OLD, NEW = [f"1-old-{number}" for number in range(6)], [f"2-new-{number}" for number in range(6)]
# For each condition: a value that differs from the usual value of the artificial campaigns, and the message about this difference.
OTHERS: dict[str, tuple[dict[str, object], str]] = {
    "definition": ({"definition": "something-else"}, "definition of the metric: perftest-latency -> something-else"),
    "basis": ({"basis": "rtt"}, "basis: half round trip -> round trip"),
    "load_mode": ({"load_mode": "open"}, "load mode: closed -> open"),
    "labels": ({"labels": '{"plugin": "calico"}'}, "plugin: not stated -> calico"),
    "reliability": ({"reliability": "best-effort"}, "reliability: reliable -> best-effort"),
    "placement": ({"placement": "siblings"}, "placement: shared-cache -> siblings"),
    "network_loss_percent": ({"network_loss_percent": 10.0}, "network loss: not stated -> 10"),
    "network_delay_ns": ({"network_delay_ns": 5_000_000}, "network delay: not stated -> 5000000"),
    "network_jitter_ns": ({"network_jitter_ns": 1_000_000}, "network jitter: not stated -> 1000000"),
    "network_bandwidth_bit_per_s": ({"network_bandwidth_bit_per_s": 54e6}, "network bandwidth: not stated -> 5.4e+07"),
    "acks": ({"acks": "all"}, "acks: 1 -> all"),
    "durability": ({"durability": "disk"}, "durability: memory -> disk"),
    "replication_factor": ({"replication_factor": 3}, "replication: 1 -> 3"),
    "latency_of": ({"marks": ("reference_only",)}, "the latency of bytes against that of a reference"),
}


def together(old: Dataset, new: Dataset) -> View:
    """Return a view of both sides. The old side has the transport ``first``, the new side has the transport ``second``."""
    results = pd.concat([side.results.assign(transport=name) for side, name in ((old, "first"), (new, "second"))], ignore_index=True)
    view = view_of(Dataset(pd.concat([old.runs, new.runs], ignore_index=True), old.logs, old.problems, results, old.histograms, hosts=old.hosts))
    assert len(view.series()) == 2
    return view


def refused_by_each(old: Dataset, new: Dataset) -> dict[str, str]:
    view = together(old, new)
    everything = system_series(view, PageIndex())
    return {
        "diff": "; ".join(remark(row) for row in compare(old, new, Policy()).rows),
        "ranking": str(unranked(everything, everything, [])),
        "side by side": html.unescape(str(side_by_side(view.series(), Links(), "a"))),
        "page": html.unescape(str(page_that_compares(view, PageIndex(), Links(), "a"))),
    }


@pytest.mark.parametrize("condition", [name for name, found in CONDITIONS.items() if len(found.comparisons) == 3])
def test_all_kinds_of_comparison_give_the_same_reason_if_a_condition_differs(side: Side, condition: str) -> None:
    changes, words = OTHERS[condition]
    before: dict[str, dict[str, object]] = {
        "latency_of": {"marks": ("grows_with_size",)},
        "placement": {"placement": "shared-cache"},
        "acks": {"acks": "1"},
        "durability": {"durability": "memory"},
        "replication_factor": {"replication_factor": 1},
    }

    shown = refused_by_each(side(VALUES, range(6), run=OLD, **before.get(condition, {})), side(VALUES, range(6, 12), run=NEW, **changes))

    # A ranking does not refuse different labels, because the page with the title "Side by side" shows all variants of a transport in one table.
    expected = {name: name != "ranking" or condition != "labels" for name in shown}
    # A page of results only names the differing condition. It does not list the values, because it may have many series.
    title = "contents (bytes, or a reference to them)" if condition == "latency_of" else words.partition(":")[0]
    said = {name: title if name == "side by side" else words for name in shown}
    assert {name: said[name] in output for name, output in shown.items()} == expected


@pytest.mark.parametrize(("condition", "words"), [("definition", "not stated: definition of the metric"), ("basis", "not stated: basis")])
def test_all_kinds_of_comparison_give_the_same_reason_if_a_condition_is_not_stated(side: Side, condition: str, words: str) -> None:
    shown = refused_by_each(side(VALUES, range(6), run=OLD), side(VALUES, range(6, 12), run=NEW, **{condition: None}))

    assert {name: words in output for name, output in shown.items()} == dict.fromkeys(shown, True)


def test_unstated_placement_is_refused_by_a_ranking_only(side: Side) -> None:
    shown = refused_by_each(side(VALUES, range(6), run=OLD), side(VALUES, range(6, 12), run=NEW, placement="siblings"))

    assert {name for name, output in shown.items() if "placement: " in output} == {"ranking"}


def test_no_kind_of_comparison_refuses_equal_conditions(side: Side) -> None:
    shown = refused_by_each(side(VALUES, range(6), run=OLD), side(VALUES, range(6, 12), run=NEW))

    assert "->" not in shown["diff"]
    assert "the closest" not in shown["ranking"]
    assert "Not comparable" not in shown["side by side"]
    assert '"verdicts":[]' in shown["page"]


@pytest.fixture
def view(side: Side) -> View:
    """Return a view of many series. The first series has the usual conditions, and each later series differs from the first in one condition."""
    cases: list[dict[str, Any]] = [{}, *(changes for changes, _ in OTHERS.values()), {"definition": None}, {"basis": None}, {"load_mode": None}]
    sides = [side(VALUES, run=[f"{place}-{number}" for number in range(6)], transport=f"t{place}", **case) for place, case in enumerate(cases)]
    results, runs = (pd.concat([getattr(one, name) for one in sides], ignore_index=True) for name in ("results", "runs"))
    return view_of(Dataset(runs, sides[0].logs, sides[0].problems, results, sides[0].histograms, hosts=sides[0].hosts))


def test_comparison_page_refuses_the_same_pairs_of_series_as_the_rule(view: View) -> None:
    found = comparison(view, PageIndex())
    stated = [conditions_of(one.system_series.series, "latency") for one in found.series]

    for base, other in product(range(len(stated)), repeat=2):
        pairs = [(verdicts.value_indices[base], verdicts.value_indices[other], verdicts.reasons) for verdicts in found.verdicts["latency.p50"]]
        reasons = [reasons[first][second] for first, second, reasons in pairs if first is not None and second is not None]
        judged = judge(stated[base], stated[other], comparison="ratio")
        assert any(reasons) == judged.is_refused, (stated[base], stated[other])


def test_two_series_are_in_one_ranking_group_if_and_only_if_the_rule_allows_a_comparison(view: View) -> None:
    def is_grouped(one: SystemSeries, other: SystemSeries) -> bool:
        return group_of(one) is not None and group_of(one) == group_of(other)

    everything = system_series(view, PageIndex())

    for one, other in product(everything, repeat=2):
        sides = [conditions_of(each.series, "latency") for each in (one, other)]
        assert is_grouped(one, other) != judge(sides[0], sides[1], comparison="ranking").is_refused


def test_script_of_the_page_contains_no_condition(checkout: Path) -> None:
    script = (checkout / "site" / "_static" / "tacholog-compare.js").read_text()

    assert re.findall(r"definition|load_mode|payload_touched|operating system|reference", script) == []


def test_each_condition_is_compared_or_listed_as_not_compared() -> None:
    not_compared = {
        "reach",  # Two results with the same transport have the same reach.
        "demand",  # Rows with different demands are different rows, as with different sizes.
        "warmup",  # A change of the warm-up is stated, but does not forbid a comparison.
        "planned_duration_s",
        "link_bit_per_s",
    }

    assert DECLARED.keys() - CONDITIONS.keys() == not_compared
