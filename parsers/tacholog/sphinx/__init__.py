"""A Sphinx extension: tables, plots, scripts and machines from a Tacholog dataset, in the pages of any project.

`directives` and `diffs` hold the directives, `store` the dataset and which page shows what of it, `texts` which text each page had, `node` the HTML
node, `assets` the style sheets and scripts, `theme` its compiled templates, `contents` its lists of headings, `scripts` the content security policy,
`search` the search index.
The HTML itself is made in `tacholog.render`.

In ``conf.py``::

    extensions = ["myst_parser", "tacholog.sphinx"]
    tacholog_data = "data"                   # a folder of runs, relative to conf.py
    tacholog_site = "site.toml"              # optional: which systems, and what is private

or, for a saved dataset::

    tacholog_dataset = "../build/dataset"    # what Dataset.save wrote; relative to conf.py

In a page (MyST)::

    ```{perf-table} latency
    :system: RTI Perftest
    :transport: UDPv4
    ```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives, their node and what the pages need."""
    from importlib.metadata import version

    from tacholog.sphinx import (
        assets,
        contents,
        diffs,
        directives,
        fold,
        node,
        outward,
        parts,
        programs,
        requirements,
        scripts,
        search,
        store,
        texts,
        theme,
        titles,
    )

    for name in ("tacholog_data", "tacholog_site", "tacholog_dataset", "tacholog_logs"):
        app.add_config_value(name, None, "env", types=frozenset({str, type(None)}))
    # What the directives make stands in Sphinx's cache: another digest of code and templates, and all pages are read again.
    app.add_config_value("tacholog_made_by", None, "env", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_other_pages", None, "", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_other_folders", None, "", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_csp", default=False, rebuild="", types=frozenset({bool}))
    store.setup(app)
    texts.setup(app)
    theme.setup(app)
    contents.setup(app)
    node.setup(app)
    directives.setup(app)
    fold.setup(app)
    diffs.setup(app)
    parts.setup(app)
    outward.setup(app)
    requirements.setup(app)
    assets.setup(app)
    programs.setup(app)
    scripts.setup(app)
    search.setup(app)
    titles.setup(app)
    return {"version": version("tacholog"), "env_version": 4, "parallel_read_safe": True, "parallel_write_safe": True}
