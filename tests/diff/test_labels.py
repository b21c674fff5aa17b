"""Labels are chosen by users: runs with different labels are never pooled, and are compared only on request."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from tacholog.compare.bands import calibrations
from tacholog.compare.comparable import ComparisonKind, judge
from tacholog.compare.diff.compare import check_across, compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import ComparisonRow, Difference
from tacholog.compare.sides import find, of_labels
from tacholog.errors import TachologError, UnreadableInput
from tacholog.render.diff.notes import warnings
from tacholog.render.diff.summary import side_words
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset
from tacholog.view.history import lines
from tacholog.view.names import row_name

Side = Callable[..., Dataset]
VALUES = np.array([[1000.0] * 6])


def labelled(side: Side, start: int, factor: float = 1.0, transport: str = "shm", **labels: str) -> Dataset:
    """Return six runs. Sides with the ``start`` values 0 and 1 form interleaved pairs."""
    runs = [f"{start}-{json.dumps(labels)}-{number}" for number in range(6)]
    places = [start // 2 * 2 + 2 * pair + (start + pair) % 2 for pair in range(6)]
    return side(VALUES * factor, places, run=runs, labels=json.dumps(labels, sort_keys=True) if labels else None, transport=transport)


def together(*sides: Dataset) -> Dataset:
    runs, results = (pd.concat([getattr(side, name) for side in sides], ignore_index=True) for name in ("runs", "results"))
    return msgspec.structs.replace(sides[0], runs=runs, results=results)


def names(rows: tuple[ComparisonRow, ...]) -> list[str]:
    return [row_name(row.key).replace("\u00a0", " ") for row in rows]


def test_diff_refuses_a_different_label_and_names_both_values(side: Side) -> None:
    (row,) = compare(labelled(side, 0, plugin="flannel"), labelled(side, 1, plugin="calico"), Policy()).rows

    assert (row.verdict, row.reasons, row.ratio) == ("not_comparable", ("label.plugin",), None)
    assert row.differences == (Difference("label.plugin", "flannel", "calico"),)
    assert "plugin: flannel -> calico" in remark(row)


def test_label_that_only_one_side_has_counts_as_a_different_label(side: Side) -> None:
    (row,) = compare(labelled(side, 0), labelled(side, 1, kernel="6.1"), Policy()).rows

    assert (row.verdict, row.reasons) == ("not_comparable", ("label.kernel",))
    assert "kernel: not stated -> 6.1" in remark(row)


def test_diff_across_a_label_compares_and_names_both_values(side: Side) -> None:
    old, new = labelled(side, 0, plugin="flannel", kernel="6.1"), labelled(side, 1, 1.5, plugin="calico", kernel="6.1")

    (row,) = compare(old, new, Policy(across=("label.plugin",))).rows

    assert row.verdict == "worse"
    assert row.across == (Difference("label.plugin", "flannel", "calico"),)
    assert row.key.apart == ()


def test_comparison_across_one_label_is_refused_if_another_label_differs(side: Side) -> None:
    old, new = labelled(side, 0, plugin="flannel", kernel="6.1"), labelled(side, 1, plugin="calico", kernel="6.6")

    (row,) = compare(old, new, Policy(across=("label.plugin",))).rows

    assert row.reasons == ("label.kernel",)


def test_runs_with_different_labels_are_separate_rows_that_name_their_label(side: Side) -> None:
    old = together(labelled(side, 0, plugin="flannel"), labelled(side, 20, 2.0, plugin="calico"))
    new = together(labelled(side, 1, plugin="flannel"), labelled(side, 21, 3.0, plugin="calico"))

    rows = compare(old, new, Policy()).rows

    assert {name: (row.old.median, row.new.median) for name, row in zip(names(rows), rows, strict=True) if row.old and row.new} == {
        "latency p50, shm, copy, 16 B, plugin calico": (2000.0, 3000.0),
        "latency p50, shm, copy, 16 B, plugin flannel": (1000.0, 1000.0),
    }


def test_label_that_differs_between_transports_is_in_the_name_of_each_row(side: Side) -> None:
    old, new = (together(labelled(side, at, plugin="flannel"), labelled(side, 20 + at, transport="udp", plugin="calico")) for at in (0, 1))

    rows = compare(old, new, Policy()).rows

    assert sorted(names(rows)) == ["latency p50, shm, copy, 16 B, plugin flannel", "latency p50, udp, copy, 16 B, plugin calico"]


def test_runs_without_a_label_are_a_separate_row(side: Side) -> None:
    old, new = (together(labelled(side, at), labelled(side, 20 + at, plugin="calico")) for at in (0, 1))

    rows = compare(old, new, Policy()).rows

    assert sorted(names(rows)) == [f"latency p50, shm, copy, 16 B, plugin {value}" for value in ("calico", "not stated")]


def test_label_that_all_runs_share_is_stated_for_the_sides_and_not_in_each_row(side: Side) -> None:
    report = compare(labelled(side, 0, plugin="flannel"), labelled(side, 1, plugin="flannel"), Policy())

    assert names(report.rows) == ["latency p50, shm, copy, 16 B"]
    assert report.old.labels == {"plugin": ("flannel",)}
    assert "; plugin flannel; " in side_words(report.old)


def test_removed_row_states_the_label_under_which_the_new_side_has_the_row(side: Side) -> None:
    old = together(labelled(side, 0, plugin="flannel"), labelled(side, 20, plugin="calico"))

    gone = next(row for row in compare(old, labelled(side, 1, plugin="flannel"), Policy()).rows if row.verdict == "removed")

    assert names((gone,))[0] == "latency p50, shm, copy, 16 B, plugin calico"
    assert "plugin: calico -> flannel" in remark(gone)


def test_report_states_how_to_compare_rows_with_different_labels(side: Side) -> None:
    old, new = labelled(side, 0, plugin="flannel"), labelled(side, 1, plugin="calico")

    said = "Rows with different labels are not compared: plugin. To compare them, add --across label.plugin."

    assert said in warnings(compare(old, new, Policy()))
    assert said not in warnings(compare(old, new, Policy(across=("label.plugin",))))


def test_row_does_not_name_the_values_of_a_label_if_one_side_has_several_values(side: Side) -> None:
    old = together(labelled(side, 0, plugin="flannel"), labelled(side, 20, plugin="calico"))

    (row,) = compare(old, labelled(side, 1, plugin="flannel"), Policy(across=("label.plugin",))).rows

    assert (row.verdict, row.reasons, row.across) == ("not_comparable", ("mixed",), ())


def test_band_is_not_measured_from_sides_with_several_values_of_a_label(side: Side) -> None:
    plain = compare(labelled(side, 0, plugin="flannel"), labelled(side, 1, plugin="flannel"), Policy())
    mixed = compare(
        together(labelled(side, 0, plugin="flannel"), labelled(side, 20, plugin="calico")),
        together(labelled(side, 1, plugin="flannel"), labelled(side, 21, plugin="calico")),
        Policy(),
    )

    assert [len(calibrations(report, "build")) for report in (plain, mixed)] == [1, 0]


def test_diff_of_one_value_of_a_label_uses_only_runs_with_this_value(side: Side) -> None:
    both = together(labelled(side, 0, plugin="flannel"), labelled(side, 20, plugin="calico"))

    assert len(of_labels(both, (("label.plugin", "calico"),)).runs) == 6
    with pytest.raises(UnreadableInput, match="no run with the label plugin=host; there are: plugin=calico, plugin=flannel"):
        of_labels(both, (("label.plugin", "host"),))


def test_line_of_a_history_has_only_one_value_of_a_label(side: Side) -> None:
    releases = [labelled(side, 0, kernel="6.1"), labelled(side, 1, kernel="6.1"), labelled(side, 40, kernel="6.6"), labelled(side, 41, kernel="6.6")]
    reports = [compare(old, new, Policy()) for old, new in pairwise(releases)]

    found = lines(reports, "latency", "p50")

    assert [[point.release for point in line.points] for line in found] == [[0, 1], [2, 3]]
    assert found[1].begun_by is not None
    assert found[1].begun_by.reasons == ("label.kernel",)


def test_option_across_accepts_each_label_and_refuses_other_names() -> None:
    check_across(["label.anything-at_all9", "transport"])
    for wrong in ("label.", "label.9", "label.a b", "labels", "lable.plugin"):  # codespell:ignore lable
        with pytest.raises(TachologError, match=r"--across .*: choose from .*, label\.NAME"):
            check_across([wrong])


def test_dataset_saved_before_labels_existed_is_compared_like_a_dataset_without_labels() -> None:
    saved = find(str(Path(__file__).parent.parent / "saved/0.3.0"), ())
    older = msgspec.structs.replace(saved, runs=saved.runs.drop(columns="labels"))

    assert saved.runs["labels"].isna().all()
    assert {row.verdict for row in compare(older, saved, Policy()).rows} == {"unreplicated_same"}


@pytest.mark.parametrize("comparison", ["ratio", "ranking"])
def test_no_comparison_mixes_two_values_of_a_label(comparison: ComparisonKind) -> None:
    stated = dict.fromkeys(("metric", "labels"), None) | {"metric": "latency"}
    one, other = (stated | {"labels": labels} for labels in ('{"plugin": "flannel"}', None))

    judged = judge(one, other, comparison=comparison, only=("labels",))

    assert judged.different == (Difference("label.plugin", "flannel", None),)
    assert judge(one, one, comparison=comparison, only=("labels",)).different == ()


def test_side_without_a_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableInput, match="a side has no name"):
        find("", ())
