"""The documentation's examples, run as they stand: a page's blocks one after the other, in an empty folder."""

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/index.md", "docs/start.md", "docs/howto.md"]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, names = blocks(page), {"__name__": "an_example"}
    assert found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, block in enumerate(found, 1):
            exec(compile(block, f"{page}, example {number}", "exec"), names)


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert pages
    assert [page for page in pages if f": {page}" not in contents] == []
