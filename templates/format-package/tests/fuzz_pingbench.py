"""Coverage-guided fuzzing: ``python tests/fuzz_pingbench.py -max_total_time=60 CORPUS``; needs ``pip install atheris``."""

from tacholog.formats.testing.fuzzing import fuzz

if __name__ == "__main__":
    fuzz("pingbench")
