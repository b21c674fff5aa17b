"""Runs from logs that exist already: fields are read from paths, logs that belong together become one run.

`patterns` reads fields from a path, `fields` knows which fields there are, `units` which units their numbers take, `rules` puts patterns and stated
values together, `survey` reads the logs, `grouping` makes runs of them, `plan` decides which of them are new, `writing` copies these into a data
folder, and `suggestion` finds a pattern that fits a folder.
"""
