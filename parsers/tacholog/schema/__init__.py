"""The schema: records, metrics, statistics, conditions, marks and tables, each declared once.

Frames, checks, the files for other tools, the JSON Schema, privacy classes and the tables of the docs are derived from these modules.
"""
