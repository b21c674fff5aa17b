"""The templates of the theme, compiled once: to compile them took a quarter of a second of each build, however small.

Compiled templates are code. They lie in Sphinx's own cache, which Python unpickles: who can write there can run code without them too.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import FileSystemBytecodeCache

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = ".tacholog-templates"  # Beside the trees of pages, whose folders are those of the project.
_PREFIX, _ENDING = "tacholog-", ".cache"


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
    folder.mkdir(parents=True, exist_ok=True)
    # Jinja2 compares the text of a template and the version of Python. What compiles it, and the filters that it names, are of these packages.
    packages = {"jinja2": version("jinja2"), "sphinx": version("sphinx")} | {name: extension.version for name, extension in app.extensions.items()}
    made_by = hashlib.sha256(repr(sorted(packages.items())).encode()).hexdigest()[:16]
    for file in folder.glob(f"{_PREFIX}*{_ENDING}"):
        if not file.name.startswith(f"{_PREFIX}{made_by}-"):
            file.unlink(missing_ok=True)
    environment.bytecode_cache = FileSystemBytecodeCache(str(folder), f"{_PREFIX}{made_by}-%s{_ENDING}")
