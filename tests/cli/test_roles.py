"""Weights, groups and times are columns of the table, and no features."""

from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skewridge import AdaptiveKernelRidge, load_model, make_table_model
from skewridge.cli import main
from skewridge.cli._fit import held_out
from tests.cli.commands import answer

FAST = ["-t", "y", "-e", "adaptive", "-j", "1", "-p", "n_centers=30", "-p", "bandwidth=2.0", "-p", "penalty=0.01"]
RNG = np.random.default_rng(0)
N = 240
ROWS = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "times": RNG.integers(0, 3, N),
        "site": [f"0{i % 24}" for i in range(N)],
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) // 2, "D"),
    }
)
ROWS["y"] = np.exp(ROWS["x"]) + RNG.normal(size=24)[np.arange(N) % 24]
SHUFFLED = ROWS.sample(frac=1, random_state=1)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SHUFFLED.assign(day=SHUFFLED["day"].dt.strftime("%d/%m/%Y")).to_csv("rows.csv", index=False)
    return tmp_path


def of_the_library(**known):
    model = make_table_model(AdaptiveKernelRidge(30, bandwidth=2.0, penalty=0.01, random_state=0))
    return model.fit(SHUFFLED[["x"]], SHUFFLED["y"], **known).predict(SHUFFLED[["x"]])


def test_weights_are_those_of_the_library_and_rows_of_weight_0_are_left_out(capsys):
    told = answer(capsys, "fit", "rows.csv", *FAST, "--weight", "times", "--features", "x")
    assert told["weight"] == "times"
    assert told["notes"] == [f"{(ROWS['times'] == 0).sum()} of 240 rows of weight 0 are left out."]
    expected = of_the_library(sample_weight=SHUFFLED["times"].to_numpy())
    np.testing.assert_allclose(load_model("model.skr").predict(SHUFFLED[["x"]]), expected, atol=1e-8)


@pytest.mark.parametrize(("option", "column"), [("groups", "site"), ("time", "day")])
def test_groups_and_times_are_no_features_and_are_said_everywhere(option, column, capsys):
    told = answer(capsys, "fit", "rows.csv", *FAST, f"--{option}", column, "--exclude", "times", "--holdout", "0.2")
    assert told[option] == column
    assert column not in told["features"]
    assert f"{column}</title>" in Path("model.html").read_text(encoding="utf-8")
    assert answer(capsys, "info", "model.skr")[option] == column
    assert answer(capsys, "evaluate", "model.skr", "rows.csv")[option] == column
    for command in (["info", "model.skr"], ["evaluate", "model.skr", "rows.csv"]):
        assert main(command) == 0
        assert f"{option}: rows of " in capsys.readouterr().out
    assert main(["report", "model.skr", "rows.csv"]) == 0
    assert column in capsys.readouterr().out


def test_groups_and_times_reach_the_fit(monkeypatch):
    given, fit = [], AdaptiveKernelRidge.fit

    @wraps(fit)
    def heard(self, X, y, **known):
        given.append(known)
        return fit(self, X, y, **known)

    monkeypatch.setattr(AdaptiveKernelRidge, "fit", heard)
    assert main(["fit", "rows.csv", *FAST, "--groups", "site", "--features", "x"]) == 0
    assert main(["fit", "rows.csv", *FAST, "--time", "day", "--features", "x,day"]) == 0
    groups, order = given[0]["groups"], given[1]["order"]
    assert np.array_equal(groups, pd.factorize(SHUFFLED["site"])[0])
    assert np.array_equal(np.argsort(order, kind="stable"), np.argsort(SHUFFLED["day"].to_numpy(), kind="stable"))
    assert [list(known) for known in given] == [["groups"], ["order"]]
    assert "day: days" in load_model("model.skr")["table"].get_feature_names_out()


def test_whole_groups_are_held_out():
    groups = np.repeat(np.arange(40), np.arange(1, 41))
    y = np.random.default_rng(0).exponential(size=len(groups)) + groups
    out = held_out(y, 0.2, 0, {"groups": groups})
    assert not set(groups[~out]) & set(groups[out])
    assert abs(out.sum() - 0.2 * len(y)) <= 40
    assert groups[out].min() < 15 < 30 < groups[out].max()  # of low and of high responses
    assert not np.array_equal(out, held_out(y, 0.2, 1, {"groups": groups}))
    assert held_out(y[:3], 0.5, 0, {"groups": np.array([0, 1, 1])}).sum() in (1, 2)


def test_the_last_rows_are_held_out():
    times = np.random.default_rng(0).permutation(np.arange(100.0) // 4)
    out = held_out(np.zeros(100), 0.1, 0, {"order": times})
    assert times[~out].max() < times[out].min()
    assert out.sum() in (8, 12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "site", "--time", "day"], "--groups and --time cannot both be given"),
        (["--weight", "y"], "--weight names 'y', which is the target"),
        (["--weight", "time"], "Did you mean 'times'?"),
        (["--groups", "Site"], "Did you mean 'site'?"),
        (["--weight", "x"], "--weight is how often a row occurs, 0 or more, and not 0 everywhere; 'x' is -"),
        (["--weight", "site2"], "Column 'site2' should hold numbers; 240 of 240 values are none"),
        (
            ["--weight", "gaps"],
            "--weight needs a value of 'gaps' in every row; 1 of 240 have none, the first of them row 3",
        ),
        (["--groups", "gaps"], "--groups needs a value of 'gaps' in every row; 1 of 240"),
        (["--time", "gaps"], "--time needs a value of 'gaps' in every row; 1 of 240"),
        (["--time", "site2"], "Column 'site2' should hold numbers, dates or times; 240 of 240 values are none"),
        (["--groups", "one", "--holdout", "0.1"], "--groups must hold at least two groups; got one for all 240 rows"),
        (["--time", "one", "--holdout", "0.1"], "--time must hold at least two times; got one for all 240 rows"),
        (
            ["-e", "dac", "--groups", "site"],
            "DacKernelRidge cannot take --groups. Take --estimator skew or --estimator",
        ),
        (["-e", "dac", "--weight", "times"], "DacKernelRidge cannot take --weight."),
    ],
)
def test_what_cannot_be_taken_is_refused(arguments, message, capsys):
    gaps = np.where(np.arange(N) == 2, np.nan, 1.0)
    table = pd.read_csv("rows.csv").assign(gaps=gaps, one=1, site2=SHUFFLED["site"].map("site {}".format).to_list())
    table.to_csv("rows.csv", index=False)
    own = [] if "dac" in arguments else FAST[2:]
    assert main(["fit", "rows.csv", "-t", "y", *own, *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not Path("model.skr").exists()
