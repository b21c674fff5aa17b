"""Example: the documentation of any project, with performance figures from its own logs. Build it with: sphinx-build docs/example build/example."""

project = "Some Middleware"

extensions = ["myst_parser", "tacholog.sphinx"]
tacholog_data = "data"  # folders with run.toml and logs; they are read at each build
exclude_patterns = ["data"]
