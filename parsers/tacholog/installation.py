"""The installed files that are not Python (page templates, sources of the site), and what the system and the installation lack for a command."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

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
    """Return the folder of the hand-written Sphinx sources: ``conf.py``, texts and ``_static``."""
    return _resource("site", "_site")


def _resource(in_checkout: str, in_wheel: str) -> Path:
    # The folder in a wheel comes first: an installed package must not use the `templates` folder of another project next to it.
    installed = _PACKAGE / in_wheel
    if installed.is_dir():
        return installed
    root = checkout()
    if root is None:
        raise TachologError(f"the installation is incomplete: {installed} is missing; install the package again")
    return root / in_checkout


_NAMED = 3
Extra = Literal["diff", "site", "cluster"]
_DIFF = ("numpy", "pandas", "duckdb", "hdrh", "jinja2", "markupsafe", "pebble")
#: The packages that each extra installs. Their names are the names for ``import``.
PACKAGES: dict[Extra, tuple[str, ...]] = {
    "diff": _DIFF,
    "cluster": (*_DIFF, "dask", "distributed"),
    "site": (*_DIFF, "sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton", "plotly", "ghp_import"),
}


def require(extra: Extra, purpose: str) -> None:
    """Check that the packages of an extra are installed. The message begins with ``purpose``, which names the function that needs them.

    Raises:
        TachologError: a package is missing. The message contains the command that installs it.
    """
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        names = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        raise TachologError(f'{purpose} needs packages that are not installed ({names}): pip install "tacholog[{extra}]"')


def require_linux(purpose: str) -> None:
    """Check that this system is Linux. The message begins with ``purpose``, which names the function that needs it.

    Raises:
        TachologError: this is another system.
    """
    if sys.platform != "linux":
        raise TachologError(f"{purpose} needs Linux, and this system is {sys.platform}; logs and runs can be read here")
