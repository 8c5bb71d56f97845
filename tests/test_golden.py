"""Files of earlier releases and a fixed set of fits predict what they did when they were recorded."""

import json
import re

import pytest

from skewridge import load_model
from tests.golden import FITS, HERE, answers, assert_same, build
from tests.golden.commands import TABLES, lines_on, other_lines
from tests.golden.record import SECTIONS, path_of
from tests.saved import MODELS

FILES = {path.parent.name: json.loads(path.read_text()) for path in sorted(HERE.glob("*/files.json"))}
RELEASES = re.findall(r"^## (\d+\.\d+)\.\d+", (HERE.parents[1] / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
RECORDED = json.loads((HERE / "fits.json").read_text())


def test_model_files_of_every_release_from_0_2_on_are_recorded_and_predict_as_they_did():
    assert sorted(FILES) == sorted(set(RELEASES) - {"0.1"})
    for release, recorded in FILES.items():
        assert sorted(recorded["answers"]) == sorted(path.stem for path in (HERE / release).glob("*.skr"))
        for name, expected in recorded["answers"].items():
            found = answers(load_model(HERE / release / f"{name}.skr"))
            assert_same(found, expected, recorded["build"] == build())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_predicts_what_was_recorded(name, n_jobs):
    assert_same(answers(FITS[name](n_jobs)), RECORDED["answers"][name], RECORDED["build"] == build())


def test_the_records_of_make_golden_are_of_the_fits_models_and_commands_of_today():
    recorded = {section: json.loads(path_of(section).read_text())["answers"] for section in SECTIONS}
    assert list(recorded["answers"]) == list(recorded["fits"]) == list(FITS)
    assert list(recorded["models"]) == [*MODELS, "table"]
    commands = {name: lines_on(name) for name in TABLES} | {"others": other_lines()}
    assert {name: list(lines) for name, lines in recorded["commands"].items()} == commands
    assert sum(path.stat().st_size for path in (HERE / "records").iterdir()) < 3e6
