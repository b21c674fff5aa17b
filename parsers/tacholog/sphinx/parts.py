"""``{perf-releases}``: what a page does not show at once. `tacholog.site.output.parts` makes scripts and pages of what the directives put aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.render.html import Html, join, tag
from tacholog.render.portion import portion_html, portion_runs
from tacholog.render.tables.logs import Rest
from tacholog.site.offered import offered_log
from tacholog.site.output.former_parts import forget_former, set_aside
from tacholog.site.output.parts import RUNS, Part, part_of
from tacholog.slugs import slug
from tacholog.sphinx.perf import Perf, places_of
from tacholog.sphinx.store import digests_of_runs
from tacholog.view.portions import Portion, portions
from tacholog.view.views import TESTS, Selection, View

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

_WITH_ANCHORS = 20  # portions whose ids lead to them from the page; of more, a page has only links


class PerfReleases(Perf):
    """``{perf-releases} TITLE``: the older releases. Each is loaded when somebody opens it, and has a page of its own, named after TITLE."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the list of the other portions; nothing if there are none."""
        items = [self._item(part, portion, wanted, number) for number, portion in enumerate(portions(part)[1:])]
        return self.html(tag("div", *items, class_="tl-releases")) if items else []

    def _item(self, part: View, portion: Portion, wanted: Selection, number: int) -> Html:
        words = f"release {portion.title}" if portion.is_release else portion.title
        name = self.part_name(words)

        def make() -> Html:
            return self._made(part, portion, wanted, words, name, has_anchors=number < _WITH_ANCHORS)

        # Without a system, numbers of several systems may be in one series, so that it has runs that the portion does not name.
        if wanted.system is None or part_of(name, RUNS) in self.taken:
            return make()
        about = (self.subject, wanted, self.number(wanted), name, number < _WITH_ANCHORS)
        parts_named = self.beside(slug(words))
        return self.taken_over(name, parts_named, lambda: [about, *self._made_of(part, portion)], make)

    def _made(self, part: View, portion: Portion, wanted: Selection, words: str, name: str, *, has_anchors: bool) -> Html:
        numbered = name.removeprefix(self.beside(slug(words)))  # Releases `1-RC` and `1-rc` are two parts, too.
        suffix = f"{slug(portion.title)}-{numbered}" if numbered else slug(portion.title)
        content = portion_html(part, portion, wanted, self.links, suffix, self.apart(part_of(name, RUNS)), self.number(wanted))
        whole = join([content, portion_runs(part, portion, self.links, offered_log, self._more_runs(words))])
        kept = Part(name, {"": str(whole)}, f"{self.subject}, {words}")
        runs = len(portion.only(part).runs)
        count = tag("span", f"{len(portion.series)} series of {runs} run{'s' if runs != 1 else ''}", class_="tl-muted stat-label")
        places = places_of(content) if has_anchors else []
        summary = join([tag("span", f"{words[0].upper()}{words[1:]}", class_="stat-label"), " ", count])
        return self.folded(kept, summary, *places, class_="tl-release")

    def _made_of(self, part: View, portion: Portion) -> list[object]:
        """Return everything that a portion shows."""
        shown: list[object] = []
        names = set(portion.runs)
        for test in TESTS:
            of_test = part.only(Selection(test=test))
            series = [one for one in of_test.series() if portion.has(test, one)]
            # Those of intervals stand on the page with the labels and colours that they have among those of all releases.
            curves = [one for one in of_test.interval_series() if portion.has_run(one.results[0].run)] if series and portion.is_first else []
            names.update(run.run for one in (*series, *curves) for run in one.runs)
            shown.append([[one.slot, one.key] for one in series] + [[one.slot, one.key, one.label] for one in curves])
        digests = digests_of_runs(self.env)
        runs = [run for run in part.runs.values() if run.run in names]
        offered = [offered_log(run, log) for run in runs for log in part.logs_of.get(run.run, ())]
        hosts = {run.host: part.hosts.get(run.host or "") for run in runs}
        # How many releases are newer is said nowhere, and each release more changes it.
        ageless = msgspec.structs.replace(portion, evidence=tuple(msgspec.structs.replace(one, age=0) for one in portion.evidence))
        return [ageless, shown, [digests[run.run] for run in runs], sorted(hosts.items(), key=str), offered]

    def _more_runs(self, of: str) -> Rest | None:
        """Return what takes the end of the list of runs into a part with a page of its own."""
        rest = self.rest(f"{slug(of)}-more-runs", "tl-release")
        return (lambda words, content: rest(f"{words} of {of}", content)) if rest else None


def _forget(app: Sphinx, document: str) -> None:
    if app.config.tacholog_parts:
        set_aside(Path(app.config.tacholog_parts), document)


def _finish(app: Sphinx) -> None:
    if app.config.tacholog_parts:
        forget_former(Path(app.config.tacholog_parts))


def setup(app: Sphinx) -> None:
    """Register the directive, and forget the parts of a page when Sphinx reads it again."""
    app.add_config_value("tacholog_parts", None, "env", types=frozenset({str, type(None)}))
    app.add_directive("perf-releases", PerfReleases)
    app.connect("source-read", lambda app, document, _source: _forget(app, document))
    app.connect("env-purge-doc", lambda app, _env, document: _forget(app, document))
    app.connect("build-finished", lambda app, _problem: _finish(app))
