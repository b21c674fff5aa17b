"""The directives that compare releases: ``{perf-diff} OLD NEW``, ``{perf-changes}`` and ``{perf-history} METRIC STATISTIC``."""

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
from tacholog.render.diff.leads import leads_to
from tacholog.render.diff.page import anchor_of, brief, fragment
from tacholog.render.html import NOTHING, join, tag
from tacholog.render.tables.history import finder, tables_of
from tacholog.render.tables.releases import releases_table
from tacholog.site.output.diffs import comparison
from tacholog.site.programs.feed import CHANGES_FEED
from tacholog.site.shown import state_of
from tacholog.sphinx.perf import Perf
from tacholog.sphinx.programs import feed_link
from tacholog.sphinx.store import dataset_folder, view
from tacholog.view.history import diff_documents, histories_in, neighbours
from tacholog.view.page_index import Entry, page_index
from tacholog.view.views import Selection, View

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LIMIT = 50
_SIDES = 2
_WORDS = 2


class PerfDiff(Perf):
    """``{perf-diff} OLD NEW``: what changed between two releases. ``:summary:`` gives one line, with a link to the whole comparison.

    The body maps systems and transports to pages, as that of ``{perf-overview}`` does.
    """

    has_content = True
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
        views = [view(self.env, Selection(system=system, release=release, labels=labels)) for release in (old, new)]
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
        try:
            pages = page_index(msgspec.json.decode("\n".join(self.content) or "[]", type=list[Entry]))
        except (msgspec.DecodeError, ValueError) as error:
            return self.warn(f"the body is not a list of [system, transport, document]: {error}")
        leads = leads_to(report, {"old": views[0], "new": views[1]}, self.links, pages)
        return self.html(fragment(report, anchor_of(str(system or ""), old, new, labels), only, self.options.get("limit", _LIMIT), leads))

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
        find = part.once(("finder", self.links), lambda: finder(part, self.links))
        found = histories_in(part, metric, statistic, compared, wanted)
        made = tables_of(found, runs, self.env.found_docs, find)
        feed = feed_link(self.config, CHANGES_FEED, "an Atom feed")
        news = tag("p", "The steps and drifts of all metrics are ", feed, " too.", class_="tl-download") if feed else NOTHING
        return self.html(join([made or tag("p", f"No two releases have comparable rows of {metric} {statistic}."), news]))


class PerfChanges(Perf):
    """``{perf-changes}``: the releases of each system, and what changed since the one before."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the table."""
        folder = dataset_folder(self.env)

        def compared(system: str, old: str, new: str) -> Report:
            return comparison(folder, state_of(folder), (system, old, new), Policy(), wanted.labels)

        documents = diff_documents(view(self.env, Selection()).runs.values())
        pages = {pair: page for pair, page in documents.items() if page in self.env.found_docs}
        return self.html(releases_table(part, self.links, compared, pages))


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("perf-changes", PerfChanges)
    app.add_directive("perf-diff", PerfDiff)
    app.add_directive("perf-history", PerfHistory)
