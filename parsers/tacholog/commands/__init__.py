"""The subcommands of ``tacholog``, one module each. A command reads its arguments, calls the library once, and prints text."""
