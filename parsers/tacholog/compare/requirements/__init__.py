"""Requirements: limits that a team sets for its own numbers, such as "p99 at 1 KiB stays under 5 us", and whether runs fulfil them.

`file` reads requirements, `judge` finds and judges the rows of each requirement, and `result` contains the verdicts. docs/requirements.md states the
rules.
"""
