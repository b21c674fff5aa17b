"""The directives that compare releases: ``{perf-diff} OLD NEW`` and ``{perf-history} METRIC STATISTIC``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import msgspec
from docutils import nodes
from docutils.parsers.rst import directives

from tacholog.compare.diff.compare import check_across
from tacholog.compare.policy import Policy
from tacholog.compare.result import VERDICTS, Report
from tacholog.errors import TachologError
from tacholog.render.diff.page import brief, fragment
from tacholog.render.html import tag
from tacholog.render.tables.history import finder, history
from tacholog.runs.labels import label_name
from tacholog.site.output.diffs import comparison
from tacholog.site.shown import state_of
from tacholog.slugs import slug
from tacholog.sphinx.directives import Perf
from tacholog.sphinx.store import dataset_folder, view
from tacholog.view.history import diff_documents, neighbours
from tacholog.view.views import Selection, View

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LIMIT = 50
_SIDES = 2
_WORDS = 2


class PerfDiff(Perf):
    """``{perf-diff} OLD NEW``: what changed between two releases. ``:summary:`` gives one line, with a link to the whole comparison."""

    required_arguments = 1
    optional_arguments = 0
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {
        **dict.fromkeys(("system", "transport", "label", "metric", "across", "only"), directives.unchanged_required),
        "limit": directives.nonnegative_int,
        "summary": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the comparison; an unknown release or name gives a warning, and nothing on the page."""
        try:
            return self._compared()
        except TachologError as error:
            return self.warn(str(error))

    def _compared(self) -> list[nodes.Node]:
        releases = self.words
        if len(releases) != _SIDES:
            return self.warn(f"{self.arguments[0]!r}: name two releases, one with blanks in quotes")
        old, new = releases
        system = self.options.get("system")
        labels = self.labels(str(self.options.get("label", "")))
        for release in (old, new):
            view(self.env, Selection(system=system, release=release, labels=labels))
        folder = dataset_folder(self.env)
        chosen = {name: tuple(str(self.options[option]).split()) for name, option in _LISTS if option in self.options}
        policy = msgspec.convert({"transports": self._transports(), **chosen}, Policy)
        check_across(policy.across)
        policy.tests()
        report = comparison(folder, state_of(folder), (system, old, new), policy, labels)
        if "summary" in self.options:
            page = diff_documents(view(self.env, Selection()).runs.values()).get((str(system), old, new))
            return self.html(brief(report, page if page in self.env.found_docs else None))
        only = tuple(str(self.options.get("only", "")).split())
        if unknown := set(only) - set(VERDICTS):
            return self.warn(f":only: {min(unknown)}: choose from {', '.join(VERDICTS)}")
        anchor = slug(" ".join([f"diff {system or ''} {old} {new}", *(f"{label_name(field)}={value}" for field, value in labels)]))
        return self.html(fragment(report, anchor, only, self.options.get("limit", _LIMIT)))

    def _transports(self) -> tuple[str, ...]:
        return (str(self.options["transport"]),) if "transport" in self.options else ()


_LISTS = (("metrics", "metric"), ("across", "across"))


class PerfHistory(Perf):
    """``{perf-history} METRIC STATISTIC``: the metric over all releases of each system."""

    required_arguments = 2
    optional_arguments = 0
    final_argument_whitespace = False

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the tables, or nothing if no system has two releases."""
        folder = dataset_folder(self.env)
        words = self.words
        if len(words) != _WORDS:
            return self.warn(f"{' '.join(self.arguments)!r}: name a metric and a statistic")
        metric, statistic = words
        runs = [run for run in part.runs.values() if wanted.system in (None, run.system)]

        def compared(system: str, old: str, new: str) -> Report:
            policy = Policy(transports=(wanted.transport,) if wanted.transport else ())
            return comparison(folder, state_of(folder), (system, old, new), policy, wanted.labels)

        if not neighbours(runs):
            return self.warn("no system here has two releases")
        made = history(runs, metric, statistic, compared, self.env.found_docs, finder(part.summaries(), self.links))
        return self.html(made or tag("p", f"No two releases have comparable rows of {metric} {statistic}."))


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("perf-diff", PerfDiff)
    app.add_directive("perf-history", PerfHistory)
