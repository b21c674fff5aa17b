"""Runs as tables: every number of every log in pandas frames, with quality marks."""
