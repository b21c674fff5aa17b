"""The blocks that compare releases, and those on requirements."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.compare.diff.compare import check_across
from tacholog.compare.policy import Policy
from tacholog.compare.requirements.file import FILE as REQUIREMENTS
from tacholog.compare.result import VERDICTS, Comparison
from tacholog.errors import TachologError
from tacholog.render.diff.page import anchor_of, brief, fragment, links_of
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.requirements import requirements_html
from tacholog.render.tables.history import finder, tables_of
from tacholog.render.tables.releases import releases_table
from tacholog.site.blocks import EVERYTHING, NO_PAGES, feed_link
from tacholog.site.data import Labels
from tacholog.site.page import Page
from tacholog.site.programs.feed import CHANGES_FEED
from tacholog.view.history import diff_documents, histories_in, neighbours
from tacholog.view.page_index import PageIndex
from tacholog.view.views import Selection

LIMIT = 50  # rows of each verdict


def diff(
    page: Page,
    old: str,
    new: str,
    system: str | None = None,
    pages: PageIndex = NO_PAGES,
    *,
    labels: Labels = (),
    policy: Policy | None = None,
    only: Sequence[str] = (),
    limit: int = LIMIT,
) -> Html:
    """Return what changed between two releases.

    Args:
        page: the page.
        old: the first release.
        new: the second one.
        system: the system, if only one is meant.
        pages: where numbers are shown.
        labels: the labels that the runs must have.
        policy: what counts as a change.
        only: the verdicts to show; all of them if there are none.
        limit: the most rows of each verdict.

    Raises:
        TachologError: a release or a name is not known.
    """
    report = _report(page, old, new, system, labels, policy)
    if unknown := set(only) - set(VERDICTS):
        raise TachologError(f":only: {min(unknown)}: choose from {', '.join(VERDICTS)}")
    sides = [page.data.view.only(Selection(system=system, release=release, labels=labels)) for release in (old, new)]
    leads = links_of(report, {"old": sides[0], "new": sides[1]}, page.links, pages)
    return fragment(report, anchor_of(system or "", old, new, labels), only, limit, leads)


def diff_in_a_line(page: Page, old: str, new: str, system: str | None = None, *, labels: Labels = (), policy: Policy | None = None) -> Html:
    """Return the same in a line, with a link to the whole comparison.

    Raises:
        TachologError: a release or a name is not known.
    """
    report = _report(page, old, new, system, labels, policy)
    document = diff_documents(page.data.view.runs.values()).get((str(system), old, new))
    return brief(report, document if document in page.documents else None)


def _report(page: Page, old: str, new: str, system: str | None, labels: Labels, policy: Policy | None) -> Comparison:
    policy = policy or Policy()
    check_across(policy.across)
    policy.tests()
    return page.data.comparison((system, old, new), policy, labels)


def history(page: Page, metric: str, statistic: str, wanted: Selection = EVERYTHING) -> Html:
    """Return a metric over all releases of each system.

    Raises:
        TachologError: no system has two releases.
    """
    part = page.part(wanted)
    runs = [run for run in part.runs.values() if wanted.system in (None, run.system)]
    policy = Policy(transports=(wanted.transport,) if wanted.transport else ())

    def compared(system: str, old: str, new: str) -> Comparison:
        return page.data.comparison((system, old, new), policy, wanted.labels)

    if not neighbours(runs):
        raise TachologError("no system here has two releases")
    find = part.once(("finder", page.links), lambda: finder(part, page.links))
    made = tables_of(histories_in(part, metric, statistic, compared, wanted), runs, page.documents, find)
    feed = feed_link(page, CHANGES_FEED, "an Atom feed")
    news = tag("p", "The steps and drifts of all metrics are ", feed, " too.", class_="tl-download") if feed else NOTHING
    return join([made or tag("p", f"No two releases have comparable rows of {metric} {statistic}."), news])


def changes(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return the releases of each system, and what changed since the one before."""
    part = page.part(wanted)

    def compared(system: str, old: str, new: str) -> Comparison:
        return page.data.comparison((system, old, new), None, wanted.labels)

    documents = diff_documents(page.data.view.runs.values())
    return releases_table(part, page.links, compared, {pair: document for pair, document in documents.items() if document in page.documents})


def requirements(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return a table of all requirements: what they were found to be, with their history.

    Raises:
        TachologError: there are none in the data.
    """
    part = page.part(wanted)
    if page.data.requirements is None:
        raise TachologError(f"there is no {REQUIREMENTS} in the data")
    judged = [one for one in page.data.judged if wanted.system in (None, one.system)]
    if not judged or not part.runs:
        return tag("p", "No run states its release, so no requirement has been judged.")
    return requirements_html(judged, finder(part, page.links))
