"""The definitions page: metrics, conditions, statistics, quality marks, columns of exported tables, and the definitions of each tool.

Every number on a page either links to its log line, or is in an element whose CSS class is a key of `STATISTICS`. A test checks this on a whole site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from tacholog.formats.registry import formats
from tacholog.render.html import Html, esc, join, tag
from tacholog.render.marks import in_order, mark_of
from tacholog.render.table import count_of, null, plain_table
from tacholog.runs.labels import label_fields, labels_of
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import OFFERED, title
from tacholog.view.names import SHOWN_CONDITIONS, condition_name, joined, words
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.ranking_groups import system_series
from tacholog.view.results import RunRow, conditions_among
from tacholog.view.series import TWO_GROUPS, may_have_groups
from tacholog.view.views import Selection, View, marked_of


def marks_table(view: View) -> Html:
    """Return a table of all marks, with the rule of each mark and the number of marked numbers."""
    of_sets = Counter[tuple[str, ...]]()
    for marked in marked_of(view).values():
        for (_, marks), count in marked.items():
            of_sets[marks] += count
    counts = Counter({name: sum(count for marks, count in of_sets.items() if name in marks) for name in MARKS})
    counts[TWO_GROUPS] = _in_two_groups(view, PageIndex()).total()
    rows = [[_mark_words(name), count_of(counts[name]), tag("span", mark.sentence, class_="stat-limit")] for name, mark in MARKS.items()]
    return _folded_on_a_phone("marks", plain_table("Quality marks", ("mark", "numbers", "why"), rows), len(rows))


def doubts_table(view: View, pages: PageIndex) -> Html:
    """Return a table of the marks in use, with the rule of each mark, the number of marked numbers, and the pages with such numbers."""
    counts_by_mark: dict[str, Counter[PagePart]] = {}
    for name, marked in marked_of(view).items():
        for (transport, marks), count in marked.items():
            part = _part_with(view.runs[name], transport, pages)
            for mark in marks:
                counts_by_mark.setdefault(mark, Counter())[part] += count
    if in_groups := _in_two_groups(view, pages):
        counts_by_mark[TWO_GROUPS] = in_groups
    if not counts_by_mark:
        return tag("p", "No number has a mark.")
    rows = [
        [_mark_words(name), count_of(counts.total()), tag("span", mark_of(name).sentence, class_="stat-limit"), _pages_with_counts(counts)]
        for name in in_order(counts_by_mark)
        for counts in [counts_by_mark[name]]
    ]
    return plain_table("Numbers with marks", ("mark", "numbers", "why", "where"), rows)


def _part_with(run: RunRow, transport: str | None, pages: PageIndex) -> PagePart:
    """Return the part of a page with the numbers of a run over a transport. Without such a page, the part has no document."""
    pair = (run.system or NOT_STATED, transport or NOT_STATED)
    return pages.part_with(*pair, run) or PagePart(Selection(system=pair[0], transport=pair[1]), "")


def _in_two_groups(view: View, pages: PageIndex) -> Counter[PagePart]:
    """Return how many numbers have the mark of two groups. They are counted here, because no single run has this mark."""
    counts: Counter[PagePart] = Counter()
    for member in system_series(view, pages):
        first = member.series.results[0]
        part = _part_with(first.run, first.conditions.transport, pages)
        for metric, statistic in (name for name in member.series.statistics() if may_have_groups(*name)):
            counts[part] += sum(len(cell.results) for cell in member.series.cells(metric, statistic).values() if cell.groups)
    return +counts


def _mark_words(name: str) -> Html:
    return join([tag("span", mark_of(name).sign, class_="tl-sign"), " ", mark_of(name).title])


def _pages_with_counts(counts: Counter[PagePart]) -> Html:
    by_system: dict[str, list[Html]] = {}
    for part, count in sorted(counts.items(), key=lambda item: (item[0].system, item[0].transport, item[0].others)):
        name = joined([("transport", part.transport), *part.others])
        named = tag("a", name, href=f"doc:{part.document}") if part.document else esc(name)
        by_system.setdefault(part.system, []).append(join([named, "\u00a0(", count_of(count), ")"]))
    return join([tag("div", f"{system}: ", tag("span", join(links, ", ")), class_="tl-wraps") for system, links in by_system.items()])


def metrics_table() -> Html:
    """Return all metrics with their units and the direction that is better."""
    better = {"lower": "lower is better", "higher": "higher is better", None: "neither"}
    rows = [[metric.words, tag("code", name), _unit_words(metric.unit), better[metric.better]] for name, metric in METRICS.items()]
    table = plain_table("Metrics", ("metric", "name in the data", "unit in the data", "direction"), rows)
    return _folded_on_a_phone("metrics", table, len(rows))


def conditions_table() -> Html:
    """Return all conditions of the schema and their meaning."""
    rows = [[title(name), tag("code", name), column.meaning] for name, column in CONDITIONS.items()]
    return _folded_on_a_phone("conditions", plain_table("Conditions", ("condition", "name in the data", "meaning"), rows), len(rows))


def statistics_table() -> Html:
    """Return a table of the kinds of numbers that are not values of runs."""
    rows = [[statistic.name, tag("code", name), statistic.sentence] for name, statistic in STATISTICS.items()]
    return _folded_on_a_phone("statistics", plain_table("Statistics", ("statistic", "class of its element", "meaning"), rows), len(rows))


def definitions_table() -> Html:
    """Return the definitions of metrics by tool: when the clock starts and stops, and what is counted."""
    rows = [
        [name, tag("code", definition), sentence]
        for name, format_ in sorted(formats().items())
        for definition, sentence in getattr(format_, "DEFINITIONS", {}).items()
    ]
    return _folded_on_a_phone("definitions", plain_table("Definitions by tool", ("format", "definition", "meaning"), rows), len(rows))


def shared_conditions(view: View) -> Html:
    """Return the conditions of a view. All values of a condition are listed if they differ. The label of a series then states its value."""
    all_conditions = conditions_among(view.summaries())
    pairs: list[tuple[str, object]] = []
    for name in (name for name in CONDITIONS if name in SHOWN_CONDITIONS):
        values = {getattr(conditions, name) for conditions in all_conditions}
        if len(values) > 1:
            stated_values = [*sorted({words(name, value) for value in values if value is not None}), *([NOT_STATED] if None in values else [])]
            pairs.append((title(name), tag("em", f"differs: {'; '.join(stated_values)}")))
        elif values:
            value = next(iter(values))
            pairs.append((title(name), words(name, value) if value is not None else null()))
    pairs += _labels_of_all(view)
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="tl-facts")


def _labels_of_all(view: View) -> Iterator[tuple[str, object]]:
    texts = dict.fromkeys(run.labels for run in view.runs.values())
    for field in label_fields(texts):
        values = {labels_of(text).get(field) for text in texts}
        stated_values = [*sorted(value for value in values if value is not None), *([NOT_STATED] if None in values else [])]
        yield condition_name(field), stated_values[0] if len(stated_values) == 1 else tag("em", f"differs: {'; '.join(stated_values)}")


def _unit_words(unit: str) -> str:
    return {"ratio": "share, 0 to 1"}.get(unit, unit.replace("_per_", "/").replace("_", " "))


def schema_table() -> Html:
    """Return a table of the columns of exported tables."""
    rows = [[tag("code", name), column.kind, _with_code(column.meaning)] for name, column in OFFERED.items()]
    table = plain_table("Columns", ("column", "kind", "meaning"), rows, class_="tl-compact")
    return _folded_on_a_phone("columns", table, len(rows))


def _folded_on_a_phone(name: str, table: Html, count: int) -> Html:
    """Phones fold the table, because it is several screens high there."""
    return tag("details", tag("summary", count_of(count), f" {name}"), table, class_="tl-long tl-folds-on-phone", open=True)


def _with_code(text: str) -> Html:
    return join(tag("code", piece) if index % 2 else piece for index, piece in enumerate(text.split("`")))


class NamedStatistic(msgspec.Struct, frozen=True):
    """A kind of numbers on pages, such as counts: its name, and a sentence on its meaning. Values of runs are not such numbers."""

    name: str
    sentence: str


# The keys are the CSS classes of the elements that contain the numbers.
STATISTICS: Mapping[str, NamedStatistic] = MappingProxyType(
    {
        "tl-range": NamedStatistic("range", "The lowest and the highest value of the runs behind a number. It links to the values of each run."),
        "stat-count": NamedStatistic("count", "A count of runs, numbers, messages, lines or rows."),
        "tl-runs": NamedStatistic("runs", "The number of runs behind a value, and the planned duration of each. It links to the values of each run."),
        "tl-of": NamedStatistic("runs of a group", "If the runs fall into two groups, the number of runs in this one."),
        "stat-cost": NamedStatistic(
            "cost of a message",
            "Processor time, context switches and memory, computed from what the kernel counted for both sides of each run: the median over runs.",
        ),
        "stat-median": NamedStatistic(
            "median of a comparison", "The median of the runs that were compared. If runs are paired, only paired runs count."
        ),
        "tl-ratio": NamedStatistic(
            "ratio to the baseline", "A number divided by that of the baseline at the same size; or the number of sizes behind a mean ratio."
        ),
        "stat-mean-ratio": NamedStatistic("mean ratio", "The geometric mean of the ratios to the baseline over the sizes."),
        "stat-ratio": NamedStatistic(
            "ratio", "New divided by old. If runs are paired, it is estimated from the pairs, and may differ from the ratio of the medians beside it."
        ),
        "stat-interval": NamedStatistic("interval", "The range of the true ratio: with 95 % confidence, or as far as rounded values allow."),
        "stat-evidence": NamedStatistic(
            "evidence",
            "The basis of a verdict: change in percent, pairs and runs, p-value, threshold, smallest detectable change, and conditions that differ.",
        ),
        "stat-percentile": NamedStatistic("percentile", "Which percentile a number is: 99 % of the messages took at most this long."),
        "tl-answer": NamedStatistic("answer", "The answer to a question in words. Its numbers are those of the table below it, or follow from them."),
        "tl-answer-notes": NamedStatistic(
            "what an answer leaves out", "Values of conditions that an answer does not show, and how many runs have them."
        ),
        "tl-tests": NamedStatistic(
            "test of an answer",
            "The best of a case against the next one: the ratio of their medians with its 95 % interval, and the p-value, adjusted over the answer.",
        ),
        "stat-limit": NamedStatistic("limit", "A fixed limit in a rule, such as the highest loss at which a rate still counts."),
        "stat-size": NamedStatistic("size", "The message size of a measurement."),
        "stat-label": NamedStatistic("conditions", "A name or a condition of a measurement: version, machine, offered rate."),
        "tl-label": NamedStatistic("name of a series", "The conditions in which a series differs from the others on its page."),
        "tl-legend": NamedStatistic("legend", "The names of the lines of a figure, or of the kinds of lines of a log."),
        "tl-caption": NamedStatistic("name of a table", "The content of a table, and the conditions of its numbers."),
        "tl-ranked": NamedStatistic("head of a ranking", "What is ranked, with the conditions and the number of runs that all rows share."),
        "tl-facts": NamedStatistic("facts", "The conditions that all numbers of a page share, or the facts of a log."),
        "tl-host": NamedStatistic("properties of a machine", "The description of a machine, written by somebody or read by a program."),
        "tl-remarks": NamedStatistic("remark of a manifest", "A comment by those who measured or published the numbers."),
        "tl-note": NamedStatistic("note", "What a table or figure shows or leaves out, and the limits of its rules."),
        "tl-notes": NamedStatistic("what a mark means", "The rule behind a mark, with its limits."),
        "tl-unlisted": NamedStatistic("what is not listed", "Systems, versions and transports that are in no ranking, with the reason."),
        "tl-pad": NamedStatistic("filling", "Invisible zeros that align decimal points. Screen readers skip them."),
    }
)
