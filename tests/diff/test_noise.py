"""The smallest change that a machine can show: the noise report and a comparison compute the same number, and state it in sentences."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.diff.conftest import HOST, compare_pairs

from tacholog.compare.noise import PAIRS, MachineFacts, NoiseRow, machine_facts, noise_rows, smallest_change
from tacholog.compare.policy import Policy
from tacholog.compare.result import RowKey
from tacholog.render.noise import advice, answer, text

FACTS = MachineFacts(
    name="Machine",
    processors=2,
    virtualisation=None,
    other_load=0.0,
    most_other_load=0.0,
    steal_percent=0.0,
    most_steal_percent=0.0,
    governor="performance",
    turbo="off",
    smt="off",
)


def runs(deviation: float, pairs: int, rows: int = 3) -> NDArray[np.float64]:
    """Return random latencies of one build, shape (2, rows, pairs). They are about 10 us."""
    return np.asarray(10_000 * np.exp(deviation * np.random.default_rng(1).standard_normal((2, rows, pairs))))


def row(deviation: float = 0.02, statistic: str = "p50", threshold: float = 0.03, needed: int | None = 9) -> NoiseRow:
    changes = {pairs: smallest_change(deviation, pairs, 2, 0.05, float(np.log1p(threshold))) for pairs in PAIRS}
    key = RowKey(system="S", transport="shm", test="latency", payload_bytes=64, metric="latency", statistic=statistic)
    return NoiseRow(key=key, pairs=7, deviation=deviation, threshold=threshold, detectable=changes, needed=needed)


@pytest.mark.parametrize("pairs", PAIRS[:3])
def test_noise_report_states_the_same_smallest_change_as_a_comparison_with_equally_many_pairs(pairs: int) -> None:
    report = compare_pairs(*runs(0.2, pairs))  # The noise is large, so that each row states its smallest detectable change.

    rows = noise_rows(report)

    assert {judged.key: judged.detectable[pairs] for judged in rows} == {compared.key: pytest.approx(compared.detectable) for compared in report.rows}
    assert {judged.pairs for judged in rows} == {pairs}


def test_smallest_change_decreases_with_more_pairs_and_the_needed_number_of_pairs_is_stated() -> None:
    for judged in noise_rows(compare_pairs(*runs(0.02, 8))):
        changes = [judged.detectable[pairs] or np.inf for pairs in PAIRS]
        assert changes == sorted(changes, reverse=True)
        assert min(changes) >= judged.threshold
        assert judged.needed is not None
        least = float(np.log1p(judged.threshold))
        at_needed, before = (smallest_change(judged.deviation, pairs, 3, 0.05, least) for pairs in (judged.needed, judged.needed - 1))
        assert at_needed is not None
        assert at_needed <= 0.05 < (before or np.inf)


def test_smallest_change_is_the_threshold_if_all_values_are_equal() -> None:
    (judged, *_) = noise_rows(compare_pairs(np.full((1, 6), 100.0), np.full((1, 6), 100.0)))

    assert judged.deviation == 0.0
    assert judged.detectable[6] == pytest.approx(0.03)


def test_first_sentence_states_the_changes_that_ten_pairs_show() -> None:
    rows = [row(0.02), row(0.2, "p99", 0.05, None)]

    median, tail = (f"{100 * (judged.detectable[10] or 0):.{digits}f}" for judged, digits in zip(rows, (1, 0), strict=True))
    assert answer(rows) == f"On this machine, 10 pairs show a change of {median} % in the median latency of shm, and a change of {tail} % in its p99."
    assert text(rows, FACTS, []).splitlines()[0] == answer(rows)


@pytest.mark.parametrize(
    ("rows", "changes", "sentence"),
    [
        (
            [row(), row(0.2, "p99", 0.05, None)],
            {},
            "To see a change of 5.0 % in each median and rate, make 9 pairs; nothing that Tacholog can read disturbs this machine.",
        ),
        (
            [row(needed=None)],
            {"smt": "on"},
            "Even 100 pairs do not show a change of 5.0 % in latency p50, shm, 64\u00a0B; to need fewer, switch off SMT",
        ),
        (
            [row()],
            {"other_load": 1.2, "governor": "powersave"},
            "; to need fewer, stop other programs and set the frequency governor to performance.",
        ),
        ([row()], {"steal_percent": 3.0}, "; to need fewer, use a machine whose processors are not shared with other virtual machines."),
        (
            [row(threshold=0.06, needed=None)],
            {"turbo": "on"},
            "No row can show a change of 5.0 %, because smaller changes do not count; to need fewer",
        ),
    ],
)
def test_advice_states_the_number_of_pairs_and_what_to_switch_off(rows: list[NoiseRow], changes: dict[str, object], sentence: str) -> None:
    assert sentence in advice(rows, msgspec.structs.replace(FACTS, **changes))


def test_unknown_facts_about_the_machine_are_not_zero() -> None:
    facts = machine_facts(msgspec.structs.replace(HOST, cpu={}), [{}])

    assert {name: value for name, value in msgspec.to_builtins(facts).items() if value is not None} == {"name": "Machine"}
    assert text([row()], facts, []).count("not known") == 5


def test_facts_about_the_machine_are_read_from_the_host_and_from_the_runs() -> None:
    environments = [{"other_load_during": load, "steal_percent_during": "0.10", "governor": "powersave"} for load in ("0.10", "0.20", "1.50")]

    facts = machine_facts(HOST, environments)

    assert (facts.processors, facts.smt, facts.governor) == (16, "on", "powersave")
    assert (facts.other_load, facts.most_other_load, facts.steal_percent) == (0.2, 1.5, 0.1)


def test_noise_report_uses_the_threshold_of_the_comparison() -> None:
    old, new = runs(0.001, 8)

    report = compare_pairs(old, new, Policy(same_build_percent=7.0))

    assert {round(judged.threshold, 6) for judged in noise_rows(report)} == {0.07}
