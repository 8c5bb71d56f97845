"""Run docs/tutorial.md from top to bottom, and write what it printed into the page and into its notebook.

    python tools/tutorial.py

Blocks of Python run in one process, lines of a console that begin with "$ " in a shell, all in one empty folder. What a
block prints replaces the text below it; lines of progress are left out. `tests/test_tutorial.py` runs a smaller table.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs" / "tutorial.md", ROOT / "examples" / "tutorial.ipynb"
BLOCK = re.compile(r"```(python|console)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
PROGRESS = re.compile(r"^[a-z ,]+: +\d+%.*$")  # of a command


def parts(page):
    """The page as triples: "prose", "python" or "console", its text, and what it printed."""
    found, end = [], 0
    for block in BLOCK.finditer(page):
        found.append(("prose", page[end : block.start()], ""))
        kind, text, printed = block.groups()
        if kind == "console":
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if line.startswith("$ "))
            printed = "".join(lines[len(text.splitlines()) :])
        found.append((kind, text, printed or ""))
        end = block.end()
    return [*found, ("prose", page[end:], "")]


def run(found, command):
    """Run every block in this folder; yield it with what it printed. ``command`` runs one line of a shell."""
    names = {"__name__": "tutorial"}
    for kind, text, _ in found:
        printed = ""
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as told, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(text, f"tutorial: {text[:40]!r}", "exec"), names)
            printed = told.getvalue()
        elif kind == "console":
            printed = without_progress("".join(command(line.removeprefix("$ ")) for line in text.splitlines()))
        yield kind, text, printed


def without_progress(printed):
    """Leave out what a terminal would have overwritten."""
    return "".join(f"{line}\n" for line in printed.splitlines() if not PROGRESS.match(line))


def in_a_shell(line):
    """What a command prints, notes included."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = re.sub(r"^skewridge ", f"{sys.executable} -m skewridge ", line)
    done = subprocess.run(
        line, shell=True, text=True, check=True, env={**os.environ, "PATH": here, "COLUMNS": "160"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def as_page(found):
    """The page again, with what was printed."""
    pieces = []
    for kind, text, printed in found:
        if kind == "prose":
            pieces.append(text)
        elif kind == "console":
            pieces.append(f"```console\n{text}{printed}```\n")
        else:
            below = f"\n```text\n{printed}```\n" if printed else ""
            pieces.append(f"```python\n{text}```\n{below}")
    return "".join(pieces)


def as_notebook(found):
    """The page as a notebook: prose, and cells that run; commands of a shell begin with an exclamation mark."""
    cells = []
    for kind, text, printed in found:
        if kind == "prose":
            if text.strip():
                cells.append({"cell_type": "markdown", "metadata": {}, "source": lines_of(in_notebook(text.strip()))})
            continue
        source = text if kind == "python" else "".join(f"!{line[2:]}\n" for line in text.splitlines())
        output = {"output_type": "stream", "name": "stdout", "text": lines_of(printed)}
        cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [output] if printed else [],
                "source": lines_of(source.rstrip("\n")),
            }
        )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def in_notebook(text):
    """Links between pages, as they are seen from the notebook's folder."""
    return re.sub(r"\]\((?!https?:|#|\.\./)([\w-]+\.md|images/[\w.-]+)", r"](../docs/\1", text)


def lines_of(text):
    return text.splitlines(keepends=True)


def main():
    found = parts(PAGE.read_text(encoding="utf-8"))
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            ran = list(run(found, in_a_shell))
        finally:
            os.chdir(home)
    PAGE.write_text(as_page(ran), encoding="utf-8")
    NOTEBOOK.write_text(as_notebook(ran), encoding="utf-8")


if __name__ == "__main__":
    main()
