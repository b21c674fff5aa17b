"""Import existing logs: read fields from their paths, and make a run from the logs that belong together.

- `patterns` reads fields from a path.
- `fields` defines the fields.
- `units` defines the units of the numbers in fields.
- `rules` combines the patterns with the values that the user states.
- `survey` reads the logs.
- `grouping` makes runs from the logs.
- `plan` decides which runs are new.
- `writing` copies the new runs into a data folder.
- `suggestion` finds a pattern that fits a folder.
"""
