import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from skewridge import (
    AdaptiveKernelRidge,
    DacKernelRidge,
    LocalKernelRidge,
    SkewRidge,
    SmoothingSpline,
    TableEncoder,
    load_model,
    make_table_model,
    save_model,
)
from skewridge.estimators.table_model import TableModel
from tests.tables.test_encoder import PRICE, RAW, raw

pd = pytest.importorskip("pandas")
SMALL = AdaptiveKernelRidge(30, 0.5, bandwidth=2.0, penalty=1e-2, random_state=0)
NEW, _ = raw(60, seed=1)


@pytest.fixture(scope="module")
def fitted():
    return make_table_model(SMALL).fit(RAW, PRICE)


def test_it_is_the_pipeline_of_encoder_and_estimator(fitted):
    plain = make_pipeline(TableEncoder(), clone(SMALL)).fit(RAW, PRICE)
    assert np.array_equal(fitted.predict(NEW), plain.predict(NEW))
    assert is_regressor(fitted)
    assert isinstance(make_table_model().steps[-1][1], SkewRidge)
    assert make_table_model(max_categories=5, missing="refuse").get_params()["table__max_categories"] == 5
    assert str(fitted.summary_) == str(fitted["table"].summary_)


def test_what_the_estimator_can_do_works_on_raw_tables(fitted):
    numbers = fitted["table"].transform(NEW)
    low, high = fitted.predict_interval(NEW, 0.8)
    expected = fitted["model"].predict_interval(numbers, coverage=0.8)
    assert np.array_equal([low, high], expected)
    assert np.array_equal(fitted.predict_interval(pl.from_pandas(NEW), 0.8), expected)
    assert fitted.tuning_ is fitted["model"].tuning_
    assert fitted.predict(NEW, return_std=True)[1].shape == (60,)
    again = clone(fitted).fit(RAW, PRICE).calibrate(NEW, np.arange(60.0))
    assert again.calibration_.source == "fresh"


def test_methods_that_estimators_get_later_are_handed_on():
    class Later(DacKernelRidge):
        def predict_exceedance(self, X, threshold):
            """Say how often."""
            return (self.predict(X) > threshold).astype(float)

    model = make_table_model(Later(1, bandwidth=1.0, penalty=0.1)).fit(RAW, PRICE)
    assert np.array_equal(model.predict_exceedance(NEW, threshold=5.0), model.predict(NEW) > 5.0)
    assert model.predict_exceedance.__doc__ == "Say how often."


def test_what_the_estimator_has_not_is_not_there(fitted):
    for name in ("predict_proba", "predict_nothing", "nothing_", "_private_", "classes_", "other"):
        assert not hasattr(fitted, name)
    with pytest.raises(AttributeError, match="'TableModel' object has no attribute 'other'"):
        _ = fitted.other


def test_it_survives_clone_search_pickle_and_cross_validation(fitted):
    assert clone(fitted).get_params()["model__bandwidth"] == 2.0
    search = GridSearchCV(
        make_table_model(SMALL), {"model__penalty": [1e-2, 1e2], "table__max_categories": [30, 50]}, cv=2
    )
    search.fit(RAW, PRICE)
    assert isinstance(search.best_estimator_, TableModel)
    assert search.best_params_["model__penalty"] == 1e-2
    assert len(search.best_estimator_.predict_interval(NEW)[0]) == 60
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(NEW), fitted.predict(NEW))
    assert cross_val_predict(make_table_model(SMALL), RAW, PRICE, cv=2).shape == (240,)


def test_warnings_point_at_the_callers_line_and_not_into_scikit_learn(fitted):
    with pytest.warns(UserWarning, match="has not seen") as caught:
        fitted.predict(NEW.assign(agent="nobody"))
    assert {warning.filename for warning in caught} == {__file__}
    folds = [(np.arange(120), np.arange(120, 240))]
    sold = RAW.assign(agent=RAW["agent"].where(np.arange(240) < 120, "nobody"))
    with pytest.warns(UserWarning, match="has not seen") as caught:
        cross_val_score(make_table_model(SMALL), sold, PRICE, cv=folds)
    unseen = [warning for warning in caught if "has not seen" in str(warning.message)]
    assert {warning.filename for warning in unseen} == {__file__}


def test_files_bring_all_of_it_back(fitted, tmp_path):
    fitted.calibrate()
    save_model(fitted, tmp_path / "m.skr")
    loaded = load_model(tmp_path / "m.skr")
    assert type(loaded) is TableModel
    assert np.array_equal(loaded.predict_interval(NEW), fitted.predict_interval(NEW))
    assert str(loaded.summary_) == str(fitted.summary_)


def test_weights_groups_and_order_go_where_they_belong():
    model = make_table_model(LocalKernelRidge(random_state=0))
    weights = np.where(np.arange(240) < 200, 1.0, 0.0)
    weighted = clone(model).fit(RAW, PRICE, sample_weight=weights)
    encoder = TableEncoder()
    numbers = encoder.fit_transform(RAW, PRICE, sample_weight=weights)
    alone = LocalKernelRidge(random_state=0).fit(numbers, PRICE, sample_weight=weights)
    assert np.array_equal(weighted.predict(NEW), alone.predict(encoder.transform(NEW)))
    other = np.where(weights > 0, PRICE, 1e6)  # what has no weight enters neither means nor fit
    assert np.array_equal(clone(model).fit(RAW, other, sample_weight=weights).predict(NEW), weighted.predict(NEW))
    late = np.where(np.arange(240) >= 216, PRICE + 1e6, PRICE)
    rows = [clone(model)["table"].fit_transform(RAW, y, order=np.arange(240)) for y in (PRICE, late)]
    means = model["table"].fit(RAW, PRICE).get_feature_names_out().tolist().index("agent: mean")
    ratio = rows[1][:, means] / np.where(rows[0][:, means] == 0, np.nan, rows[0][:, means])
    assert np.nanmax(ratio) - np.nanmin(ratio) < 1e-9  # the last tenth is seen by no row: the scale is all that moves
    grouped = clone(model).fit(RAW, PRICE, groups=RAW["agent"])
    assert np.isfinite(grouped.expected_error_.mse)
    assert not grouped["table"].columns_[1].means.scales[0]  # means of the column that names the groups tell nothing
    with pytest.raises(ValueError, match="weight"):
        clone(model).fit(RAW, PRICE, weight=weights)


@pytest.mark.parametrize("estimator", [SkewRidge(), LocalKernelRidge(), SMALL, DacKernelRidge(1), SmoothingSpline()])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_raw_frame_is_refused_with_the_lines_that_fit_it(estimator, kind):
    pa = pytest.importorskip("pyarrow")
    frame = RAW.assign(sold=pd.to_datetime(RAW["sold"], dayfirst=True))
    table = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}[kind](frame)
    with pytest.raises(
        TypeError, match="got dates, times or durations in sold and text in agent, area, text"
    ) as caught:
        clone(estimator).fit(table, PRICE)
    lines = str(caught.value).split("\n\n")[1].splitlines()
    assert len(lines) == 2
    names = {}
    exec(lines[0], names)
    model = eval(lines[1].removeprefix("model = ").removesuffix(".fit(X, y)"), names)
    assert isinstance(model, TableModel)
    assert repr(model["model"]) == repr(estimator)


def test_numbers_stored_as_text_or_categories_still_fit_as_they_did():
    frame = pd.DataFrame({"a": ["1", "2", "4"], "b": pd.Categorical([1, 2, 3])})
    model = DacKernelRidge(1, bandwidth=1.0, penalty=0.1).fit(frame, [1.0, 2.0, 3.0])
    assert model.n_features_in_ == 2


def test_random_levels_change_neither_the_error_nor_what_is_stated():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3000, 2))
    y = np.exp(3 * x[:, 0]) + rng.exponential(size=3000)
    table = pd.DataFrame(x, columns=["a", "b"])
    noisy = table.assign(level=[f"level {i}" for i in rng.integers(0, 300, 3000)])
    errors, stated = [], []
    for rows in (table, noisy):
        model = make_table_model(SkewRidge("laplacian", random_state=0)).fit(rows[:1500], y[:1500])
        errors.append(np.mean((model.predict(rows[1500:]) - y[1500:]) ** 2))
        stated.append(model.expected_error_.mse)
    assert "mean response and count of" in str(model.summary_)
    assert errors[1] == pytest.approx(errors[0], rel=0.03)
    assert stated[1] == pytest.approx(stated[0], rel=0.03)


def test_means_of_levels_do_not_tell_rows_their_own_response():
    """Five rows a level: means of all rows would have two thirds of the real error stated, and make it larger."""
    rng = np.random.default_rng(0)
    x, level = rng.uniform(size=(5000, 2)), rng.integers(0, 300, 5000)
    y = np.sin(6 * x[:, 0]) + rng.normal(size=300)[level] + rng.normal(size=5000)
    table = pd.DataFrame(x, columns=["a", "b"]).assign(level=[f"level {i}" for i in level])
    old, new = table[:1500], table[1500:]
    model = make_table_model(SkewRidge("laplacian", random_state=0)).fit(old, y[:1500])
    encoder = TableEncoder().fit(old, y[:1500])
    leaking = SkewRidge("laplacian", random_state=0).fit(encoder.transform(old), y[:1500])
    real = np.mean((model.predict(new) - y[1500:]) ** 2)
    leaked = np.mean((leaking.predict(encoder.transform(new)) - y[1500:]) ** 2)
    assert 0.93 < model.expected_error_.mse / real < 1.2
    assert leaking.expected_error_.mse / leaked < 0.8
    assert real < leaked


def test_labels_in_another_order_are_refused():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.random(60), "t": random.choice(["u", "v"], 60)})
    y = pd.Series(random.random(60))
    shuffled = y.sample(frac=1, random_state=0)
    model = make_table_model(DacKernelRidge(1, bandwidth=1.0, penalty=1e-3))
    with pytest.raises(ValueError, match="different order"):
        model.fit(frame, shuffled)
    with pytest.raises(ValueError, match="different order"):
        model.fit(frame, y).calibrate(frame, shuffled)
