import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from skewridge.features import forms as module
from skewridge.features.forms import NEGLIGIBLE, learn_forms, scale_forms


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            rng.normal(size=200) * 3 + 50,
            np.exp(2 * rng.normal(size=200)),
            rng.integers(0, 5, 200),
            rng.random(200) < 0.1,
            np.full(200, 7.3),
        ]
    ).astype(float)


def test_forms_equal_their_formulas(table):
    forms = learn_forms(table)
    assert forms.columns.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert forms.ranked.tolist() == [False] * 4 + [True] * 3
    for j, (column, ranked) in enumerate(zip(forms.columns, forms.ranked, strict=True)):
        x = table[:, column]
        low, high = np.quantile(x, [0.25, 0.75], method="hazen")
        near = 25 * (high - low) / 1.349 if low < high else np.inf
        z = np.clip(x, np.median(x) - near, np.median(x) + near)
        z = np.clip((z - z.mean()) / z.std(), -8, 8)
        if ranked:
            z = np.clip(norm.ppf((rankdata(x) - 0.5) / len(x)), -3, 3)
        np.testing.assert_allclose(forms(table)[:, j], (z - z.mean()) / z.std(), atol=1e-12)


def test_every_form_has_mean_0_and_sd_1(table):
    Z = learn_forms(table)(table)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-12)


@given(seed=st.integers(0, 1000))
def test_a_row_of_weight_two_is_two_rows(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 4, 30), rng.random(30) < 0.3])
    f = rng.integers(0, 4, 30)
    copies = rng.permutation(np.repeat(np.arange(30), f))
    weighted, repeated = learn_forms(X, f.astype(float)), learn_forms(X[copies])
    np.testing.assert_allclose(weighted(X), repeated(X), rtol=0, atol=1e-12)


def test_forms_of_new_rows_are_flat_beyond_the_range():
    x = np.random.default_rng(0).normal(size=(500, 1))
    forms = learn_forms(x)
    far = np.array([[-1e300], [-9.0 * x.std()], [x.min()], [x.max()], [20.0], [1e300]])
    plain, ranks = forms(far).T
    assert plain[0] == plain[1] == plain[2] == forms(x)[:, 0].min()
    assert plain[3] == plain[4] == plain[5] == forms(x)[:, 0].max()
    assert ranks[0] == ranks[1] == ranks[2]
    assert ranks[3] == ranks[4] == ranks[5]
    assert ranks[3] == forms(x)[:, 1].max()


def test_standardised_values_are_clipped_at_eight_deviations():
    x = np.append(np.random.default_rng(0).normal(size=500), 20.0)[:, None]
    plain = learn_forms(x)(x)[:, 0]
    mean, spread = np.clip((x - x.mean()) / x.std(), -8, 8).mean(), np.clip((x - x.mean()) / x.std(), -8, 8).std()
    assert plain[-1] == pytest.approx((8.0 - mean) / spread)


@pytest.mark.parametrize("n", [30, 500])
def test_an_absurd_cell_does_not_make_the_others_alike(n):
    x = np.random.default_rng(0).normal(size=n)[:, None]
    clean, absurd = (learn_forms(np.append(x, [[cell]], axis=0))(x)[:, 0].std() for cell in (2.0, 1e6))
    assert absurd > 0.15 * clean


def test_forms_grow_with_their_column_also_between_training_values(table):
    forms = learn_forms(table)
    grid = np.linspace(table.min(axis=0) - 1, table.max(axis=0) + 1, 1000)
    assert np.all(np.diff(forms(grid), axis=0) >= 0)


@pytest.mark.parametrize("size", [1e150, 1e-200, 1e-290])
def test_units_do_not_matter(table, size):
    X = table[:, :3]
    np.testing.assert_allclose(learn_forms(X * size)(X * size), learn_forms(X)(X), atol=1e-12)


def test_one_wild_cell_leaves_ranks_as_they_were():
    x = np.random.default_rng(0).normal(size=1000)
    wild = x.copy()
    wild[x.argmax()] = 1e6
    a, b = learn_forms(x[:, None]), learn_forms(wild[:, None])
    np.testing.assert_allclose(b(wild[:, None])[:, 1], a(x[:, None])[:, 1], atol=1e-12)
    assert np.isfinite(b(wild[:, None])).all()


def test_a_column_that_only_rounding_varies_is_constant():
    X = np.column_stack([0.1 + 1e-17 * np.arange(50), 1e6 + 1e-9 * np.arange(50), np.zeros(50)])
    forms = learn_forms(X)
    assert len(forms) == 0
    assert forms(X).shape == (50, 0)


def test_integers_and_signed_zeros_are_numbers():
    X = np.array([[0.0], [-0.0], [1.0], [0.0]])
    forms = learn_forms(X)
    assert len(forms) == 1
    assert len(np.unique(forms(X))) == 2
    counts = np.arange(12).reshape(6, 2) % 5
    real = counts * 1.0
    np.testing.assert_array_equal(learn_forms(counts)(counts), learn_forms(real)(real))


def test_very_many_values_share_knots(monkeypatch):
    x = np.exp(np.random.default_rng(0).normal(size=(3000, 1)))
    whole = learn_forms(x)
    monkeypatch.setattr(module, "MOST_KNOTS", 300)
    thin = learn_forms(x)
    assert 200 < len(thin.knots[1]) <= 300
    np.testing.assert_allclose(thin(x), whole(x), atol=0.02)  # knots are 6 / 300 apart
    np.testing.assert_allclose(thin(x).std(axis=0), 1.0, rtol=1e-12)


def test_some_forms_are_kept(table):
    forms = learn_forms(table)
    mask = np.array([True, False, False, True, False, True, False])
    kept = forms.keep(mask)
    np.testing.assert_array_equal(kept(table), forms(table)[:, mask])
    np.testing.assert_array_equal(forms.keep(np.flatnonzero(mask))(table), kept(table))
    assert kept.columns.tolist() == [0, 3, 1]


def test_another_number_of_columns_is_refused(table):
    with pytest.raises(ValueError, match="rows of 5 columns are needed"):
        learn_forms(table)(table[:, :4])


def test_forms_within_a_range_are_flat_beyond_it():
    forms = learn_forms(np.arange(5.0)[:, None])
    narrow = forms.within(np.array([[1.0], [3.0]]))
    rows = np.array([[0.0], [1.0], [2.5], [3.0], [9.0]])
    np.testing.assert_array_equal(narrow(rows), forms(np.clip(rows, 1.0, 3.0)))
    one = forms.within(np.array([[2.0]]))
    np.testing.assert_array_equal(one(rows), np.repeat(forms(np.array([[2.0]])), 5, axis=0))


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=80), rng.lognormal(size=80), rng.random(80) < 0.3, np.ones(80)])


def test_scaled_forms_are_the_forms_times_their_scales(X):
    forms = learn_forms(X)
    scales = np.linspace(1, 3, len(forms))
    found, bandwidth = scale_forms(forms, scales)
    np.testing.assert_allclose(found(X) / bandwidth, forms(X) * scales, rtol=1e-14)
    assert np.mean(found.scales**2) == pytest.approx(1.0)


def test_a_columns_scale_is_that_of_its_forms_together(X):
    forms = learn_forms(X)
    found, bandwidth = scale_forms(forms, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    expected = np.sqrt([1 + 16, 4 + 25, 9, 0]) * bandwidth
    np.testing.assert_allclose(found.forms.column_scale(found.scales), expected)


def test_forms_of_negligible_scale_are_dropped_and_change_nothing(X):
    forms = learn_forms(X)
    scales = np.array([1.0, 0.5 * NEGLIGIBLE, 1.0, 2 * NEGLIGIBLE, 0.5 * NEGLIGIBLE])
    found, _ = scale_forms(forms, scales)
    assert len(found.forms) == 3
    assert (found.forms.column_scale(found.scales) == 0).tolist() == [False, True, False, True]
    moved = X.copy()
    moved[:, 1] = 1e6
    np.testing.assert_array_equal(found(moved), found(X))


@pytest.mark.parametrize("n", [0, 3])
def test_a_table_whose_rows_never_occur_has_no_forms(n):
    forms = learn_forms(np.ones((n, 2)), np.zeros(n))
    assert len(forms) == 0
    assert forms(np.ones((4, 2))).shape == (4, 0)
