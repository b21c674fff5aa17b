"""A Sphinx extension: tables, plots, scripts and machines from a Tacholog dataset, in the pages of any project.

The modules are:

- `directives` holds the directives, and the node for their HTML. The HTML itself is made by `tacholog.site.blocks`.
- `assets` holds the style sheets, the scripts and the content security policy.
- `search` splits text into search words.

In ``conf.py``::

    extensions = ["myst_parser", "tacholog.sphinx"]
    tacholog_data = "data"                   # a folder of runs, relative to conf.py
    tacholog_site = "site.toml"              # optional: which systems, and what is private

or, for a saved dataset::

    tacholog_dataset = "../build/dataset"    # a folder that Dataset.save wrote; relative to conf.py

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
    """Register the directives, their node and the files that the pages need."""
    from importlib.metadata import version

    from tacholog.sphinx import assets, directives, search

    for name in ("tacholog_data", "tacholog_site", "tacholog_dataset", "tacholog_logs"):
        app.add_config_value(name, None, "env", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_csp", default=False, rebuild="", types=frozenset({bool}))
    for module in (directives, assets, search):
        module.setup(app)
    return {"version": version("tacholog"), "env_version": 5, "parallel_read_safe": True, "parallel_write_safe": True}
