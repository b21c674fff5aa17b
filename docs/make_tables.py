"""Write the tables of these pages anew from the schema, and the JSON Schema of the results: python docs/make_tables.py."""

from __future__ import annotations

import json
from pathlib import Path

from tacholog.schema.json_schema import results_schema
from tacholog.schema.reference import with_tables

DOCS = Path(__file__).parent

for page in DOCS.glob("*.md"):
    old = page.read_text(encoding="utf-8")
    if (new := with_tables(old)) != old:
        page.write_text(new, encoding="utf-8")
(DOCS / "results.schema.json").write_text(json.dumps(results_schema(), indent=1) + "\n", encoding="utf-8")
