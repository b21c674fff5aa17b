"""``python -m tacholog``."""

from tacholog.cli import main

main()
