"""Requirements: the file of requirements, the interval of a median, the verdicts, and the command `tacholog require`."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from tests.diff.conftest import NEW_TURNS, OLD_TURNS
from tests.diff.test_controls import CONTROLS, turns, with_controls
from tests.diff.test_simulations import iid

from tacholog.commands.require import rendered, require
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.requirements.file import UNITS, Requirement, read_requirements
from tacholog.compare.requirements.judge import check_bases, exit_code, judge
from tacholog.compare.requirements.result import RequirementReport
from tacholog.compare.row_values import attainable_confidence, median_interval, values_needed
from tacholog.compare.sides import of_release
from tacholog.errors import UnreadableInput
from tacholog.render.diff.words import change
from tacholog.render.requirements import badges
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import TABLES
from tacholog.store.frames import Dataset, frame
from tacholog.view.requirements import judged_releases, newest
from tacholog.view.results import runs

Side = Callable[..., Dataset]
P50 = '[[require]]\nmetric = "latency"\nstatistic = "p50"\n'
GOOD = [4100.0, 4300.0, 4200.0, 4600.0, 4000.0, 4400.0]


def no_base(name: str) -> Dataset:
    raise AssertionError(name)


def judged(folder: Path, text: str, data: Dataset, base: Callable[[str], Dataset] = no_base, than: str | None = None) -> RequirementReport:
    (folder / "requirements.toml").write_text(text, encoding="utf-8")
    return judge(data, read_requirements(folder / "requirements.toml"), base, than)


# --- The interval


@pytest.mark.parametrize("count", [6, 7, 9, 12, 25])
@pytest.mark.parametrize("noise", ["normal", "heavy", "modes"])
def test_interval_contains_the_median_with_the_stated_confidence(count: int, noise: str) -> None:
    generator = np.random.default_rng(count)
    draws = generator.standard_t(2, (4000, count)) if noise == "heavy" else generator.standard_normal((4000, count))
    if noise == "modes":
        draws += 20 * np.sign(generator.standard_normal((4000, count)))  # The true median of each draw is 0.

    found = [median_interval(list(row), 0.95) for row in draws]

    held = float(np.mean([one is not None and one.low <= 0 <= one.high for one in found]))
    assert found[0] is not None
    assert found[0].confidence >= 0.95
    assert held == pytest.approx(found[0].confidence, abs=3 * np.sqrt(0.05 * 0.95 / 4000))


def test_six_runs_give_an_interval_of_96_9_percent_and_five_runs_give_no_interval() -> None:
    assert median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0], 0.95) == (1.0, 6.0, 1 - 2 / 64)
    assert median_interval([3.0, 1.0, 2.0, 6.0, 5.0], 0.95) is None
    assert attainable_confidence(5) == 1 - 2 / 32
    assert values_needed(0.95) == 6


def test_interval_of_five_thousand_runs_can_be_computed() -> None:
    found = median_interval([float(value) for value in range(1, 5001)], 0.95)

    assert found is not None
    assert 2400 < found.low < median(range(1, 5001)) < found.high < 2600
    assert 0.95 <= found.confidence < 0.952


# --- Loss


@pytest.mark.parametrize(
    ("limit", "lost", "verdict"),
    [
        (0, [0.0] * 12, "passed"),
        (0, [0.0] * 11 + [0.3], "undecided"),  # The interval of the median does not contain the largest value. But the mean is above the limit.
        (1, [0.0] * 11 + [0.3], "undecided"),  # The mean loss is 2.5 %.
        (5, [0.0] * 11 + [0.3], "passed"),
        (0, [0.01] * 12, "failed"),
    ],
)
def test_loss_is_undecided_if_its_mean_exceeds_the_limit_but_its_median_does_not(
    limit: float, lost: list[float], verdict: str, side: Side, tmp_path: Path
) -> None:
    data = side(np.array([lost]), metric="loss", statistic="total", unit="ratio", test="throughput", basis=None)
    report = judged(tmp_path, f'[[require]]\nmetric = "loss"\nstatistic = "total"\nmax = {limit}\nunit = "%"\n', data)

    assert [one.verdict for one in report.results] == [verdict]
    assert exit_code(report) == {"passed": 0, "failed": 3, "undecided": 4}[verdict]
    if verdict == "undecided":
        assert "some lost so much that the mean of all is beyond it" in " ".join(rendered("text", report).split())


# --- The file


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[require]\n", "requirements.toml: Unclosed|requirements.toml: .*line 1"),
        ("", r"requirements.toml: the file contains no \[\[require\]\]"),
        ("\nrequires = 1\n", r"requirements.toml:2: unknown key 'requires'"),
        ('[require]\nmetric = "latency"\n', r"requirements.toml:1: require: write \[\[require\]\]"),
        (
            '\n[[require]]\nmetric = "latncy"\nstatistic = "p50"\nmax = 1\nunit = "us"\n',
            r"requirements.toml:2: metric: 'latncy' is unknown; use one of latency",
        ),
        (f"{P50}max = 5\n", "requirements.toml:1: unit: it is missing; the units of latency are ns, us"),
        (f'{P50}max = 5\nunit = "parsec"\n', "requirements.toml:1: unit: 'parsec' is not a unit of latency"),
        (
            f'{P50}max = 5\nunit = "us"\n\n{P50}unit = "us"\n',
            "requirements.toml:7: a requirement states one of max, min and max_worse_percent; it states none",
        ),
        (f'{P50}max = 5\nmin = 1\nunit = "us"\n', "requirements.toml:1: a requirement states one of .* it states max, min"),
        (f'{P50}max = nan\nunit = "us"\n', "requirements.toml:1: max: the limit must be a number of at least 0"),
        (f'{P50}max = -1\nunit = "us"\n', "requirements.toml:1: max: the limit must be a number of at least 0"),
        (f'{P50}max = inf\nunit = "us"\n', "requirements.toml:1: max: the limit must be a number"),
        (f'{P50}max = "5"\nunit = "us"\n', "requirements.toml:1: Expected a number, got a?.*text"),
        (f'{P50}maximum = 5\nunit = "us"\n', r"requirements.toml:1: Object contains unknown field `maximum`"),
        (f'{P50}max = 5\nunit = "us"\nsize = "1 kib"\n', "requirements.toml:1: size: '1 kib' is not a size"),
        (f'{P50}max = 5\nunit = "us"\nsize = "{"9" * 400} KiB"\n', "requirements.toml:1: size: '9+ KiB' is not a size"),
        (f'{P50}max = 5\nunit = "us"\nsize = "9223372036854775808 B"\n', "requirements.toml:1: size: '9223372036854775808 B' is not a size"),
        (f'{P50}max = 5\nunit = "us"\nsize = 64\npayload_bytes = 64\n', "requirements.toml:1: size, payload_bytes: state one of them"),
        (f'{P50}max = 5\nunit = "us"\nconfidence = 1.0\n', "requirements.toml:1: Expected a number <= 0.999999"),
        (f'{P50}max = 5\nunit = "us"\nthan = "1.0"\n', "requirements.toml:1: than: use it only with max_worse_percent"),
        (
            f"{P50}max_worse_percent = 5\nconfidence = 0.9\n",
            "requirements.toml:1: confidence: with max_worse_percent, the confidence is always 0.95, as in tacholog diff",
        ),
        ('[[require]]\nmetric = "loss"\nstatistic = "total"\nmax_worse_percent = 5\n', "requirements.toml:1: metric: most runs lose nothing"),
        ('[[require]]\nmetric = "latency"\nstatistic = "p5O"\nmax = 5\nunit = "us"\n', "requirements.toml:1: statistic: 'p5O' is not a statistic"),
        ('[[gate]]\ntransports = "shm"\n', "requirements.toml:1: Object contains unknown field `transports`"),
    ],
)
def test_error_in_the_requirements_file_is_reported_with_its_line(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "requirements.toml"
    path.write_text(text)

    with pytest.raises(UnreadableInput, match=complaint):
        read_requirements(path)


def test_each_metric_has_units() -> None:
    assert {metric.unit for metric in METRICS.values()} == set(UNITS)


# --- The verdicts


def test_each_row_that_a_requirement_selects_must_pass(side: Side, tmp_path: Path) -> None:
    data = side(np.array([GOOD, [value * 2 for value in GOOD]]))

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', data).results

    assert (result.verdict, [(row.key.payload_bytes, row.verdict) for row in result.rows]) == ("failed", [(32, "failed"), (16, "passed")])


def test_requirement_with_a_size_or_a_label_applies_only_to_matching_rows(side: Side, tmp_path: Path) -> None:
    labels = ['{"plugin": "flannel"}'] * 6 + ['{"plugin": "cilium"}'] * 6
    data = side(np.array([[*GOOD, *(value * 2 for value in GOOD)]]), labels=labels)

    (flannel,) = judged(tmp_path, f'{P50}label.plugin = "flannel"\nmax = 5\nunit = "us"\n', data).results
    (both,) = judged(tmp_path, f'{P50}size = 16\nmax = 5\nunit = "us"\n', data).results
    (none,) = judged(tmp_path, f'{P50}label.plugin = "calico"\nmax = 5\nunit = "us"\n', data).results

    assert (flannel.verdict, len(flannel.rows)) == ("passed", 1)
    assert (both.verdict, len(both.rows)) == ("failed", 2)
    assert none.hint == "nothing has label.plugin = calico; there is cilium, flannel"


def test_runs_on_two_machines_become_two_rows(side: Side, other_host: Host, tmp_path: Path) -> None:
    one, two = side(np.array([GOOD[:3]])), side(np.array([GOOD[3:]]), host=other_host)
    runs = two.runs.assign(run=two.runs["run"] + "-b", host="other")
    both = msgspec.structs.replace(
        one,
        runs=pd.concat([one.runs, runs]),
        results=pd.concat([one.results, two.results.assign(run=two.results["run"] + "-b")]),
        hosts={**one.hosts, "other": other_host},
    )

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', both).results

    assert [(row.runs, row.reasons) for row in result.rows] == [(3, ("few_runs",))] * 2


def test_sessions_are_judged_instead_of_their_runs_if_there_are_enough_sessions(side: Side, tmp_path: Path) -> None:
    sessions = [f"day-{day}" for day in range(6) for _ in range(3)]
    values = [value + run for value in GOOD for run in (-10.0, 0.0, 10.0)]

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', side(np.array([values]), session=sessions)).results

    (row,) = result.rows
    assert (row.over, row.sessions, row.interval) == ("sessions", 6, (4000.0, 4600.0))


@pytest.mark.parametrize("sessions", [1, 6, 12])
def test_requirement_whose_limit_is_the_true_value_rarely_gets_a_verdict(sessions: int, side: Side, tmp_path: Path) -> None:
    generator = np.random.default_rng(sessions)
    # With one session, the runs are judged and not the sessions.
    effect = 0.02 * generator.standard_normal((600, sessions)) if sessions > 1 else np.zeros((600, 1))
    logs = np.repeat(effect, 12 // sessions, axis=1) + 0.02 * generator.standard_normal((600, 12))
    names = [f"day-{day}" for day in range(sessions) for _ in range(12 // sessions)]

    (result,) = judged(tmp_path, f'{P50}max = 10\nunit = "us"\n', side(10_000 * np.exp(logs), session=names)).results

    found = [row.verdict for row in result.rows]
    assert len(found) == 600
    for verdict in ("failed", "passed"):
        assert found.count(verdict) <= 600 * 0.025 + 3 * np.sqrt(600 * 0.025)


def test_failed_run_or_loss_leaves_a_requirement_undecided(side: Side, tmp_path: Path) -> None:
    rule = '[[require]]\nmetric = "goodput"\nstatistic = "mean"\nmin = 1\nunit = "Gbit/s"\n'
    stated = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}
    values = np.full((1, 6), 9e9)

    verdicts = [judged(tmp_path, rule, side(values, marks=marks, **stated)).results[0] for marks in ((), ("loss",), ("run_failed",))]

    assert [result.verdict for result in verdicts] == ["passed", "undecided", "undecided"]
    assert [result.rows[0].reasons for result in verdicts[1:]] == [("lossy",), ("marked", "run_failed")]


def test_failed_runs_without_a_value_are_named(side: Side, tmp_path: Path) -> None:
    ends = ["ok"] * 6 + ["failed"]
    data = side(np.array([[*GOOD, 4000.0]]), status=ends)
    data = msgspec.structs.replace(data, results=data.results[data.results["run"] != "run-6"])

    report = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', data)

    assert [(run.run, run.status) for run in report.lost] == [("run-6", "failed")]
    assert "1 run did not end well" in rendered("text", report)


# --- Comparison with another release


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "passed"), (1.2, "failed"), (1.05, "undecided"), (0.5, "passed")])
def test_relative_requirement_is_judged_by_the_interval_of_the_diff(
    factor: float, verdict: str, side: Side, noise: NDArray[np.float64], tmp_path: Path
) -> None:
    old, new = side(noise[0][:1], OLD_TURNS), side(noise[1][:1] * factor, NEW_TURNS)

    report = judged(tmp_path, f'{P50}than = "1.0"\nmax_worse_percent = 5\n', new, lambda name: {"1.0": old}[name])

    (row,) = report.results[0].rows
    assert (report.results[0].verdict, row.over) == (verdict, "pairs")
    assert row.worse == pytest.approx(factor - 1, abs=0.02)


def test_require_and_diff_state_the_same_percentage_for_a_worse_rate(side: Side, tmp_path: Path) -> None:
    """An earlier version stated two percentages for a rate with the ratio x0.88: diff 12 % worse, require 14 % worse."""
    stated = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}
    values = np.full((1, 12), 1e9) + np.arange(12) * 1e4
    old, new = side(values, OLD_TURNS, **stated), side(values * 0.88, NEW_TURNS, **stated)
    rule = '[[require]]\nmetric = "goodput"\nstatistic = "mean"\nmax_worse_percent = {limit}\n'

    report = judged(tmp_path, rule.format(limit=5), new, lambda _: old, "main")
    (row,) = compare(old, new, Policy()).rows

    assert change(row).replace("\u00a0", " ").startswith("12 % worse")
    assert "12 % worse" in rendered("text", report).replace("\u00a0", " ")
    assert report.results[0].rows[0].worse == pytest.approx(0.12)
    # A change of 12 % passes a limit of 13 %, and fails a limit of 11 %.
    verdicts = [judged(tmp_path, rule.format(limit=limit), new, lambda _: old, "main").results[0].verdict for limit in (13, 11)]
    assert verdicts == ["passed", "failed"]


def test_gate_and_verdict_of_diff_have_the_same_limit_for_a_rate(side: Side, tmp_path: Path) -> None:
    """For a rate, a threshold of 3 % means the factor 1/1.03. So a row is worse if its rate is more than 2.91 % lower. Here it is 2.95 % lower."""
    stated = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}
    values = np.full((1, 12), 1e9) + np.arange(12) * 1e4
    old, new = side(values, OLD_TURNS, **stated), side(values * 0.9705, NEW_TURNS, **stated)

    report = judged(tmp_path, '[[gate]]\nmetric = "goodput"\n', new, lambda _: old, "main")

    (row,) = report.results[0].rows
    assert [one.verdict for one in compare(old, new, Policy()).rows] == ["worse"]
    assert row.verdict == "failed"
    assert row.limit == pytest.approx(0.0291, abs=1e-4)


def test_lower_throughput_is_worse(side: Side, tmp_path: Path, noise: NDArray[np.float64]) -> None:
    stated = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}
    old, new = side(noise[0][:1], OLD_TURNS, **stated), side(noise[1][:1] * 0.8, NEW_TURNS, **stated)
    rule = '[[require]]\nmetric = "goodput"\nstatistic = "mean"\nmax_worse_percent = 5\n'

    report = judged(tmp_path, rule, new, lambda _: old, "main")

    assert report.results[0].verdict == "failed"
    assert report.results[0].rows[0].worse == pytest.approx(0.2, abs=0.02)


def test_sides_that_are_not_interleaved_are_undecided(side: Side, noise: NDArray[np.float64], tmp_path: Path) -> None:
    old, new = side(noise[0][:1], list(range(12))), side(noise[1][:1], list(range(100, 112)))

    report = judged(tmp_path, f"{P50}max_worse_percent = 5\n", new, lambda _: old, "main")

    assert report.results[0].verdict == "undecided"
    assert report.results[0].rows[0].reasons == ("order_confounded",)


def test_limit_of_an_old_gate_table_is_the_threshold_of_tacholog_diff(side: Side, noise: NDArray[np.float64], tmp_path: Path) -> None:
    old, new = side(noise[0][:2], OLD_TURNS), side(noise[1][:2] * np.array([[1.0], [1.2]]), NEW_TURNS)

    report = judged(tmp_path, '[[gate]]\ntransport = "shm"\nstatistic = "p50"\n', new, lambda _: old, "main")

    assert sorted(row.verdict for row in report.results[0].rows) == ["failed", "passed"]
    assert [row.limit for row in report.results[0].rows] == pytest.approx([0.03, 0.03])


def test_relative_requirement_without_a_release_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "requirements.toml").write_text(f"{P50}max_worse_percent = 5\n")
    file = read_requirements(tmp_path / "requirements.toml")

    with pytest.raises(UnreadableInput, match=r"requirements.toml:1: than: the release to compare with is missing; state it here or with --than"):
        check_bases(file, None)
    check_bases(file, "main")


# --- Releases


def test_only_the_newest_release_is_judged_and_the_history_contains_each_release(side: Side, tmp_path: Path) -> None:
    data = side(np.array([[*(value * 2 for value in GOOD), *GOOD]]), list(range(12)), release=["0.9"] * 6 + ["0.10"] * 6)
    (tmp_path / "requirements.toml").write_text(f'{P50}max = 5\nunit = "us"\n')
    file = read_requirements(tmp_path / "requirements.toml")

    report = judge(newest(data), file, no_base)
    judged = judged_releases(runs(data).values(), lambda system, release: judge(of_release(data, release, system), file, no_base))
    history = [(one.release, one.report.results[0].verdict) for one in judged]

    assert (report.releases, report.results[0].verdict) == (("0.10",), "passed")
    assert history == [("0.9", "failed"), ("0.10", "passed")]


def test_reference_release_is_judged_if_there_is_no_other_release(tmp_path: Path, checkout: Path) -> None:
    shutil.copytree(checkout / "data/perftest/0.1.0/latency-shm", tmp_path / "data/latency-shm")
    (tmp_path / "requirements.toml").write_text(f'{P50}max = 50\nunit = "us"\nconfidence = 0.7\n{P50}max_worse_percent = 5\nthan = "0.1.0"\n')

    done = CliRunner().invoke(require, ["0.1.0", "--data", str(tmp_path / "data"), "--requirements", str(tmp_path / "requirements.toml")])

    assert "no numbers" not in done.output
    assert re.search(r"at most 50 µs .*runs in", done.output)
    assert re.search(r"at most 5 % worse than 0\.1\.0 .*these are the runs that the requirement compares with", done.output)
    assert done.exit_code == 4


# --- The output


RULES = "\n".join(f'{P50}{more}\nunit = "us"\n' for more in ('name = "fast"\nmax = 5', "max = 4.2", "max = 1", 'transport = "udp"\nmax = 1'))


def test_worst_result_comes_first_in_each_format(side: Side, tmp_path: Path) -> None:
    report = judged(tmp_path, RULES, side(np.array([GOOD])))

    text, markdown = rendered("text", report), rendered("markdown", report)

    assert [text.index(word) for word in ("FAILED", "NO SUCH ROW", "CANNOT BE TOLD", "PASSED")] == sorted(
        text.index(word) for word in ("FAILED", "NO SUCH ROW", "CANNOT BE TOLD", "PASSED")
    )
    assert "1 failed, 1 no such row, 1 cannot be told, 1 passed" in text
    assert "6 runs in 1 session, 96.9 % interval" in text
    assert "<details><summary>1 rows passed</summary>" in markdown
    assert json.loads(rendered("json", report))["counts"] == {"failed": 1, "missing": 1, "undecided": 1, "passed": 1}


def test_markdown_stays_short_for_any_number_of_rows(side: Side, tmp_path: Path) -> None:
    data = side(np.array([GOOD]) * np.linspace(0.5, 2, 60)[:, None])

    markdown = rendered("markdown", judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', data))

    assert len(markdown.splitlines()) <= 28
    assert "more rows" in markdown


def test_junit_counts_failures_errors_and_tolerated_results(side: Side, tmp_path: Path) -> None:
    report = judged(tmp_path, RULES, side(np.array([GOOD])))

    strict, tolerant = (ET.fromstring(rendered("junit", report, fail_on)) for fail_on in ((), ("failed",)))  # noqa: S314 - our own

    totals = ("tests", "failures", "errors", "skipped")
    assert [strict.get(name) for name in totals] == ["4", "1", "2", "0"]
    assert [tolerant.get(name) for name in totals] == ["4", "1", "0", "2"]
    assert len(strict.findall(".//failure")) == 1


def test_names_of_strangers_cannot_become_markup(side: Side, tmp_path: Path) -> None:
    name = "<script>|`x`\\u001b[31m"
    report = judged(tmp_path, f'{P50}name = "{name}"\nmax = 1\nunit = "us"\n', side(np.array([GOOD]), transport="<b>|x"))

    markdown, junit = rendered("markdown", report), rendered("junit", report)

    assert "<script>" not in markdown
    assert "<b>" not in markdown
    assert "\x1b" not in markdown + junit + "".join(badges(report).values())
    assert ET.fromstring(junit) is not None  # noqa: S314 - our own


def test_badge_states_the_result_of_a_requirement_in_words(side: Side, tmp_path: Path) -> None:
    report = judged(tmp_path, RULES, side(np.array([GOOD])))

    found = badges(report)

    assert {"requirements", "fast"} < set(found)
    assert len(found) == 5
    root = ET.fromstring(found["fast"])  # noqa: S314 - our own
    assert root.get("aria-label") == "fast: at most 5 \u00b5s: passed"


@pytest.mark.parametrize(
    ("rules", "fail_on", "code"),
    [
        (f'{P50}max = 5\nunit = "us"\n', (), 0),
        (f'{P50}max = 1\nunit = "us"\n', (), 3),
        (f'{P50}max = 4.2\nunit = "us"\n', (), 4),
        (f'{P50}transport = "udp"\nmax = 5\nunit = "us"\n', (), 4),
        (RULES, (), 3),
        (RULES, ("undecided",), 4),
        (f'{P50}max = 4.2\nunit = "us"\n', ("failed",), 0),
    ],
)
def test_exit_code_is_determined_by_the_worst_verdict(rules: str, fail_on: tuple[str, ...], code: int, side: Side, tmp_path: Path) -> None:
    assert exit_code(judged(tmp_path, rules, side(np.array([GOOD]))), fail_on) == code


# --- The command


def run(*arguments: object) -> Result:
    return CliRunner().invoke(require, [str(word) for word in arguments], catch_exceptions=False)


@pytest.fixture
def saved(side: Side, tmp_path: Path) -> Path:
    data = side(np.array([GOOD]))
    whole = {name: getattr(data, name).reindex(columns=list(TABLES[name])) if name in ("runs", "results") else frame(name, []) for name in TABLES}
    Dataset(**whole, hosts=data.hosts).save(tmp_path / "saved")
    return tmp_path / "saved"


def test_command_reads_a_saved_dataset_and_a_file_and_prints_the_verdicts(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f'{P50}max = 5\nunit = "us"\n\n{P50}max = 1\nunit = "us"\n')

    done = run(saved, "--requirements", tmp_path / "r.toml", "--badges", tmp_path / "badges")

    assert done.exit_code == 3
    assert "1 failed, 1 passed" in done.output
    assert (tmp_path / "badges" / "requirements.svg").read_text().startswith("<svg ")


def test_runs_without_a_release_are_counted_but_not_judged_if_other_runs_have_a_release(saved: Path, tmp_path: Path) -> None:
    runs = pd.read_parquet(saved / "runs.parquet")
    runs.assign(release=pd.Series(["1.0", "1.0", "1.0", "1.0", None, None], dtype="string")).to_parquet(saved / "runs.parquet")
    (tmp_path / "r.toml").write_text(f'{P50}max = 5\nunit = "us"\n')

    done = run(saved, "--requirements", tmp_path / "r.toml")

    assert "2 runs of Made-up middleware state no release, and are not judged" in done.stderr
    assert "too few runs: 6 are needed for 95 %, and they give 87.5 % at most; 4 runs in 1 session" in done.stdout


def test_message_about_a_missing_requirements_file_states_where_the_command_looked(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnreadableInput, match=r"no requirements.toml and no .*requirements.toml: name the file with --requirements"):
        run(saved, "--data", tmp_path)


def test_limit_on_the_command_line_is_judged_with_and_without_a_requirements_file(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f'{P50}max = 1\nunit = "us"\n')

    alone = run(saved, "--that", "p50 at 16 B < 5us", "--that", "p50 of latency > 1e-3 ms", "--format", "json")
    beside = run(saved, "--that", "p50 < 5us", "--requirements", tmp_path / "r.toml", "--format", "json")

    results = json.loads(alone.stdout)["results"]
    assert [(result["name"], result["verdict"], result["stated"]) for result in results] == [
        ("p50 at 16 B < 5us", "passed", "at most 5 \u00b5s"),
        ("p50 of latency > 1e-3 ms", "passed", "at least 0.001 ms"),
    ]
    assert (alone.exit_code, beside.exit_code) == (0, 3)
    assert json.loads(beside.stdout)["counts"] == {"failed": 1, "missing": 0, "undecided": 0, "passed": 1}


@pytest.mark.parametrize(
    ("limit", "complaint"),
    [
        ("p99 at 1KiB", "write STATISTIC [of METRIC] [at SIZE] < VALUE UNIT"),
        ("p99 = 3 us", "write STATISTIC [of METRIC] [at SIZE] < VALUE UNIT"),
        ("p99 1KiB < 3 us", "write STATISTIC [of METRIC] [at SIZE] < VALUE UNIT"),
        ("p99 < us", "write STATISTIC [of METRIC] [at SIZE] < VALUE UNIT"),
        ("p99 < 20", "unit: it is missing; the units of latency are ns, us"),
        ("mean of goodput > 20 us", "unit: 'us' is not a unit of goodput; use one of bit/s"),
        ("p99 of moon < 20 us", "metric: 'moon' is unknown; use one of latency"),
        ("p99 at 1KiX < 20 us", "size: '1KiX' is not a size"),
        ("tail < 20 us", "statistic: 'tail' is not a statistic"),
    ],
)
def test_message_about_an_invalid_limit_states_the_expected_form(limit: str, complaint: str, saved: Path) -> None:
    with pytest.raises(UnreadableInput) as refused:
        run(saved, "--that", limit)

    assert str(refused.value).startswith(f"--that '{limit}': {complaint}")


# --- the examples of docs/requirements.md


PAGE = (Path(__file__).parent.parent.parent / "docs" / "requirements.md").read_text(encoding="utf-8")
EXAMPLE_BLOCKS = re.findall(r"^### (.+?)$.+?^```toml\n(.+?)^```.+?^```example\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = {title: (rule, tomllib.loads(said)) for title, rule, said in EXAMPLE_BLOCKS}
LOSS = {"metric": "loss", "unit": "ratio", "test": "throughput", "basis": None}


@pytest.mark.parametrize("title", EXAMPLES)
def test_example_of_the_documentation_has_the_stated_result(title: str, side: Side, tmp_path: Path) -> None:
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


def test_example_file_on_the_page_is_valid(tmp_path: Path) -> None:
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


# --- controls, and a host that changed


PAIRS = 12
RELATIVE = f"{P50}max_worse_percent = 5\n"


def sides(slower: float, host: float, seed: int = 1) -> list[Dataset]:
    """Return an old and a new side, with one measured row and several controls.

    The host makes all new runs slower, by the share ``host``. The new release makes only the measured row slower, by the further share ``slower``.
    """
    values = iid(np.random.default_rng(seed), (2, 1 + CONTROLS, PAIRS)) / 2
    values[1] += np.log1p(host)
    values[1, 0] += np.log1p(slower)
    return [with_controls(level[:1], level[1:], places) for level, places in zip(4_000 * np.exp(values), turns(PAIRS), strict=True)]


def test_limit_does_not_apply_to_controls(tmp_path: Path) -> None:
    runs = sides(0.0, 0.0)[0]
    runs.results.loc[runs.results["run"].str.startswith("control/"), "value"] *= 10

    (result,) = judged(tmp_path, f'{P50}max = 5\nunit = "us"\n', runs).results

    assert (result.verdict, [row.key.transport for row in result.rows]) == ("passed", ["shm"])


def test_requirement_with_the_label_of_controls_applies_to_controls(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, f'{P50}label.control = "yes"\nmax = 5\nunit = "us"\n', sides(0.0, 0.0)[0]).results

    assert (result.verdict, {row.key.transport for row in result.rows}, len(result.rows)) == ("passed", {"inter-thread"}, CONTROLS)


@pytest.mark.parametrize(
    ("slower", "host", "verdict", "reasons"),
    [
        (0.2, 0.0, "failed", ()),
        (0.0, 0.2, "undecided", ("host_changed",)),
        (0.5, 0.1, "failed", ()),  # The row slowed down more than the host.
        (0.0, 0.0, "passed", ()),
        (0.1, -0.2, "undecided", ("host_changed",)),  # The row looks faster, because all controls are faster.
        (-0.5, -0.1, "passed", ()),
    ],
)
def test_relative_requirement_is_undecided_if_a_change_of_the_host_explains_the_result(
    slower: float, host: float, verdict: str, reasons: tuple[str, ...], tmp_path: Path
) -> None:
    old, new = sides(slower, host)

    report = judged(tmp_path, RELATIVE, new, lambda _: old, "main")

    (row,) = report.results[0].rows
    assert (row.verdict, row.reasons) == (verdict, reasons)
    assert ("the host changed, and that may explain it" in rendered("text", report)) == (verdict == "undecided")


def test_gate_is_undecided_if_a_change_of_the_host_explains_the_result(tmp_path: Path) -> None:
    old, new = sides(0.0, 0.2)

    report = judged(tmp_path, '[[gate]]\ntransport = "shm"\nstatistic = "p50"\n', new, lambda _: old, "main")

    assert [(row.verdict, row.reasons) for row in report.results[0].rows] == [("undecided", ("host_changed",))]
