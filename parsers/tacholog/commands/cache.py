"""Show how much space the cache of logs takes, or empty the cache.

Tacholog stores the contents of each log that it has read, so that it reads no log twice. The cache can be built again, so it is safe to empty or to
delete it at any time. It may contain private data from the logs. Only its owner can read it.

It is in the folder that TACHOLOG_CACHE names, otherwise in ~/.cache/tacholog.
"""

from __future__ import annotations

import click

from tacholog.errors import TachologError
from tacholog.store.cache import open_cache, others_file_words, refused_words


@click.command(help=__doc__)
@click.option("--clear", is_flag=True, help="Empty the cache.")
def cache(*, clear: bool) -> None:
    """Print a line for each kind of content, or empty the cache."""
    store = open_cache()
    if store.path is None:
        raise TachologError("there is no folder for the cache: name a folder with TACHOLOG_CACHE")
    if store.refused:
        raise TachologError(refused_words(store.path, store.refused))
    if store.is_of_others():
        raise TachologError(others_file_words(store.path))
    if clear:
        store.clear()
        if not store.is_empty():
            raise TachologError(f"{store.path}: cannot be emptied; delete the file")
        click.echo(f"{store.path} is empty")
        return
    if not store.is_usable():
        raise TachologError(f"{store.path}: cannot be opened or written, so nothing is kept")
    sizes = store.sizes()
    click.echo(f"{store.path}: {_megabytes(sum(size.stored_bytes for size in sizes.values()))}")
    for kind, size in sizes.items():
        click.echo(f"  {_WORDS[kind]}: {size.entries}, {_megabytes(size.stored_bytes)}")


_WORDS = {"manifest": "manifests", "run": "runs", "published": "redacted logs and pages", "file": "files that need not be read again"}


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
