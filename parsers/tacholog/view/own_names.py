"""The names at the top of a site that are not for results. A system, release, machine or label of such a name gets another folder."""

from __future__ import annotations

BADGES, DATA, DIFFS, DOWNLOADS, HISTORY, LOGS, RAW, RESULTS, VERSIONS = (
    *("badges", "data", "diffs", "downloads", "history", "logs", "raw", "results", "versions"),
)
STATIC, SOURCES = "_static", "_sources"
#: All folders that a site has beside those of its results.
FOLDERS = frozenset({BADGES, DATA, DIFFS, DOWNLOADS, HISTORY, LOGS, RAW, RESULTS, VERSIONS, STATIC, SOURCES})
#: How the names of the files end that stand beside these folders, in the site and in the sources of its pages: a folder must not be called like one.
FILE_ENDINGS = (".atom", ".cff", ".html", ".inv", ".js", ".json", ".jsonld", ".md", ".py")
