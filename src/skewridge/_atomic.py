"""Files that are there in full or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".tmp"  # ends the names of files that are being written


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, durable: bool = True, inputs: Iterable[str | os.PathLike[str]] = ()
) -> Iterator[BinaryIO]:
    """Open a new file beside the target, which is none of the inputs, and move it there when the block ends well.

    Whatever else ends the block, an error, Ctrl-C, a kill, the target stays as it was. What was written is on the disk
    before it moves, unless ``durable`` is False, which is faster and survives kills but not a loss of power. A kill may
    leave a file ``.skewridge-*.tmp`` in the folder, which can be deleted.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting"
    >>> with atomic_file(path) as file:
    ...     _ = file.write(b"hello")
    ...     path.exists()
    False
    >>> path.read_bytes()
    b'hello'
    """
    target = check_target(path, inputs)
    temporary = target.with_name(f".skewridge-{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        with suppress(OSError):  # systems that cannot open a folder make the move itself last on their own
            descriptor = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def check_target(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Return where a file is to be written, links resolved, or raise where it cannot be, or is one of the inputs.

    Links, hard links and other spellings of an input are the input.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is a device or a pipe, which cannot be replaced in one step: name a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder of {path} does not exist: make {target.parent} first.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected. Name another file, or change its permissions.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"There is no permission to write to {target.parent}. Name a file in another folder.")
    if target.exists() and any(os.path.exists(other) and os.path.samefile(target, other) for other in inputs):
        raise ValueError(f"{path} is one of the files to be read. Name another one for the output.")
    return target
