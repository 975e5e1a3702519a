"""`python -m hybridize` is the `hybridize` command."""

import sys

from hybridize.cli import entry

if __name__ == "__main__":
    sys.exit(entry())
