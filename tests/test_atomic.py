import os
import stat

import pytest

from skewridge._atomic import atomic_file


def leftovers(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".tmp")]


def write_and_raise(path, error):
    with atomic_file(path) as file:
        file.write(b"new")
        raise error


def test_the_target_changes_when_the_block_ends_and_not_before(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_block_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error):
        write_and_raise(path, error)
    assert path.read_bytes() == b"old"
    assert not leftovers(tmp_path)


def test_a_file_keeps_its_rights_and_a_new_one_follows_the_umask(tmp_path):
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        with atomic_file(path) as file:
            file.write(b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    with atomic_file(path) as file:
        file.write(b"2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_cannot_be_written_is_said_at_once(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"), atomic_file(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match=r"does not exist: make .*nowhere first"):
        atomic_file(tmp_path / "nowhere" / "file").__enter__()
    with pytest.raises(OSError, match="is a device or a pipe"):
        atomic_file("/dev/null").__enter__()
