"""The engine of the experiments, what they measure, how it is drawn, and how claims are judged."""

import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[1]
SLOW = ROOT / "tests" / "slow_study.py"
sys.path.insert(0, str(ROOT / "experiments"))

import against_mean
import bandwidths
import bounds
import comparisons
import drawing
import effects
import figure2
import fits
import pace
import page
import paper
import realdata
import reproduce
import study
import tables as tables_of
import verdicts
from effects import Effect, Inequality

from tests import slow_study

STUDIES = {script.STUDY.name: script.STUDY for script in reproduce.SCRIPTS}


def places_in(folder):
    return study.Places(folder / "results", folder / "cache", folder / "pictures")


def begun(folder):
    return (folder / "begun").read_text().split()


def wait_for(folder, n_kept, process):
    """Wait until so many cells are kept."""
    cache = folder / "cache" / "slow.jsonl"
    for _ in range(600):
        if cache.exists() and len(study.Cache(cache).known) >= n_kept:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError("the study does not get on")


def start(folder, jobs, before=()):
    command = [*before, sys.executable, SLOW, folder, "--jobs", str(jobs)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def table_bytes(folder, name="slow"):
    return (folder / "results" / f"{name}.parquet").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The slow study, measured in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    study.run(slow_study.make(folder), "tiny", places_in(folder))
    return folder


@pytest.mark.parametrize(
    ("how", "jobs"), [(signal.SIGINT, 2), (signal.SIGTERM, 1), (signal.SIGKILL, 1), (signal.SIGKILL, 2)]
)
def test_a_stop_loses_no_more_than_the_cells_under_way(undisturbed, tmp_path, how, jobs):
    process = start(tmp_path, jobs)
    wait_for(tmp_path, 4, process)
    process.send_signal(how)
    told = process.communicate(timeout=30)[1]
    if how == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert "the same command goes on from there" in told
        assert "Traceback" not in told
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    twice = [cell for cell, times in Counter(begun(tmp_path)).items() if times > 1]
    assert len(set(begun(tmp_path))) == slow_study.N_CELLS
    assert len(twice) <= jobs
    assert table_bytes(tmp_path) == table_bytes(undisturbed)


def test_a_request_to_end_is_heard_where_ctrl_c_is_not(tmp_path):
    deaf = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]  # as a script's background jobs are
    process = start(tmp_path, 1, deaf)
    wait_for(tmp_path, 1, process)
    process.terminate()
    assert process.communicate(timeout=30)[1].count("the same command goes on from there") == 1
    assert process.returncode == 130


def test_a_second_run_measures_nothing_and_gives_the_same_bytes(undisturbed, tmp_path):
    for _ in range(2):
        study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    assert len(begun(tmp_path)) == slow_study.N_CELLS
    assert table_bytes(tmp_path) == table_bytes(undisturbed)


def test_rows_are_in_the_order_of_the_cells_whatever_was_known_first(undisturbed, tmp_path):
    backwards = replace(slow_study.make(tmp_path), cells=lambda scale: slow_study.cells(scale)[::-1])
    study.run(backwards, "tiny", places_in(tmp_path))
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    assert table_bytes(tmp_path) == table_bytes(undisturbed)


def test_seconds_are_kept_beside_the_table(undisturbed):
    table, times = (tables_of.load(name, undisturbed / "results") for name in ("slow", "slow.seconds"))
    assert list(table) == ["method", "seed", "value"]
    assert list(times) == ["method", "seed", "seconds", "took"]
    joined = tables_of.with_seconds(table, "slow", undisturbed / "results")
    assert (joined["seconds"] > 0).all()
    assert len(joined) == len(table)


@pytest.mark.parametrize("place", [0, 5, slow_study.N_CELLS - 1])
def test_a_line_cut_short_is_measured_again_and_spoils_no_other(undisturbed, tmp_path, place):
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    cache = tmp_path / "cache" / "slow.jsonl"
    lines = cache.read_bytes().split(b"\n\n")
    lines[place] = lines[place][: len(lines[place]) // 2]  # as a write that was cut short leaves it
    cache.write_bytes(b"\n".join(lines))
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    assert len(begun(tmp_path)) == slow_study.N_CELLS + 1
    assert table_bytes(tmp_path) == table_bytes(undisturbed)


def fail_at_three(cell):
    if cell["seed"] == 3:
        raise ValueError("three")
    return {"value": cell["seed"]}


def test_a_cell_that_fails_is_named_and_the_others_are_kept(tmp_path):
    failing = replace(slow_study.make(tmp_path), measure=fail_at_three)
    with pytest.raises(RuntimeError, match=r"'method': 'a', 'seed': 3.* could not be measured: ValueError: three"):
        study.run(failing, "tiny", places_in(tmp_path))
    assert len(study.Cache(tmp_path / "cache" / "slow.jsonl").known) == 6
    assert not (tmp_path / "results").exists()


def test_other_sources_are_told(undisturbed, tmp_path, monkeypatch, capsys):
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    assert "other sources" not in capsys.readouterr().err
    monkeypatch.setattr(study, "sources", lambda measure: "changed")
    study.run(slow_study.make(tmp_path), "tiny", places_in(tmp_path))
    assert "24 of 24 cells were measured by other sources" in capsys.readouterr().err


def test_what_is_lacking_is_told_and_nothing_is_run(tmp_path, capsys):
    lacking = replace(slow_study.make(tmp_path), lacking=lambda: "there is no such data")
    assert study.run(lacking, "tiny", places_in(tmp_path)) is None
    assert "[slow] not run: there is no such data" in capsys.readouterr().err
    assert study.expected_seconds(lacking, "tiny", places_in(tmp_path), 1) == 0


def test_absent_data_and_absent_splines_are_named(monkeypatch, tmp_path):
    import skewridge

    monkeypatch.setattr(realdata.data, "FOLDER", tmp_path)
    assert "set SKEWRIDGE_DATA" in STUDIES["figure6"].lacking()
    assert "set SKEWRIDGE_DATA" in STUDIES["earthquakes"].lacking()
    monkeypatch.setattr(skewridge, "__all__", [])
    assert "no SmoothingSpline" in STUDIES["supplement_splines"].lacking()


def test_pictures_are_drawn_from_the_table_alone(undisturbed, tmp_path):
    places = replace(places_in(undisturbed), cache=tmp_path / "nowhere", pictures=tmp_path)
    refusing = replace(slow_study.make(tmp_path), measure=None, cells=None)
    study.draw(refusing, places)
    assert (tmp_path / "slow.txt").read_text() == "24 rows, mean 1.285714"


def test_nothing_is_drawn_without_a_table(tmp_path, capsys):
    study.draw(slow_study.make(tmp_path), places_in(tmp_path))
    assert "not drawn: there is no table" in capsys.readouterr().err


def test_progress_tells_the_time_left(capsys):
    known = pace.Pace()
    cells = [{"method": method, "seed": seed} for seed in range(3) for method in ("fast", "slow")]
    progress = pace.Progress("study", 0, cells, known, jobs=2)
    assert "0/6 cells" in (told := capsys.readouterr().err)
    assert "not known yet" in told
    progress.shown = -np.inf
    progress.finished(cells[0], 10.0)
    assert "1/6 cells" in (told := capsys.readouterr().err)
    assert "about 25 s left" in told  # five cells of ten seconds on two processes
    progress.shown, progress.later = -np.inf, 60.0
    progress.finished(cells[1], 100.0)
    assert "about 1 min 50 s left, 2 min 50 s in all" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (59.7, "1 min 00 s"), (3599.9, "1 h 00 min")])
def test_times_in_words(seconds, words):
    assert pace.in_words(seconds) == words


@pytest.mark.parametrize("scale", study.SCALES)
@pytest.mark.parametrize("name", STUDIES)
def test_cells_are_distinct_alike_and_go_seed_by_seed(name, scale):
    cells = STUDIES[name].cells(scale)
    assert len({study.key_of(cell) for cell in cells}) == len(cells)
    assert len({tuple(cell) for cell in cells}) == 1
    assert [cell["seed"] for cell in cells] == sorted(cell["seed"] for cell in cells)


def test_the_full_version_has_a_hundred_replicates():
    for one in STUDIES.values():
        assert len({cell["seed"] for cell in one.cells("full")}) == 100


MEASURED = {"mse", "rare_mse", "n_nodes", "n_slices", "n_oversampled", "n_distinct", "n_centers", "flops",
            "chosen_bandwidth", "chosen_penalty", "seconds"}  # fmt: skip


@pytest.mark.parametrize("method", [m for m in (*fits.METHODS, *fits.CENTERED) if m != "breaks"])
def test_every_method_is_measured(method):
    version = "tuned" if method in fits.CENTERED else "node"
    found = fits.measure(fits.cell_of("two peaks", 90, 2, 3, method, version, 0))
    assert set(found) == MEASURED
    assert 0 < found["mse"] < 1
    assert found["flops"] > 0


@pytest.mark.parametrize("method", ["classical", "full"])
def test_tuned_settings_are_chosen(method):
    tuned, given = (
        fits.measure(fits.cell_of("one peak", 90, 2, 3, method, version, 0)) for version in ("tuned", "rule")
    )
    assert given["chosen_bandwidth"] == fits.BANDWIDTHS[2]
    assert given["chosen_penalty"] == 1 / 90
    assert tuned["chosen_bandwidth"] != given["chosen_bandwidth"]


def test_published_penalties_are_those_of_the_node_size():
    for version, power in (("node", -2 / 3), ("code", -5 / 3)):
        found = fits.measure(fits.cell_of("two peaks", 90, 2, 3, "classical", version, 0))
        assert found["chosen_penalty"] == pytest.approx(30**power)
    assert found["chosen_bandwidth"] == fits.CODE_BANDWIDTH
    wide = fits.measure(fits.cell_of("two peaks", 90, 2, 3, "classical", "rule", 0, width=2.0))
    assert wide["chosen_bandwidth"] == 2 * fits.BANDWIDTHS[2]


def test_equal_cost_is_the_fewest_nodes_that_cost_no_more():
    from skewridge.datasets import make_peaks
    from skewridge.nodes.partition import make_plan
    from skewridge.response.slices import slice_quietly

    _, y = make_peaks(500, 2, random_state=0)
    few = fits.nodes_of_equal_cost(y, 50, 2)
    most = make_plan(slice_quietly(y), 50, 2).n_flops
    assert make_plan(slice_quietly(y, 1), few, 2).n_flops <= most
    assert few == 1 or make_plan(slice_quietly(y, 1), few - 1, 2).n_flops > most


@pytest.mark.parametrize("function", [*fits.PEAKS, *fits.FUNCTIONS])
def test_data_are_of_the_seed(function):
    cell = fits.cell_of(function, 50, 2, 3, "classical", "rule", 1)
    first, again = fits.make_data(cell), fits.make_data(cell)
    other = fits.make_data({**cell, "seed": 2})
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])
    assert first[2].shape == (10_000, 2)


def test_scenarios_are_what_they_are_called():
    from skewridge import diagnose

    found = {
        function: diagnose(fits.make_data(fits.cell_of(function, 4000, 2, 3, "classical", "rule", 0))[1]).scenario
        for function in ("even", "slight", "two peaks")
    }
    assert found == {"even": 1, "slight": 2, "two peaks": 3}


def test_the_toy_deals_every_copy_once_and_keeps_no_duplicate():
    toy = pandas.DataFrame(figure2.measure(figure2.cells("tiny")[0]))
    assert toy["node"].nunique() == toy["slice"].nunique() == 3
    assert len(toy.drop_duplicates(["slice", "row", "copy"])) == len(toy)
    kept = toy[toy["kept"]]
    assert len(kept) == len(toy.drop_duplicates(["slice", "row", "node"]))


def invented(cell):
    """A plausible record in no time: Algorithm 2 is better unless tuned, and everything is better with more rows."""
    rng = np.random.default_rng(abs(hash_of(cell)) % 2**32)
    gain = {"classical": 1.0, "equal cost": 0.9, "full": 0.6}.get(cell["method"], 0.7)
    gain = 1.2 if cell["version"] == "tuned" and cell["method"] == "oversampled" else gain
    mse = gain * cell["N"] ** -0.5 * np.exp(0.02 * rng.standard_normal())
    costs = {"classical": 1e6, "oversampled": 8e6}.get(cell["method"], 4e6)
    return {"kind": "fit", "mse": mse, "rare_mse": 3 * mse, "rare_predicted_mse": 2 * mse, "test_variance": 1.0,
            "n_slices": 10, "n_distinct": 100, "flops": costs * cell["N"], "seconds": 1e-8 * costs}  # fmt: skip


def hash_of(cell):
    return int.from_bytes(study.key_of(cell).encode()[-24:], "big")


OWN = ("figure1", "figure2", "bounds")  # quick enough to be measured as they are


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Every study's table at the least scale; those of many fits with invented errors."""
    import figure3

    folder = tmp_path_factory.mktemp("tables")
    for name, one in STUDIES.items():
        quick = replace(one, lacking=study.nothing, warm=study.nothing)
        if name == "figure3":
            shaped = lambda cell: list(figure3.shape(cell)) if cell["method"] == "slices" else invented(cell)  # noqa: E731
            quick = replace(quick, measure=named(shaped))
        elif name not in OWN:
            quick = replace(quick, measure=named(invented), cache=f"invented_{name}")
        study.run(quick, "tiny", places_in(folder))
    return folder


def named(function):
    function.__module__ = __name__
    return function


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_drawn_from_its_table_with_every_axis_labelled(tables, tmp_path, monkeypatch, name):
    from matplotlib.figure import Figure

    found = []

    def read(figure, file, **_):
        found.extend(labels(figure))
        drawing.Image.new("RGB", (1, 1)).save(file, "PNG")  # to lay a figure out takes seconds

    monkeypatch.setattr(Figure, "savefig", read)
    places = replace(places_in(tables), cache=tmp_path / "nowhere", pictures=tmp_path)
    study.draw(replace(STUDIES[name], measure=None, cells=None), places)
    assert {page.owner(path.stem) for path in tmp_path.iterdir()} == {name}
    assert found
    assert all(found)


def labels(figure):
    """What stands along every axis, or above it."""
    return [ax.get_xlabel() or ax.get_ylabel() or ax.get_title() for ax in figure.axes]


def test_a_picture_is_a_file_of_few_colours_without_a_date(tmp_path):
    for name in ("first", "second"):
        figure, axes = drawing.panels(1, 1)
        axes[0, 0].plot([1, 2], label="line")
        drawing.save(figure, tmp_path, name)
    first, second = (tmp_path / f"{name}.png" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert drawing.Image.open(first).mode == "P"


def test_two_real_runs_give_identical_tables(tables, tmp_path):
    for name in ("figure2", "bounds"):
        study.run(STUDIES[name], "tiny", places_in(tmp_path))
        assert table_bytes(tmp_path, name) == table_bytes(tables, name)


def test_a_single_replicate_has_no_error_bar():
    told = effects.summary(pandas.DataFrame({"N": [1, 1, 2], "mse": [1.0, 3.0, 5.0]}), "N")
    assert told["mean"].tolist() == [2.0, 5.0]
    assert told["error"].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1e-5, 1e-1, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
        (2e-5, 4e-4, [3e-5, 1e-4, 3e-4]),
        (7.9e-4, 1.1e-3, [8e-4, 9e-4, 1e-3]),
    ],
)
def test_logarithmic_axes_have_few_ticks(low, high, ticks):
    figure, axes = drawing.panels(1, 1)
    axes[0, 0].set(yscale="log", ylim=(low * 0.999, high * 1.001))
    drawing.few_ticks(axes[0, 0].yaxis)
    assert axes[0, 0].get_yticks().tolist() == pytest.approx(ticks)
    drawing.plt.close(figure)


def test_sources_are_those_of_what_a_study_depends_on(monkeypatch):
    assert {path.name for path in (*bounds.NEEDS, *realdata.NEEDS)} == {"variance.py", "data.py"}
    before = study.sources(bounds.measure)
    assert study.sources(bounds.measure) == before
    monkeypatch.setattr(bounds, "NEEDS", ())
    assert study.sources(bounds.measure) != before


def bandwidth_table(errors):
    """Algorithm 2's errors by width, where the classical method's are 1, in units of the truth's variance."""
    one = {function: against_mean.truth_variance(function, 2) for function in bandwidths.SKEWED}
    return pandas.DataFrame([
        {"function": function, "d": 2, "N": 50, "method": method, "version": version, "width": width, "seed": seed,
         "mse": one[function] * (error if method == "oversampled" else 1.0) * (1 + seed / 1e3)}
        for function in bandwidths.SKEWED for version in fits.PENALTIES for width, error in errors.items()
        for method in ("classical", "oversampled") for seed in range(3)
    ])  # fmt: skip


def test_the_page_says_what_other_bandwidths_would_do():
    told = bandwidths.by_bandwidth(bandwidth_table({0.5: 0.9, 1.0: 3.0}))
    assert "| node | ours x 0.5 | **0.90** / **0.90** | 2 of 2 | 0 |" in told
    assert "| code | 0.1 x 1 | 3.00 (loses) / 3.00 (loses) | 0 of 2 | 2 |" in told
    assert "with rule at ours x 0.5; node at ours x 0.5; code at 0.1 x 0.5 (ours not among them)" in told
    assert "(ours among them)" in bandwidths.by_bandwidth(bandwidth_table({1.0: 0.9}))
    assert "would not hold with any" in bandwidths.by_bandwidth(bandwidth_table({1.0: 3.0}))
    assert "has not been run" in bandwidths.by_bandwidth(None)


def test_fits_that_are_worse_than_the_mean_are_named():
    table = bandwidth_table({1.0: 3.0}).assign(k=3)
    found = dict.fromkeys(against_mean.STUDIES)
    assert against_mean.worse_than_the_mean(found) == "No fit is."
    told = against_mean.worse_than_the_mean({**found, "figure4": table})
    assert "| figure4 | Algorithm 2: 2 of 2 (x 3) |" in told
    good = table.assign(mse=table["mse"] / 10)
    assert against_mean.worse_than_the_mean({**found, "figure4": good}) == "No fit is."
    real = good.drop(columns=["function", "d"]).assign(test_variance=good["mse"] / 2)
    assert "classical: 1 of 1 (x 2)" in against_mean.worse_than_the_mean({**found, "figure6": real})


def test_sizes_say_what_was_run_and_what_two_errors_mean():
    table = pandas.DataFrame({"seed": [0, 1, 2, 2], "N": [10, 2000, 10, 10], "d": 2, "k": [1, 100, 100, 20],
                              "method": ["full", "classical", "tau=1/2", "oversampled"]})  # fmt: skip
    assert page.sizes_of("figure4", table) == ["3", "82%", "10, 2,000", "2", "20, 100", "1/2, 1"]
    assert page.sizes_of("figure6", table.drop(columns="d"))[3] == "3"
    assert [page.covered(n) for n in (1, 4, 100)] == ["-", "86%", "95%"]


def test_pictures_are_told_in_words():
    assert page.words("figure6", "figure6") == "Figure 6: Melbourne"
    assert page.words("figure6_costs", "figure6") == "Figure 6: Melbourne (time, operations, and errors against them)"


def test_additions_are_compared_with_algorithm_two_and_at_equal_cost():
    rows = [
        {"function": "one peak", "d": 2, "N": 50, "version": "tuned", "method": method, "seed": seed, "flops": 1e6,
         "mse": error * (1 + seed / 1e3), "rare_mse": error}
        for method, error in {"oversampled": 2.0, "equal cost": 1.0, "focus": 1.5, "pilot": 1.5, "adaptive": 0.5,
                              "adaptive gaussian": 0.5}.items() for seed in range(3)
    ]  # fmt: skip
    told = comparisons.additions(pandas.DataFrame(rows))
    assert "| one peak, d = 2 | **0.75** / **0.75**, 1 |" in told
    assert "- focus 1/2: in 1 of 1 settings: one peak, d = 2." in told
    assert "- adaptive centres: in 0 of 1 settings." in told


def effect_test(mean, error=0.01, **bounds):
    return Inequality("here", Effect(mean, error), **bounds)


@pytest.mark.parametrize(
    ("mean", "error", "bounds", "holds", "contradicted"),
    [
        (-0.1, 0.04, {}, True, False),
        (-0.1, 0.06, {}, False, False),  # within two standard errors: undecided
        (0.1, 0.04, {}, False, True),
        (-0.1, np.inf, {}, False, False),  # a single replicate decides nothing
        (np.nan, np.nan, {}, False, False),
        (0.05, 0.02, {"low": -0.1, "high": 0.1}, True, False),
        (0.05, 0.03, {"low": -0.1, "high": 0.1}, False, False),
        (0.2, 0.03, {"low": -0.1, "high": 0.1}, False, True),
        (0.0, 0.0, {}, True, False),  # exact, and at the bound
    ],
)
def test_an_inequality_needs_two_standard_errors(mean, error, bounds, holds, contradicted):
    one = effect_test(mean, error, **bounds)
    assert (one.holds, one.contradicted) == (holds, contradicted)


GOOD, BAD = effect_test(-1.0), effect_test(1.0)


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ({"rule": [GOOD], "node": [BAD], "tuned": [GOOD]}, "holds"),
        ({"rule": [BAD], "node": [GOOD], "tuned": [BAD]}, "holds only under the published rule"),
        ({"rule": [BAD], "code": [GOOD], "tuned": [GOOD, BAD]}, "holds only under the published rule"),
        ({"rule": [BAD], "node": [BAD], "tuned": [GOOD]}, "does not hold"),
        ({"rule": [GOOD, BAD], "tuned": [BAD]}, "does not hold"),
        ({"rule": [], "tuned": []}, "does not hold"),
        ({"exact": [GOOD]}, "holds"),
        ({"exact": [GOOD, BAD]}, "does not hold"),
    ],
)
def test_verdicts(tests, verdict):
    assert verdicts.verdict(tests) == verdict


def errors_of(values):
    """A table of methods' errors by seed."""
    return pandas.DataFrame(
        [{"method": m, "seed": s, "N": 10, "mse": e} for m, errors in values.items() for s, e in enumerate(errors)]
    )


def test_ratios_are_paired_by_seed():
    table = errors_of({"a": [1.0, 10.0, 100.0], "b": [2.0, 20.0, 200.0]})
    effect = effects.log_ratio(table, {"method": "a"}, {"method": "b"})
    assert effect.mean == pytest.approx(np.log(0.5))
    assert effect.error == pytest.approx(0.0, abs=1e-12)  # unpaired it would be large


def strata_of(*found):
    """Errors of "a" over those of "b", stratum by stratum, as logarithms by seed."""
    parts = [errors_of({"a": np.exp(values), "b": [1.0] * len(values)}).assign(N=n) for n, values in enumerate(found)]
    return effects.log_ratio(pandas.concat(parts), {"method": "a"}, {"method": "b"}, strata=("N",))


def test_strata_are_averaged_within_a_seed_as_they_share_its_data():
    effect = strata_of([0.0, 0.2], [5.0, 5.2])
    assert effect.mean == pytest.approx(2.6)
    assert effect.error == pytest.approx(0.1)  # not the spread between strata, nor as if they were independent


def test_a_seed_that_lacks_a_stratum_is_left_out_unless_all_do():
    assert strata_of([0.0, 0.2, 9.0], [5.0, 5.2]).mean == pytest.approx(2.6)
    assert strata_of([0.0, np.nan], [np.nan, 5.0]).mean == pytest.approx(2.5)


def test_a_ratio_of_nothing_is_not_a_number():
    table = errors_of({"a": [1.0]})
    assert np.isnan(effects.log_ratio(table, {"method": "a"}, {"method": "b"}).mean)


def test_slopes_are_those_of_a_power():
    rows = [{"seed": s, "N": n, "mse": (s + 1) * n**-0.7} for s in range(3) for n in (10, 20, 40)]
    effect = effects.slope(pandas.DataFrame(rows), "N")
    assert effect.mean == pytest.approx(-0.7)
    assert effect.error == pytest.approx(0.0, abs=1e-12)


@pytest.fixture(scope="module")
def judged(tables):
    """Every claim's tests, by its text."""
    return {one.claim.text: one for one in verdicts.judged_claims(places_in(tables).results)}


def test_claims_are_judged_by_what_was_measured(judged):
    better = judged["Oversampling is consistently better than the classical method on as many nodes"]
    assert better.verdict == "holds only under the published rule"  # as it was invented
    assert np.exp(better.tests["tuned"][0].effect.mean) == pytest.approx(1.2, rel=0.05)
    costs = judged["Melbourne: oversampling costs about as much time as the classical method"]
    assert costs.verdict == "does not hold"
    assert not costs.is_open
    for found in (costs.tests["tuned"][0], costs.operations[0]):  # seconds as they were invented, and operations
        assert np.exp(found.effect.mean) == pytest.approx(8.0)
    assert judged["N~ is at most l N"].verdict == "holds"
    assert {one.verdict for one in judged.values()} <= {
        verdicts.HOLDS, verdicts.PUBLISHED_ONLY, verdicts.FAILS
    }  # fmt: skip


def test_the_variance_does_not_fall_with_shared_rows(judged):
    falls = judged["The variance falls with N~"]
    assert all(tests[0].effect.mean > 0 for tests in falls.tests.values())  # to the classical method


def test_every_claim_of_the_paper_is_there():
    told = " ".join(claim.text for claim in paper.CLAIMS)
    for words in ("better than the classical", "larger tau is better", "converges faster", "Scott's rule is the best",
                  "fixed number of slices", "Without skewness", "scenario 1", "scenario 2", "More slices take longer",
                  "More slices lower the risk", "robust to the number of slices", "robust to the number of nodes",
                  "comparable with full", "almost twice", "costs about as much time", "Smoothing splines",
                  "variance falls"):  # fmt: skip
        assert words in told
    assert {claim.study for claim in paper.CLAIMS} <= set(STUDIES)
    assert set(page.STUDIES) == set(STUDIES)


VERDICTS = {"**holds**", "**holds only under the published rule**", "**does not hold**"}


def verdicts_on(path):
    """Every claim's text and verdict on a page."""
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ") and "](#" in line]
    return {row[1]: row[4] for row in rows}


def test_the_page_gives_every_claim_its_verdict(tables, judged, tmp_path):
    path = tmp_path / "page.md"
    verdicts.write_page("tiny", places_in(tables), path)
    assert "$" not in path.read_text()
    assert set(verdicts_on(path)) == set(judged)
    assert set(verdicts_on(path).values()) <= VERDICTS


def test_without_seconds_claims_about_time_alone_are_not_measured(tables, judged, tmp_path):
    shutil.copytree(tables / "results", tmp_path / "results", ignore=shutil.ignore_patterns("*.seconds.parquet"))
    path = tmp_path / "page.md"
    verdicts.write_page("tiny", places_in(tmp_path), path)
    found = verdicts_on(path)
    assert set(found) == set(judged)
    assert "| not measured |" in path.read_text()  # in the table of real data
    unmeasured = {text for text, verdict in found.items() if verdict == "**not measured**"}
    assert unmeasured == {text for text, one in judged.items() if one.claim.operations}
    assert f"; not measured: {len(unmeasured)}." in path.read_text()
    assert {found[text] for text in set(found) - unmeasured} <= VERDICTS


def judged_as(**tests):
    return verdicts.Judged(paper.CLAIMS[0], tests, {}, [])


def test_a_claim_is_undecided_if_one_published_way_is_nowhere_contradicted():
    unsure = effect_test(-1.0, 1.0)
    assert judged_as(rule=[BAD], node=[GOOD, unsure], tuned=[BAD]).is_open
    assert not judged_as(rule=[BAD, unsure], node=[GOOD, BAD], tuned=[unsure]).is_open
    assert not judged_as(rule=[GOOD], node=[unsure], tuned=[BAD]).is_open  # holds, if only there
    counted = [judged_as(rule=[unsure], tuned=[BAD]), judged_as(rule=[BAD], tuned=[BAD])]
    assert "does not hold: 2 (1 contradicted, 1 undecided)" in verdicts.counts(counted)


def test_a_reason_begins_with_what_the_verdict_hangs_on():
    unsure = effect_test(-1.0, 1.0)
    assert verdicts.reason(judged_as(rule=[BAD], node=[GOOD], code=[GOOD], tuned=[BAD])).startswith(
        "Under n^(-2/3), the authors' code only: "
    )
    assert verdicts.reason(judged_as(rule=[unsure], node=[BAD], tuned=[BAD])).startswith("Undecided under 1/N: ")
    assert verdicts.reason(judged_as(rule=[GOOD], tuned=[GOOD])).startswith(paper.CLAIMS[0].inequality)


def test_the_page_without_any_table_says_what_waits(tmp_path):
    verdicts.write_page("reduced", places_in(tmp_path), tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert f"Claims that wait for the tables to test them on: {len(paper.CLAIMS)}." in text
    assert "**holds**:" in text  # what the words mean


@pytest.mark.parametrize("scale", ["full", "reduced"])
def test_the_page_is_what_the_kept_tables_say(tmp_path, scale):
    places = study.Places.of(scale)
    text = (ROOT / "docs" / "reproduction.md").read_text()
    if page.SCALES[scale] not in text or not list(places.results.glob("*.parquet")):
        pytest.skip(f"the page is not that of the {scale} version")
    verdicts.write_page(scale, places, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == text


@pytest.mark.full
def test_the_whole_reproduction_runs_twice_alike(tmp_path, monkeypatch):
    page_of = {}
    for name, jobs in (("one", 1), ("two", 2)):
        folder = tmp_path / name
        monkeypatch.setattr(verdicts.write_page, "__defaults__", (tmp_path / f"{name}.md",))
        flags = [f"--{part}={folder / part}" for part in ("results", "cache")]
        reproduce.main(["--scale=tiny", f"--jobs={jobs}", f"--pictures={tmp_path / 'pictures'}", *flags])
        assert (tmp_path / f"{name}.md").exists()
        drawn = {page.owner(path.stem) for path in (tmp_path / "pictures").glob("*.png")}
        assert {path.stem for path in (folder / "results").glob("*.parquet")} - drawn == {f"{n}.seconds" for n in drawn}
        for path in (folder / "results").glob("*.seconds.parquet"):  # they differ from run to run, and the page by them
            path.unlink()
        verdicts.write_page("tiny", replace(places_in(folder), pictures=tmp_path / "pictures"))
        page_of[name] = (tmp_path / f"{name}.md").read_text()
    assert page_of["one"] == page_of["two"]
    for path in (tmp_path / "one" / "results").glob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "two" / "results" / path.name).read_bytes()
