"""The optional parts of the installation, ``pip install 'tacholog[NAME]'``, and the message if one is missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from tacholog.errors import TachologError

_NAMED = 3
Extra = Literal["site", "cluster"]
#: The packages that each extra brings, as they are imported.
PACKAGES: dict[Extra, tuple[str, ...]] = {
    "cluster": ("dask", "distributed"),
    "site": ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton", "plotly", "ghp_import"),
}


def require(extra: Extra, purpose: str) -> None:
    """Check that the packages of an extra are installed. ``purpose`` starts the message: what cannot be done without them.

    Raises:
        TachologError: one is missing; the message is the line to type.
    """
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        names = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        raise TachologError(f"{purpose} needs packages that are not installed ({names}): pip install 'tacholog[{extra}]'")
