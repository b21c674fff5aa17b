"""The schema: what a number, a record, a condition and a run are, and in which units. Everything else is built on it."""
