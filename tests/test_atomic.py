import ast
import os
import stat
from pathlib import Path

import pytest

import skewridge
from skewridge._atomic import atomic_file, check_target


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


def test_an_input_by_any_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "rows.csv"
    file.write_bytes(b"rows")
    (tmp_path / "link.csv").symlink_to(file)
    os.link(file, tmp_path / "hard.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name in ("rows.csv", file, "link.csv", "hard.csv", "folder/rows.csv", f"../{tmp_path.name}/./rows.csv"):
        for other in (file, "link.csv", "folder/link.csv"):
            with pytest.raises(ValueError, match=r"is one of the files to be read\. Name another one for the output"):
                check_target(name, ["s3://bucket/rows.csv", "gone.csv", other])
    assert check_target("new.csv", [file]) == tmp_path / "new.csv"
    assert check_target("rows.csv", ["gone.csv"]) == file


WRITERS = {"write_text", "write_bytes", "to_csv", "to_parquet", "savefig", "NamedTemporaryFile", "mkstemp"}
OVER_ATOMIC_FILE = {"cli/_predict.py": {"to_csv", "to_parquet"}, "demo.py": {"savefig"}}


def calls(source):
    """Names of functions that a module calls, and modes that it opens files with."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
            yield name, [mode for mode in modes if mode in ("w", "wb", "a", "ab", "x", "xb", "r+", "r+b")]


def test_every_file_is_written_by_the_one_writer():
    package = Path(skewridge.__file__).parent
    for source in sorted(package.rglob("*.py")):
        place = source.relative_to(package).as_posix()
        if place in ("_atomic.py", "persist/_archive.py", "io/streams.py"):  # members, and a copy of standard input
            continue
        found = list(calls(source))
        assert {name for name, _ in found} & WRITERS <= OVER_ATOMIC_FILE.get(place, set()), place
        assert not [modes for name, modes in found if name in ("open", "OSFile") and modes], place
