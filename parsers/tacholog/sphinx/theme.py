"""The templates of the theme, compiled once: to compile them took a quarter of a second of each build, however small.

They lie in Sphinx's own cache, whose pages Python unpickles: what may be put there by others is no worse in them.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import FileSystemBytecodeCache

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "templates"


def setup(app: Sphinx) -> None:
    """Keep compiled templates as soon as there is a builder that has some."""
    app.connect("builder-inited", _keep_compiled)


def _keep_compiled(app: Sphinx) -> None:
    environment = getattr(getattr(app.builder, "templates", None), "environment", None)
    if environment is None:  # a builder of another format, or templates of another engine
        return
    folder = Path(app.doctreedir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    # Jinja2 compares the text of a template and the version of Python. What compiles it, and the functions that it names, are of these packages.
    made_by = hashlib.sha256(" ".join(f"{name} {version(name)}" for name in ("jinja2", "sphinx")).encode()).hexdigest()[:16]
    for file in folder.iterdir():
        if not file.name.startswith(made_by):
            file.unlink()
    environment.bytecode_cache = FileSystemBytecodeCache(str(folder), f"{made_by}-%s")
