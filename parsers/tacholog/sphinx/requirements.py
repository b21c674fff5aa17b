"""The directive ``{perf-requirements}``: what the requirements in ``requirements.toml`` were found to be, with their history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

from tacholog.compare.requirements.file import FILE
from tacholog.render.html import tag
from tacholog.render.requirements.page import requirements_html
from tacholog.render.tables.history import finder
from tacholog.site.output.judged import judged_in
from tacholog.site.requirements import kept_requirements
from tacholog.site.shown import state_of
from tacholog.sphinx.perf import Perf
from tacholog.sphinx.store import dataset_folder
from tacholog.view.views import Selection, View

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class PerfRequirements(Perf):
    """``{perf-requirements}``: a table of all requirements."""

    optional_arguments = 0

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the tables; without a file of requirements, a warning."""
        folder = dataset_folder(self.env)
        self.env.note_dependency(str(folder / FILE))
        file = kept_requirements(folder)
        if file is None:
            return self.warn(f"there is no {FILE} in the data")
        judged = [one for one in judged_in(folder, state_of(folder), file) if wanted.system in (None, one.system)]
        if not judged or not part.runs:
            return self.html(tag("p", "No run states its release, so no requirement has been judged."))
        return self.html(requirements_html(judged, finder(part, self.links)))


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("perf-requirements", PerfRequirements)
