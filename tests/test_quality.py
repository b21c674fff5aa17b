"""Each plausibility rule marks the right numbers and no others."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacholog.formats.reading import Event
from tacholog.schema.conditions import Conditions, DataPath, Touched
from tacholog.schema.marks import marks_of
from tacholog.schema.records import Number, Record
from tacholog.store.columns import ColumnBuilder, Columns, Shape
from tacholog.store.load import load
from tacholog.store.quality import RunContext, judge

LOGS = Path(__file__).parent / "formats"
CLOSED = Conditions(load_mode="closed", basis="rtt/2", definition="rti-one-way", planned_duration_s=20.0)


def latency(samples: int | None = None, **values_ns: float) -> Record:
    """Return a record with these latencies. Each keyword is the name of a statistic, such as ``p99_99`` for p99.99."""
    numbers = tuple(Number(metric="latency", statistic=name.replace("_", "."), value=value) for name, value in values_ns.items())
    return Record(test="latency", payload_bytes=64, numbers=numbers, samples=samples)


def throughput(goodput: float = 1e9, received: float = 1000, lost: float = 0) -> Record:
    values = {("goodput", "mean"): goodput, ("messages_received", "total"): received, ("messages_lost", "total"): lost}
    values["loss", "total"] = lost / (received + lost)
    numbers = tuple(Number(metric=metric, statistic=statistic, value=value) for (metric, statistic), value in values.items())
    return Record(test="throughput", payload_bytes=64, numbers=numbers)


def marked(
    record: Record,
    conditions: Conditions = Conditions(),  # noqa: B008
    run: RunContext = RunContext(),  # noqa: B008
    others: Sequence[Record] = (),
) -> dict[str, tuple[str, ...]]:
    """Return the marks of a record's numbers. Numbers without marks are left out.

    If a number is a latency, its key is the statistic. Otherwise, its key is the metric.
    """
    builder = ColumnBuilder()
    for line, one in enumerate((record, *others), start=1):
        builder.add(Event(line, line, (line,), "", "record", one), one)
    shapes, names, *words = builder.finish()
    columns = Columns([Shape(shape.scope, shape.test, shape.side, shape.participant, conditions) for shape in shapes], names, *words)
    one_run = np.zeros(len(columns.records.line), dtype=np.int64)
    judge(columns, [run], one_run, one_run)
    count = len(record.numbers)
    found = zip(record.numbers, columns.numbers.marks[:count].tolist(), strict=True)
    return {n.statistic if n.metric == "latency" else n.metric: marks_of(bits) for n, bits in found if bits}


@pytest.mark.parametrize(("samples", "expected"), [(99_999, {"p99.99": ("undersampled",)}), (100_000, {})])
def test_percentile_with_fewer_than_ten_samples_beyond_its_value_is_marked(samples: int, expected: dict[str, tuple[str, ...]]) -> None:
    assert marked(latency(samples, p99=5, p99_99=6)) == expected


@pytest.mark.parametrize(
    ("load", "processors", "expected"), [(2.4, 2, {}), (2.6, 2, {"p50": ("busy_machine",)}), (12.0, 64, {}), (12.0, None, {}), (None, 2, {})]
)
def test_machine_is_busy_if_other_programs_use_more_than_a_quarter_of_its_processors(
    load: float | None, processors: float | None, expected: dict[str, tuple[str, ...]]
) -> None:
    assert marked(latency(10**9, p50=20), run=RunContext(load=load, processors=processors)) == expected


@pytest.mark.parametrize(
    ("data_path", "touched", "expected"),
    [("zero-copy", None, ("reference_only",)), ("pointer", "none", ("reference_only",)), ("zero-copy", "write+read", None), ("copy", None, None)],
)
def test_zero_copy_latency_is_marked_unless_the_payload_was_touched(
    data_path: DataPath, touched: Touched | None, expected: tuple[str, ...] | None
) -> None:
    assert marked(latency(p50=3000), Conditions(data_path=data_path, payload_touched=touched)).get("p50") == expected


def test_closed_loop_cannot_have_more_samples_than_round_trips_in_its_duration() -> None:
    assert "p99.99" not in marked(latency(mean=100_000, p99_99=200_000), CLOSED)
    assert "p99.99" in marked(latency(mean=101_000, p99_99=200_000), CLOSED)


@pytest.mark.parametrize(("received", "lost", "expected"), [(9_990_000, 0, {}), (5_000_000, 4_989_999, {"p99": ("undersampled",)})])
def test_number_of_latency_samples_is_limited_by_the_number_of_messages_of_the_same_size(
    received: float, lost: float, expected: dict[str, tuple[str, ...]]
) -> None:
    """One of 10,000 messages is a sample. So 9,990,000 messages give at most 1000 samples, of which ten are beyond p99.

    Messages of another size do not count.
    """
    other = msgspec.structs.replace(throughput(received=1e9), payload_bytes=128)
    found = marked(
        latency(mean=5, p99=7), run=RunContext(messages_per_latency_sample=10_000), others=[throughput(received=received, lost=lost), other]
    )

    assert found == expected


def test_sample_count_of_a_throughput_test_of_rti_perftest_follows_from_its_two_logs(tmp_path: Path) -> None:
    """The log of the publisher states "1 latency sample every 10000 samples". The log of the subscriber states "Packets:  1420059".

    So there are at most 143 samples.
    """
    names = ("3.0.1-throughput-pub.log", "3.0.1-throughput-sub.log")
    for name in names:
        shutil.copy(LOGS / "rti" / name, tmp_path)
    entries = "".join(f'[[logs]]\nfile = "{name}"\nsha256 = "{hashlib.sha256((LOGS / "rti" / name).read_bytes()).hexdigest()}"\n' for name in names)
    (tmp_path / "run.toml").write_text(f'schema = 1\nsystem = "RTI Connext DDS"\nnotes = []\n{entries}')

    results = load([tmp_path]).results

    few = results[[("undersampled" in marks) for marks in results["marks"]]]
    assert set(few["log"]) == {names[0]}
    assert list(few["statistic"]) == ["p99", "p99.99", "p99.9999"]


def test_record_without_samples_and_without_a_load_mode_has_no_mark() -> None:
    assert marked(latency(mean=101_000, p99_9999=200_000)) == {}


def test_timeout_artefact_in_the_maximum_marks_maximum_and_mean() -> None:
    found = marked(latency(mean=39_000, p50=30_000, max=100_057_000), Conditions(definition="rti-one-way"))

    assert found == {"mean": ("timeout_artefact",), "max": ("timeout_artefact",)}


def test_time_out_of_one_tool_is_not_assumed_for_another_tool() -> None:
    assert marked(latency(max=100_057_000), Conditions(definition="perftest-rtt")) == {}


def test_two_statistics_in_the_wrong_order_are_marked_and_no_other_statistic_is_marked() -> None:
    assert marked(latency(10**9, p50=20, p90=10, max=30)) == {"p50": ("out_of_order",), "p90": ("out_of_order",)}


def test_statistics_that_are_not_adjacent_can_also_be_in_the_wrong_order() -> None:
    assert marked(latency(10**9, p50=20, p90=10, max=15)).keys() == {"p50", "p90", "max"}


def printed_ns(**cells: tuple[float, float | None]) -> Record:
    """Return a record with latencies as a tool printed them.

    Each keyword is the name of a statistic, such as ``p99_9`` for p99.9. Its argument is the value and the resolution, in nanoseconds.
    """
    numbers = (
        Number(metric="latency", statistic=name.replace("_", "."), value=value, resolution=resolution) for name, (value, resolution) in cells.items()
    )
    return Record(test="latency", payload_bytes=64, numbers=tuple(numbers), samples=10**9)


def test_percentile_may_be_above_the_maximum_if_it_was_rounded_up() -> None:
    assert marked(printed_ns(p50=(610e6, 10e6), p99_9=(1420e6, 10e6), max=(1416.192e6, 1e3))) == {}


def test_percentile_above_the_maximum_is_out_of_order_if_rounding_cannot_explain_the_difference() -> None:
    assert marked(printed_ns(p50=(610e6, 10e6), p99_9=(1430e6, 10e6), max=(1416.192e6, 1e3))).keys() == {"p99.9", "max"}


def test_numbers_with_unknown_resolution_are_compared_unchanged() -> None:
    assert marked(printed_ns(p99=(11.0, None), max=(10.0, None))).keys() == {"p99", "max"}


def test_median_close_to_the_overhead_of_the_clock_is_marked() -> None:
    assert marked(latency(10**9, p50=599), run=RunContext(clock_overhead_ns=30.0)) == {"p50": ("clock_coarse",)}
    assert marked(latency(10**9, p50=600), run=RunContext(clock_overhead_ns=30.0)) == {}


@pytest.mark.parametrize(("touched", "expected"), [(None, ("no_bytes_moved",)), ("none", ("no_bytes_moved",)), ("write+read", None)])
def test_zero_copy_rate_is_marked_unless_the_payload_was_touched(touched: str | None, expected: tuple[str, ...] | None) -> None:
    conditions = Conditions(data_path="zero-copy", payload_touched=touched)  # type: ignore[arg-type]

    assert marked(throughput(), conditions).get("goodput") == expected


@pytest.mark.parametrize(("path", "best", "expected"), [(None, 1.01e12, ("no_bytes_moved",)), (None, 0.99e12, None), ("copy", 1.01e12, None)])
def test_rate_without_a_stated_data_path_is_marked_if_no_memory_is_so_fast(path: str | None, best: float, expected: tuple[str, ...] | None) -> None:
    conditions = Conditions(data_path=path)  # type: ignore[arg-type]

    assert marked(throughput(), conditions, others=[throughput(goodput=best)]).get("goodput") == expected


def test_loss_above_one_percent_is_marked() -> None:
    assert "loss" not in marked(throughput(received=990, lost=10))
    assert marked(throughput(received=989, lost=11))["loss"] == ("loss",)


@pytest.mark.parametrize("statistic", ["mean", "sum", "min"])
def test_high_loss_marks_all_rates_of_its_record_including_rates_of_all_subscribers(statistic: str) -> None:
    counts = throughput(received=711, lost=289)
    rates = tuple(Number(metric=metric, statistic=statistic, value=5.0) for metric in ("goodput", "message_rate"))
    aggregate = Record(test="throughput", payload_bytes=64, numbers=(*rates, *counts.numbers[1:]))

    found = marked(aggregate)
    assert (found["goodput"], found["message_rate"]) == (("loss",), ("loss",))


def test_offered_load_above_the_best_delivered_rate_is_marked() -> None:
    best = [throughput(goodput=9.9e9)]

    assert "messages_lost" in marked(throughput(goodput=9e9, received=800, lost=200), others=best)
    assert "messages_lost" not in marked(throughput(goodput=5e9, received=800, lost=200), others=best)


@pytest.mark.parametrize(("warmup", "mark"), [("fixed", "warmup_fixed"), ("not_steady", "not_steady"), ("steady", None)])
def test_numbers_are_marked_if_the_warm_up_was_fixed_or_not_steady(warmup: str, mark: str | None) -> None:
    found = marked(latency(10**9, p50=10_000), Conditions(warmup=warmup))

    assert found.get("p50") == ((mark,) if mark else None)


def test_each_figure_of_a_failed_run_is_marked() -> None:
    assert marked(latency(10**9, p50=10_000, p99=20_000), run=RunContext(failed=True)) == {"p50": ("run_failed",), "p99": ("run_failed",)}


@pytest.mark.parametrize(
    ("step", "resolution", "value", "expected"),
    [
        (1e6, 1e6, 9e6, {"p50": ("near_resolution",)}),
        (1e6, 1e6, 10e6, {}),
        (1e6, 1e3, 5e6, {}),  # Not marked: the value has a finer resolution than the clock of the run, so it was measured with another clock.
        (None, 1e6, 1e6, {}),
    ],
)
def test_latency_of_fewer_than_ten_steps_of_the_clock_is_marked(
    step: float | None, resolution: float, value: float, expected: dict[str, tuple[str, ...]]
) -> None:
    number = Number(metric="latency", statistic="p50", value=value, resolution=resolution)
    record = Record(test="latency", payload_bytes=64, numbers=(number,), samples=10**9)

    assert marked(record, run=RunContext(clock_resolution_ns=step)) == expected
