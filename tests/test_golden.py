"""Files of earlier releases and a fixed set of fits predict what they did when they were recorded."""

import json

import pytest

from skewridge import load_model
from tests.golden import FITS, HERE, answers, assert_same, build
from tests.golden.commands import TABLES, lines_on, other_lines
from tests.golden.record import SECTIONS, path_of
from tests.saved import MODELS

FILES = {path.parent.name: json.loads(path.read_text()) for path in sorted(HERE.glob("*/files.json"))}
RECORDED = json.loads((HERE / "fits.json").read_text())


@pytest.mark.parametrize(("release", "name"), [(r, name) for r, found in FILES.items() for name in found["answers"]])
def test_a_model_file_of_an_earlier_release_predicts_as_it_did(release, name):
    model = load_model(HERE / release / f"{name}.skr")
    recorded = FILES[release]
    assert_same(answers(model), recorded["answers"][name], recorded["build"] == build())


def test_every_model_file_of_a_release_is_recorded():
    assert list(FILES) == ["0.1"]
    for release, recorded in FILES.items():
        assert sorted(recorded["answers"]) == sorted(path.stem for path in (HERE / release).glob("*.skr"))


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
