"""The subcommands of ``tacholog``, one module each: arguments in, one library call, text out."""
