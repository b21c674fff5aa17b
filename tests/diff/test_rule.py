"""The verdict rule, case by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.diff.conftest import NEW_TURNS, OLD_TURNS, make_pairs

from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Bands, Override, Policy, RowFilter
from tacholog.compare.result import VERDICTS, Comparison, ComparisonRow, ComparisonWarning, ShortRun, Verdict, json_schema, to_json
from tacholog.errors import TachologError
from tacholog.render.diff import words as diff_words
from tacholog.render.diff.words import remark
from tacholog.runs.manifest import Host
from tacholog.store.frames import Dataset

Floats = NDArray[np.float64]
Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]


def only(report: Comparison) -> ComparisonRow:
    (row,) = report.rows
    return row


def one_verdict(report: Comparison) -> Verdict:
    (verdict,) = {row.verdict for row in report.rows}
    return verdict


def test_slower_row_is_worse_and_states_the_size_of_the_change(compared: Compared, noise: Floats) -> None:
    row = only(compared(noise[0][0], noise[1][0] * 1.1))

    assert row.verdict == "worse"
    assert row.ratio == pytest.approx(1.1, abs=0.01)
    assert row.interval is not None
    assert row.interval[0] is not None
    assert row.interval[1] is not None
    assert row.interval[0] < 1.1 < row.interval[1]
    assert (row.level, row.design) == ("c", "paired")
    assert row.p == pytest.approx(2 / 2**12)


def test_swapped_sides_give_the_opposite_verdict_and_the_inverse_ratio_for_each_row(compared: Compared, noise: Floats) -> None:
    old, new = noise[0], noise[1] * np.array([[1.1], [0.9], [1.0], [1.03]])

    there, back = compared(old, new), compared(new, old)

    mirror = {"worse": "better", "better": "worse"}
    assert {row.key: mirror.get(row.verdict, row.verdict) for row in there.rows} == {row.key: row.verdict for row in back.rows}
    for row in there.rows:
        (twin,) = (other for other in back.rows if other.key == row.key)
        assert row.ratio == pytest.approx(1 / (twin.ratio or 0))
        assert row.p == pytest.approx(twin.p)


@pytest.mark.parametrize("unit", [1e-3, 1e3, 8.0])
def test_verdict_does_not_depend_on_units(compared: Compared, noise: Floats, unit: float) -> None:
    old, new = noise[0], noise[1] * np.array([[1.1], [0.9], [1.0], [1.03]])

    one, other = compared(old, new, resolution=1.0), compared(old * unit, new * unit, resolution=unit)

    assert [row.verdict for row in one.rows] == [row.verdict for row in other.rows]
    assert [row.p for row in one.rows] == [row.p for row in other.rows]


def test_larger_rate_is_better(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 1.1, metric="goodput", statistic="mean", unit="bit_per_s", test="throughput", basis=None)

    assert one_verdict(report) == "better"


def test_rows_that_only_one_side_has_are_listed_as_removed_or_added(compared: Compared, side: Side, noise: Floats) -> None:
    report = compare(side(noise[0], OLD_TURNS), side(noise[1][:3], NEW_TURNS, transport="udp"), Policy())

    assert (report.counts["removed"], report.counts["added"]) == (4, 3)
    assert exit_code(report, ()) == 4
    assert one_verdict(compared(noise[0], noise[1])) == "no_change"


def test_rows_of_two_cpus_are_not_comparable_and_both_cpus_and_machines_are_named(side: Side, noise: Floats, other_host: Host) -> None:
    report = compare(side(noise[0], OLD_TURNS), side(noise[1], NEW_TURNS, host=other_host), Policy())

    assert one_verdict(report) == "not_comparable"
    assert report.rows[0].reasons == ("cpu_model",)
    cpu, machine = report.rows[0].differences
    assert (cpu.old, cpu.new) == ("Made-up CPU", "Another CPU")
    assert machine.field == "host"
    assert machine.old != machine.new
    assert exit_code(report, ()) == 4


@pytest.mark.parametrize(
    ("condition", "value", "code"),
    [
        ("definition", "something-else", "metric_def"),
        ("basis", "rtt", "basis"),
        ("load_mode", "open", "load_mode"),
        ("reliability", "best-effort", "qos"),
        ("batch_bytes", 8192, "batching"),
        ("payload_touched", "none", "payload_touched"),
        ("waiting", "blocking", "waiting"),
        ("tuning", "real-time priority 50", "tuning"),
        ("placement", "siblings", "placement"),
        ("tool_version", "2.0.0", "harness_major"),
    ],
)
def test_rows_with_a_different_condition_are_not_comparable_and_name_this_condition(
    side: Side, noise: Floats, condition: str, value: object, code: str
) -> None:
    known = {"batch_bytes": 1024, "tuning": "none", "placement": "shared-cache"}
    old = side(noise[0], OLD_TURNS, **known)
    new = side(noise[1], NEW_TURNS, **known | {condition: value})

    report = compare(old, new, Policy())

    assert (one_verdict(report), report.rows[0].reasons) == ("not_comparable", (code,))


def test_row_with_an_unknown_condition_gets_only_the_verdicts_of_single_values(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 1.3, reliability=None)

    assert one_verdict(report) == "unreplicated_diff"
    assert (report.rows[0].reasons, report.rows[0].unverified) == (("unverified",), ("qos",))


def test_condition_that_does_not_apply_to_a_row_may_be_unknown(compared: Compared, noise: Floats) -> None:
    assert only(compared(noise[0][0], noise[1][0], offered_rate_per_s=None, keyed=False, instances=None)).verdict == "no_change"


def test_machine_is_verified_only_if_both_sides_state_the_same_host(side: Side, noise: Floats) -> None:
    unknown = compare(side(noise[0], OLD_TURNS, host=None), side(noise[1], NEW_TURNS, host=None), Policy())
    bare = Host(name="Bare", source="made up")
    same = compare(side(noise[0], OLD_TURNS, host=bare), side(noise[1], NEW_TURNS, host=bare), Policy())

    assert unknown.rows[0].unverified == ("cpu_model", "cores_smt", "memory")
    assert one_verdict(same) == "no_change"


def test_equal_constant_values_are_no_change(compared: Compared) -> None:
    row = only(compared(np.full(12, 16_000.0), np.full(12, 16_000.0)))

    assert (row.verdict, row.ratio, row.interval, row.p) == ("no_change", 1.0, (1.0, 1.0), 1.0)


@pytest.mark.parametrize("runs", [3, 12])
def test_row_with_a_measured_zero_is_invalid_for_any_number_of_runs(compared: Compared, runs: int) -> None:
    old, new = np.full((2, 1, runs), 1000.0)
    new[0, 1] = 0.0

    (row,) = compared(old, new).rows

    assert (row.verdict, row.reasons) == ("invalid", ("not_positive",))
    assert row.old is not None
    assert row.new is not None
    assert (row.old.median, row.new.median) == (1000.0, 1000.0)
    assert "a run measured zero" in remark(row)


def test_five_pairs_are_never_enough_for_a_verdict(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0][:, :5], noise[1][:, :5] * 1.5)

    assert (one_verdict(report), report.rows[0].reasons) == ("insufficient", ("few_runs",))
    assert exit_code(report, ("worse",)) == 4


def test_row_printed_in_whole_microseconds_gets_a_verdict_although_many_values_are_equal(compared: Compared, noise: Floats) -> None:
    old, new = (np.round(side / 1000) * 1000 for side in (noise[0], noise[1] * 1.3))

    report = compared(old, new, resolution=1000.0)

    assert one_verdict(report) == "worse"


def test_single_rounding_step_is_never_a_change(compared: Compared) -> None:
    row = only(compared(np.full(12, 16_000.0), np.full(12, 17_000.0), resolution=1000.0))

    assert row.p == pytest.approx(2 / 2**12)
    assert (row.verdict, row.threshold_source) == ("inconclusive", "rounding")


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_single_published_value_is_never_better_or_worse(side: Side, factor: float) -> None:
    values = np.array([[10_000.0], [20_000.0]])

    report = compare(side(values), side(values * factor), Policy())

    assert {row.verdict for row in report.rows} <= {"unreplicated_diff", "unreplicated_same"}
    assert report.rows[0].level == "a"


def test_row_has_the_evidence_level_of_the_side_with_fewer_runs(side: Side, noise: Floats) -> None:
    report = compare(side(noise[0], range(12)), side(noise[1][:, :1] * 2, [12]), Policy())

    assert (one_verdict(report), report.rows[0].reasons, report.rows[0].level) == ("unreplicated_diff", ("single_run",), "a")


def test_published_values_that_are_identical_are_called_the_same_measurement(side: Side) -> None:
    values = np.array([[10_000.0], [12_000.0], [17_000.0]])
    published = side(values, session=None, published=True)

    report = compare(published, published, Policy())

    assert {(row.verdict, row.reasons) for row in report.rows} == {("unreplicated_same", ("same_measurement",))}
    apart = compare(published, side(values + np.array([[0], [0], [1000]]), session=None, published=True), Policy())
    assert {row.reasons for row in apart.rows} == {("single_run",)}


@pytest.mark.parametrize("mark", ["run_failed", "out_of_order", "impossible"])
def test_row_with_a_failed_run_or_implausible_figures_is_invalid(compared: Compared, noise: Floats, mark: str) -> None:
    report = compared(noise[0], noise[1] * 2, marks=(mark,))

    assert (one_verdict(report), report.rows[0].reasons) == ("invalid", (mark,))
    assert exit_code(report, ("implausible",)) == (5 if mark != "run_failed" else 4)


def test_row_with_too_much_loss_is_lossy_and_not_failed(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 2, marks=("loss",))

    assert (one_verdict(report), report.rows[0].reasons) == ("lossy", ("loss",))
    assert exit_code(report, ("implausible",)) == 5


def test_failed_run_with_too_much_loss_is_invalid(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 2, marks=("loss", "run_failed"))

    assert one_verdict(report) == "invalid"


def test_percentile_needs_a_hundred_samples_beyond_the_percentile(compared: Compared, noise: Floats) -> None:
    enough, few = (compared(noise[0], noise[1], statistic="p99.9", samples=count) for count in (100_000, 99_000))

    assert one_verdict(enough) == "no_change"
    assert (one_verdict(few), few.rows[0].reasons) == ("insufficient", ("undersampled",))


def test_maximum_is_shown_but_not_tested(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 2, statistic="max")

    assert report.rows == ()
    assert len(report.untested) == 4


def test_additional_statistic_is_tested_if_the_user_requests_this_statistic(compared: Compared, noise: Floats) -> None:
    report = compared(noise[0], noise[1] * 2, Policy(metrics=("latency:p90",)), statistic="p90")

    assert one_verdict(report) == "worse"
    with pytest.raises(TachologError, match="choose from latency"):
        compared(noise[0], noise[1], Policy(metrics=("duration",)))


def test_row_with_much_noise_is_inconclusive_and_states_the_detectable_change(compared: Compared) -> None:
    generator = np.random.default_rng(8)
    row = only(compared(*(10_000 * np.exp(0.2 * generator.standard_normal((2, 12))))))

    assert row.verdict == "inconclusive"
    assert row.detectable is not None
    assert 0.15 < row.detectable < 0.5


def test_row_states_the_values_of_both_groups_if_its_runs_form_two_groups(compared: Compared) -> None:
    old = 1000.0 * np.array([10, 15, 10.1, 15.1, 10.2, 15.2, 9.9, 14.9, 10, 15, 10, 10])
    new = 1000.0 * np.linspace(9.9, 10.1, 12)

    row = only(compared(old, new))

    assert "two_modes" in row.flags
    assert diff_words.remark(row).endswith("; the old runs form two groups: 10\u00a0µs in 7 and 15\u00a0µs in 5 runs")


def test_row_without_a_test_states_both_groups_as_measured_by_the_rule_of_the_tables(side: Side) -> None:
    two_groups = np.array([[131.0, 571.0, 140.0, 591.0, 141.0, 581.0]])
    old, new = side(two_groups, np.arange(6)), side(two_groups * 2, np.arange(6, 12))
    row = next(row for row in compare(old, new, Policy()).rows if row.key.payload_bytes == 16)

    assert row.verdict == "unreplicated_diff"
    assert "two_modes" in row.flags
    assert "the old runs form two groups: 140\u00a0ns in 3 and 581\u00a0ns in 3 runs" in diff_words.remark(row)


def test_threshold_of_a_row_comes_from_the_policy_if_no_override_fits_the_row(compared: Compared, noise: Floats) -> None:
    policy = Policy(thresholds_percent=Bands(centre=20, high=20, tail=20), row=(Override(threshold_percent=2, payload_bytes=16),))

    report = compared(noise[0], noise[1] * 1.1, policy)

    found = {row.key.payload_bytes: (row.verdict, row.threshold_source) for row in report.rows}
    assert found == {16: ("worse", "override"), 32: ("no_change", "policy"), 48: ("no_change", "policy"), 64: ("no_change", "policy")}


def test_measured_band_of_one_build_replaces_a_smaller_threshold(compared: Compared, side: Side, noise: Floats) -> None:
    row = compared(noise[0], noise[1] * 1.1, Policy(same_build_percent=25)).rows[0]
    single = compare(side(noise[0][:, :1]), side(noise[0][:, :1] * 1.2), Policy(same_build_percent=25)).rows[0]

    assert (row.verdict, row.threshold_source) == ("no_change", "same_build")
    assert (single.verdict, single.threshold_source) == ("unreplicated_same", "same_build")


def test_comparison_across_a_field_accepts_different_configurations(side: Side, noise: Floats) -> None:
    old, new = side(noise[0], OLD_TURNS, type="A"), side(noise[1], NEW_TURNS, type="B")

    assert one_verdict(compare(old, new, Policy(across=("type",)))) == "no_change"
    assert compare(old, new, Policy()).counts["added"] == 4


def test_row_is_not_comparable_across_a_field_if_one_side_has_several_values_of_this_field(side: Side, noise: Floats) -> None:
    old = side(noise[0], OLD_TURNS, type="A")
    both = msgspec.structs.replace(old, results=old.results.assign(type=["A", "B"] * (len(old.results) // 2)))
    mixed = msgspec.structs.replace(both, results=both.results.assign(payload_bytes=16))

    report = compare(mixed, side(noise[1][:1], NEW_TURNS, type="A"), Policy(across=("type",)))

    assert report.rows[0].reasons == ("mixed",)


def test_json_matches_its_schema_and_counts_each_verdict(compared: Compared, noise: Floats) -> None:
    text = to_json(compared(noise[0], noise[1] * 1.1))

    assert msgspec.json.decode(text, type=Comparison).counts["worse"] == 4
    verdicts = set(json_schema()["$defs"]["DiffRow"]["properties"]["verdict"]["enum"])
    assert set(msgspec.json.decode(text)["counts"]) == verdicts == set(VERDICTS) == set(diff_words.MEANINGS)


def test_row_with_another_participant_is_not_comparable_and_the_participant_is_named(side: Side, noise: Floats) -> None:
    old = side(noise[0], OLD_TURNS, participant="Ubuntu16 AMD64")
    new = side(noise[1], NEW_TURNS, participant="Ubuntu18 AMD64")

    report = compare(old, new, Policy())

    assert (one_verdict(report), report.rows[0].reasons) == ("not_comparable", ("participant",))


def test_rows_with_equal_conditions_are_matched_before_other_rows(side: Side, noise: Floats) -> None:
    reliable, best_effort = (side(noise[0], OLD_TURNS, reliability=name) for name in ("reliable", "best-effort"))
    both = msgspec.structs.replace(reliable, results=pd.concat([reliable.results, best_effort.results], ignore_index=True))

    report = compare(both, side(noise[1], NEW_TURNS, reliability="best-effort"), Policy())

    assert {(row.verdict, row.new is not None) for row in report.rows} == {("no_change", True), ("removed", False)}


def test_repetitions_within_one_run_count_as_one_value(side: Side, noise: Floats) -> None:
    old = side(np.repeat(noise[0][:1, :1], 12, axis=0), [0])
    again = msgspec.structs.replace(old, results=old.results.assign(payload_bytes=16))

    row = only(compare(again, side(noise[1][:1, :1], [1]), Policy()))

    assert (row.old and row.old.runs, row.level) == (1, "a")


def test_dataset_without_the_folders_of_its_runs_is_compared(side: Side, noise: Floats) -> None:
    old, new = side(noise[0], OLD_TURNS), side(noise[1], NEW_TURNS)
    for dataset in (old, new):
        dataset.runs["root"] = pd.Series([pd.NA] * 12, dtype="string")

    assert compare(old, new, Policy()).counts["invalid"] == 0


def test_inconclusive_and_worse_rows_change_the_exit_code_only_on_request(compared: Compared, noise: Floats) -> None:
    ups_and_downs = np.resize([0.8, 1.25], 12)
    noisy, worse = compared(noise[0][:1], noise[1][:1] * ups_and_downs), compared(noise[0][:1], noise[1][:1] * 1.1)

    codes = {asked: (exit_code(noisy, (asked,)), exit_code(worse, (asked,))) for asked in ("", "inconclusive", "worse", "implausible")}

    assert codes == {"": (0, 0), "inconclusive": (3, 0), "worse": (0, 3), "implausible": (0, 0)}


def test_p_values_of_the_rows_of_a_gate_are_adjusted_separately(compared: Compared) -> None:
    ups_and_downs = 1 + 0.03 * np.random.default_rng(1).choice([-1, 1], (40, 12)) * np.linspace(1, 2, 12)
    old, new = np.full((40, 12), 10_000.0), np.full((40, 12), 10_000.0) * ups_and_downs
    new[6] = old[6] * (1 + np.array([-0.02, -0.01, -0.003, *np.linspace(0.03, 0.045, 9)]))
    gate = Policy(gate=(RowFilter(payload_bytes=112), RowFilter(payload_bytes=128)))

    without, within = ({row.key.payload_bytes: row for row in compared(old, new, policy).rows} for policy in (Policy(), gate))

    assert (without[112].verdict, within[112].verdict) == ("inconclusive", "worse")
    assert (within[112].p_adjusted or 1) < 0.05 < (without[112].p_adjusted or 0)
    assert {size for size, row in within.items() if "gated" in row.flags} == {112, 128}
    assert without[16].verdict == within[16].verdict == "inconclusive"


@pytest.mark.parametrize("others", [(), (RowFilter(payload_bytes=16),)], ids=["alone", "beside one that was tested"])
def test_gate_without_a_tested_row_never_succeeds(compared: Compared, noise: Floats, others: tuple[RowFilter, ...]) -> None:
    report = compared(noise[0], noise[1], Policy(gate=(RowFilter(transport="carrier pigeon"), *others)))

    assert report.warnings == (ComparisonWarning("gate_empty"),)
    assert report.counts["no_change"] + report.counts["inconclusive"] == 4
    assert exit_code(report, ()) == 4


def in_short_runs(pairs: int, short: dict[int, int], statistic: str = "p99", short_old: Mapping[int, int] = MappingProxyType({})) -> Comparison:
    """Return a comparison in which some runs are short, so that they have only few samples.

    ``short`` contains the short runs of the new side: the number of each run, and the samples of this run. ``short_old`` contains the same for the
    old side.
    """
    values = 10_000 * np.exp(0.01 * np.random.default_rng(3).standard_normal((2, 1, pairs)))
    old, new = make_pairs(values[0], values[1] * 1.2, statistic=statistic, samples=20_000)
    old, new = (
        msgspec.structs.replace(side, results=side.results.assign(samples=pd.array([few.get(run, 20_000) for run in range(pairs)], "Int64")))
        for side, few in ((old, short_old), (new, short))
    )
    return compare(old, new, Policy())


@pytest.mark.parametrize("pairs", [7, 9, 12])
def test_run_with_too_few_samples_is_named_and_left_out_and_the_other_runs_are_judged(pairs: int) -> None:
    report = in_short_runs(pairs, {3: 9_070})

    row = only(report)
    assert row.verdict == "worse"
    assert row.short_runs == (ShortRun("new", "run-3", 9_070, 10_000),)
    assert row.new is not None
    assert (row.new.runs, len(row.new.values), row.new.samples) == (pairs - 1, pairs - 1, 20_000)
    assert "left out, because p99 needs 10,000 samples in a run: new run-3 (9,070)" in remark(row)


def test_additional_runs_with_too_few_samples_never_remove_a_verdict() -> None:
    verdicts = {count: only(in_short_runs(6 + count, {6 + run: 500 for run in range(count)})).verdict for count in range(5)}

    assert set(verdicts.values()) == {"worse"}


def test_row_with_too_few_remaining_runs_states_the_samples_that_each_run_needs() -> None:
    row = only(in_short_runs(6, {3: 9_070}))

    assert (row.verdict, row.reasons, row.short_runs) == ("insufficient", ("undersampled",), ())
    words = "too few samples for a verdict: p99 needs 10,000 in each of 6 runs a side; the run with the fewest has 9,070"
    assert words in remark(row)


def test_short_runs_are_not_left_out_if_one_side_would_have_too_few_runs() -> None:
    row = only(in_short_runs(9, dict.fromkeys(range(5), 500), short_old={3: 9_070}))

    assert (row.verdict, row.reasons, row.short_runs) == ("insufficient", ("undersampled",), ())
    assert row.old is not None
    assert row.new is not None
    assert (row.old.runs, row.new.runs) == (9, 9)


def test_run_with_few_samples_is_used_for_a_median() -> None:
    row = only(in_short_runs(7, {3: 100}, "p50"))

    assert (row.verdict, row.short_runs, row.old.runs if row.old else 0) == ("worse", (), 7)


def test_run_with_only_two_samples_is_left_out_of_a_median() -> None:
    row = only(in_short_runs(7, {3: 2}, "p50"))

    assert (row.verdict, row.short_runs) == ("worse", (ShortRun("new", "run-3", 2, 20),))
