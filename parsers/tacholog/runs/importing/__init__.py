"""Import existing logs: read fields from their paths, and make a run from the logs that belong together.

`patterns` reads fields from a path, `fields` defines the fields, `units` the units of their numbers, `rules` combines patterns and stated values,
`survey` reads the logs, `grouping` makes runs from the logs, `plan` decides which runs are new, `writing` copies the new runs into a data folder, and
`suggestion` finds a pattern that fits a folder.
"""
