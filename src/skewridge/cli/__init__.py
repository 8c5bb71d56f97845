"""The command line: ``skewridge --help``. What it needs is in the extra ``cli``."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

MISSING = 1  # what is needed is not installed
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the command: nobody listens
            setattr(sys, name, io.StringIO())
    try:
        from skewridge.cli._app import app
    except ModuleNotFoundError as error:
        sys.stderr.write(f"error: the command line needs {error.name}: pip install 'skewridge[cli]'\n")
        return MISSING
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        app(args=None if arguments is None else list(arguments), prog_name="skewridge")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        return INTERRUPTED
    return 0
