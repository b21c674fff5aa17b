"""Coverage-guided fuzzing of one format: ``fuzz_format.py FORMAT [libFuzzer options] CORPUS...``.

For any bytes, the format raises no exception, and each line is in exactly one class. Authors of other formats use the same function.
"""

from __future__ import annotations

import sys

from tacholog.formats.testing.fuzzing import fuzz

if __name__ == "__main__":
    fuzz(sys.argv.pop(1))
