"""A Sphinx extension: tables, plots, scripts and machines from a Tacholog dataset, in any project's own pages.

In ``conf.py``::

    extensions = ["tacholog.sphinx"]
    tacholog_dataset = "../build/dataset"   # what Dataset.save wrote; relative to conf.py

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

    from tacholog.sphinx import assets, directives, node

    app.add_config_value("tacholog_dataset", None, "env", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_logs", None, "env", types=frozenset({str, type(None)}))
    app.add_config_value("tacholog_csp", default=False, rebuild="", types=frozenset({bool}))
    node.setup(app)
    directives.setup(app)
    assets.setup(app)
    return {"version": version("tacholog"), "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
