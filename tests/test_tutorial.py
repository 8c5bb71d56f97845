"""The tutorial, on a smaller table: every block and every command of the page, which are the cells of its notebook."""

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from skewridge.cli import main

ROOT = Path(__file__).parents[1]
ROWS = "np.random.default_rng(0), 6000"  # of the page; here there are fewer
QUICKLY = ["-e", "local", "--jobs", "1"]  # SkewRidge is fitted by the block of Python


def tool():
    spec = importlib.util.spec_from_file_location("tutorial", ROOT / "tools" / "tutorial.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_every_block_and_every_command_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert page.count(ROWS) == 1
    commands = []

    def command(line):
        words = shlex.split(line)
        commands.append(words[0])
        if words[0] != "skewridge":
            return subprocess.run(words, check=True, capture_output=True, text=True).stdout
        assert main([*words[1:], *(QUICKLY if words[1] == "fit" else [])]) == 0
        return capsys.readouterr().out

    small = page.replace(ROWS, ROWS.replace("6000", "600")).replace("n_jobs=-1", "n_jobs=1")
    ran = list(tool().run(tool().parts(small), command))
    assert commands.count("skewridge") == page.count("$ skewridge") >= 5
    assert all(printed for kind, _, printed in ran if kind == "console")
    earned = re.search(r"by house +earned +([\d,]+) +promised +([\d,]+)", "".join(printed for *_, printed in ran))
    real, promised = (float(figure.replace(",", "")) for figure in earned.groups())
    assert 0.7 < real / promised < 1.4


def test_the_page_and_the_notebook_are_the_same(page):
    found = tool().parts(page)
    assert tool().as_page(found) == page
    book = (ROOT / "examples" / "tutorial.ipynb").read_text(encoding="utf-8")
    assert book == tool().as_notebook(found)
    cells = json.loads(book)["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) == len([kind for kind, *_ in found if kind != "prose"])
    assert all(cell["outputs"] for cell in cells if cell["source"][0:1] == ["!"])


def test_links_of_the_notebook_lead_somewhere(page):
    text = "".join("".join(cell["source"]) for cell in json.loads(tool().as_notebook(tool().parts(page)))["cells"])
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if not (ROOT / "examples" / link).exists()] == []
