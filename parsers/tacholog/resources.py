"""The files of the package that are not Python: page templates and the hand-written sources of the site."""

from __future__ import annotations

from pathlib import Path

from tacholog.errors import TachologError

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """Return the root of the checkout that this package runs from, or ``None`` if it was installed as a wheel."""
    root = _PACKAGE.parent.parent
    return root if (root / "templates").is_dir() and (root / "site" / "conf.py").is_file() else None


def templates_dir() -> Path:
    """Return the folder of the Jinja2 page templates."""
    return _resource("templates", "_templates")


def site_dir() -> Path:
    """Return the folder of the hand-written Sphinx sources: ``conf.py``, prose and ``_static``."""
    return _resource("site", "_site")


def _resource(in_checkout: str, in_wheel: str) -> Path:
    # The place in a wheel comes first: an installed package must not use the `templates` folder of another project beside it.
    installed = _PACKAGE / in_wheel
    if installed.is_dir():
        return installed
    root = checkout()
    if root is None:
        raise TachologError(f"the installation is incomplete: {installed} is missing; install the package again")
    return root / in_checkout
