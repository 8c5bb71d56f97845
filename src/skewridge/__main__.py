"""``python -m skewridge`` is the command line."""

import sys

from skewridge.cli import main

if __name__ == "__main__":
    sys.exit(main())
