"""The subcommands of ``tacholog``, one module each. A command reads its arguments, calls the library once, and prints text.

Modules that take long to import, such as modules that need pandas or Sphinx, are imported inside functions, so that each command starts quickly.
"""
