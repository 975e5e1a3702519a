"""`python -m hybridize` is the `hybridize` command."""

import sys

from hybridize.cli import main

if __name__ == "__main__":
    sys.exit(main())
