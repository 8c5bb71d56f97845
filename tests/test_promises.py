"""Every promise of docs/promises.md names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text()
HEADS = ("| promise", "| campaign")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(HEADS)]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_every_promise_names_a_test():
    assert len(ROWS) > 20
    assert [row for row in ROWS if "::test_" not in row] == []


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_tests_of_promises_are_there(file, name):
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
