"""Settings of the theme that the sites of `tacholog report` and Tacholog's own documentation share."""

from __future__ import annotations

from typing import Any

THEME = "pydata_sphinx_theme"
# Without a default mode, the script of the theme logs a warning on the console.
CONTEXT = {"default_mode": "auto"}
OPTIONS: dict[str, Any] = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
    "search_as_you_type": False,
}
