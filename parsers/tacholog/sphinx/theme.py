"""The templates of the theme, compiled once."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.site.compiled_templates import CompiledTemplates

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = ".tacholog-templates"  # Beside the trees of pages, whose folders are those of the project.


def setup(app: Sphinx) -> None:
    """Keep compiled templates as soon as there is a builder that has some."""
    app.connect("builder-inited", _keep_compiled)


def _keep_compiled(app: Sphinx) -> None:
    environment = getattr(getattr(app.builder, "templates", None), "environment", None)
    if environment is None:  # a builder of another format, or templates of another engine
        return
    folder = Path(app.doctreedir, FOLDER)
    if folder.is_symlink():
        return
    # Jinja2 compares the text of a template. What compiles it, and the filters that it names, are of these packages.
    environment.bytecode_cache = CompiledTemplates(folder, packages_digest(app))


def packages_digest(app: Sphinx) -> str:
    """Return a digest of the packages that make pages of templates."""
    packages = {"jinja2": version("jinja2"), "sphinx": version("sphinx")} | {name: extension.version for name, extension in app.extensions.items()}
    return hashlib.sha256(repr(sorted(packages.items())).encode()).hexdigest()
