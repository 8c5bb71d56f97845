"""Files of earlier releases and a fixed set of fits predict what they did when they were recorded."""

import json

import pytest

from skewridge import load_model
from tests.golden import FITS, HERE, answers, assert_same, build

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
