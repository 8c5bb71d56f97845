"""A column that is not there gets the name that was probably meant."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge.cli import main
from skewridge.tables.encoder import TableEncoder

QUICK = ["-e", "dac", "-p", "n_nodes=1", "-p", "bandwidth=1", "-p", "penalty=0.01"]
RNG = np.random.default_rng(0)
HOUSES = pd.DataFrame({"Sea View": RNG.integers(0, 2, 60), "area": RNG.gamma(4, 25, 60), "town": ["Oslo", "Voss"] * 30})
HOUSES["price"] = 20 * HOUSES["area"] + 100 * HOUSES["Sea View"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HOUSES.to_csv("train.csv", index=False)
    HOUSES.rename(columns={"area": "Area"}).to_csv("other.csv", index=False)
    return tmp_path


FIT = ["fit", "train.csv", "-t", "price", *QUICK]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "train.csv", "-t", "Price"], "has no column 'Price'; it has 'Sea View', 'area', 'town', 'price'. Did"),
        (["fit", "train.csv", "-t", "Price"], "Did you mean 'price'?"),
        (["fit", "train.csv", "-t", "prize"], "Did you mean 'price'?"),
        ([*FIT, "--features", "aera,sea_view"], "Did you mean 'area' for 'aera', 'Sea View' for 'sea_view'?"),
        ([*FIT, "--exclude", "twon"], "Did you mean 'town'?"),
        ([*FIT, "--categorical", "Town"], "Did you mean 'town'?"),
        ([*FIT, "--ordinal", "Town=Voss,Oslo"], "Did you mean 'town'?"),
        ([*FIT, "--kind", "towm=drop"], "Did you mean 'town'?"),
        (["diagnose", "train.csv", "-t", "PRICE"], "Did you mean 'price'?"),
        (["plan", "train.csv", "-t", "price "], "Did you mean 'price'?"),
    ],
)
def test_the_column_that_was_meant_is_named(arguments, message, capsys):
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert not Path("model.skr").exists()


def test_a_fitted_model_names_the_column_that_was_meant(capsys):
    assert main(FIT) == 0
    for arguments, meant in (
        (["predict", "model.skr", "train.csv", "--keep", "TOWN"], "town"),
        (["predict", "model.skr", "other.csv"], "Area"),
        (["evaluate", "model.skr", "train.csv", "-t", "prices"], "price"),
        (["report", "model.skr", "train.csv", "-t", "pirce"], "price"),
    ):
        capsys.readouterr()
        assert main(arguments) == 1
        assert f"Did you mean {meant!r}?" in capsys.readouterr().err


def test_nothing_is_guessed_where_nothing_is_near():
    with pytest.raises(ValueError, match=r"has no column 'quality'; it has 'Sea View', 'area', 'town', 'price'\.$"):
        TableEncoder(kinds={"quality": "drop"}).fit(HOUSES)
