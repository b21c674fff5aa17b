"""From runs to tables: every number of every log, with quality marks."""
