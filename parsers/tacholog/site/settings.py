"""``site.toml``: what a site is called, what it shows and what it keeps to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from tacholog.dataset.logs import Limits
from tacholog.errors import UnreadableInput
from tacholog.privacy.redactor import Privacy
from tacholog.runs.manifest import read_toml

_PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico")


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link in the header: ``title`` and ``url``."""

    title: str
    url: str


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of one log goes into a site at most: MB of its text, expanded, and numbers. A log with more is named, and shown nowhere."""

    log_text_mb: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 64  # no infinity: who wants no limit has to name one
    log_numbers: Annotated[int, msgspec.Meta(gt=0, le=10**9)] = 500_000

    @property
    def limits(self) -> Limits:
        """The same as a dataset is told."""
        return Limits(round(self.log_text_mb * 1e6), self.log_numbers)


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``site.toml`` may say. Every key may be absent."""

    name: str = "Tacholog"
    title: str = "Publish/subscribe performance"
    intro: str | None = None
    logo: str | None = None
    copyright: str = "the Tacholog authors; published figures belong to their publishers"
    contact: str | None = None
    url: str | None = None
    links: tuple[Link, ...] = ()
    systems: tuple[str, ...] | None = None
    privacy: Privacy = Privacy()
    limits: LimitSettings = LimitSettings()


def read_settings(path: Path) -> SiteSettings:
    """Read a ``site.toml``; the logo's path in it is relative to the file.

    Raises:
        UnreadableInput: it is missing, no TOML or holds an unknown key; or its logo is missing. The message names file and key.
    """
    settings = read_toml(path, SiteSettings)
    for link in settings.links:
        if not link.url.startswith(("https://", "http://", "mailto:")):
            raise UnreadableInput(f"{path}: links: {link.url!r} is no address (https://, http:// or mailto:)")
    if settings.logo is None:
        return settings
    logo = path.parent / settings.logo
    if logo.suffix.lower() not in _PICTURES or logo.is_symlink():  # it is published: a site.toml must not reach for other files
        raise UnreadableInput(f"{path}: logo: {logo}: no picture ({', '.join(_PICTURES)}), or a link, which is not followed")
    if not logo.is_file():
        raise UnreadableInput(f"{path}: logo: {logo}: no such file")
    return msgspec.structs.replace(settings, logo=str(logo.resolve()))
