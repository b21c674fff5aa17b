"""The rows of a view: the types of their fields, values that several rows share, and histograms."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from tacholog.schema.conditions import Conditions
from tacholog.store.distributions import PackedDistribution
from tacholog.store.frames import open_saved
from tacholog.store.load import load, load_logs
from tacholog.view.results import ResultRow
from tacholog.view.views import view_of

NATIVE = Path(__file__).parent.parent / "formats" / "native"


def test_each_field_of_a_row_has_its_declared_type(data: Path) -> None:
    rows = view_of(load([data])).results

    assert len(rows) > 20
    assert [msgspec.convert(msgspec.to_builtins(row), ResultRow) for row in rows] == rows
    assert {type(row.value) for row in rows} == {float}
    assert all(isinstance(row.marks, tuple) for row in rows)


def test_numbers_with_equal_conditions_share_one_conditions_object(data: Path) -> None:
    rows = view_of(load([data])).results

    different: list[Conditions] = []
    for row in rows:
        if not any(row.conditions is one for one in different):
            different.append(row.conditions)
    assert 1 < len(different) < 12
    assert all(one != other for place, one in enumerate(different) for other in different[:place])


@pytest.mark.machinery
def test_rows_share_equal_values_to_save_memory(data: Path) -> None:
    loaded = load([data])
    sizes = np.full(len(loaded.results), 123_456)  # The number is large, because Python always shares the objects of small numbers.
    rows = view_of(msgspec.structs.replace(loaded, results=loaded.results.assign(payload_bytes=pd.array(sizes, "Int64")))).results

    assert {row.payload_bytes for row in rows} == {123_456}
    assert len({id(row.payload_bytes) for row in rows}) == 1
    assert len({id(row.run) for row in rows}) == len({row.run.run for row in rows})
    assert len({id(row.marks) for row in rows}) == len({row.marks for row in rows})


def test_histogram_has_the_bins_of_the_log_in_a_loaded_and_in_a_saved_dataset(tmp_path: Path) -> None:
    loaded = load_logs([NATIVE / "latency-udp.log"])
    loaded.save(tmp_path)

    for known in (loaded, open_saved(tmp_path)):
        first, second = view_of(known).histograms
        assert [*first.bins()][:2] == [(2828, 2829, 1), (2900, 2901, 1)]
        assert [len([*one.bins()]) for one in (first, second)] == [566, 347]
        assert sum(count for _, _, count in first.bins()) == 737
    assert view_of(open_saved(tmp_path, distributions=False)).histograms == []


def test_histogram_can_be_empty(tmp_path: Path) -> None:
    loaded = load_logs([NATIVE / "latency-udp.log"])
    none = pd.Series([PackedDistribution()] * 2, dtype="object")
    empty = msgspec.structs.replace(loaded, histograms=loaded.histograms.assign(bins=none))
    empty.save(tmp_path)

    for known in (empty, open_saved(tmp_path)):
        assert [[*one.bins()] for one in view_of(known).histograms] == [[], []]


def test_dataset_without_numbers_has_no_rows(data: Path) -> None:
    loaded = load([data])

    assert view_of(msgspec.structs.replace(loaded, results=loaded.results.iloc[:0])).results == []
