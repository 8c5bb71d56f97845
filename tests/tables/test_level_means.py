import numpy as np
import pytest

from skewridge.tables.level_means import (
    N_FOLDS,
    assign_folds,
    cross_fitted,
    learn_means,
    mean_features,
    shrunk_deviations,
)

RNG = np.random.default_rng(0)


def fit_of(codes, Y, n_levels, folds):
    """Cross-fitted deviations of rows that occur once each."""
    return cross_fitted(codes, Y, n_levels, folds, np.ones(len(codes)))


def test_deviations_are_those_of_a_loop_over_levels():
    codes, y = RNG.integers(0, 20, 300), RNG.normal(size=300)
    y += codes / 10
    n = np.array([np.sum(codes == level) for level in range(20)])
    means = np.array([y[codes == level].mean() for level in range(20)])
    within = sum(np.sum((y[codes == level] - means[level]) ** 2) for level in range(20)) / (300 - 20)
    squares = sum(n[level] * (means[level] - y.mean()) ** 2 for level in range(20))
    between = (squares - 19 * within) / (300 - np.sum(n**2) / 300)
    expected = n / (n + within / between) * (means - y.mean())
    np.testing.assert_allclose(shrunk_deviations(codes, y[:, None], 20, np.ones(300))[:, 0], expected, rtol=1e-12)


def test_levels_that_differ_by_chance_are_shrunk_to_next_to_nothing():
    codes = RNG.integers(0, 200, 4000)
    noise = RNG.normal(size=(4000, 1))
    assert np.abs(shrunk_deviations(codes, noise, 200, np.ones(4000))).max() < 0.15
    signal = RNG.normal(size=200)
    found = shrunk_deviations(codes, noise + 5 * signal[codes][:, None], 200, np.ones(4000))
    assert np.corrcoef(found[:, 0], signal)[0, 1] > 0.99


@pytest.mark.parametrize("codes", [np.arange(5), np.zeros(5, dtype=int)])
def test_one_level_or_one_row_a_level_say_nothing(codes):
    assert not shrunk_deviations(codes, np.arange(5.0)[:, None], 5, np.ones(5)).any()


def test_no_row_sees_its_own_response():
    codes = RNG.integers(0, 8, 100).astype(float)
    Y = RNG.normal(size=(100, 1)) + codes[:, None]
    folds = assign_folds(np.column_stack([codes, RNG.normal(size=100)]))
    before = fit_of(codes, Y, 8, folds)
    for row in range(0, 100, 7):
        other = Y.copy()
        other[row] += 1000.0
        after = fit_of(codes, other, 8, folds)
        mates = folds == folds[row]
        assert np.array_equal(after[mates], before[mates])
        assert not np.array_equal(after[~mates], before[~mates])


def test_folds_depend_on_what_rows_hold_and_equal_rows_share_theirs():
    rows = RNG.integers(0, 3, size=(200, 3)).astype(float)
    rows[::9, 1] = np.nan
    folds, order = assign_folds(rows), RNG.permutation(200)
    assert np.array_equal(assign_folds(rows[order]), folds[order])
    _, member = np.unique(np.nan_to_num(rows, nan=-1), axis=0, return_inverse=True)
    for group in range(member.max() + 1):
        assert len(set(folds[member.ravel() == group])) == 1
    assert set(assign_folds(np.arange(50.0)[:, None])) == set(range(N_FOLDS))


def test_random_levels_do_not_tell_the_response_of_training_rows():
    """In-sample means of 500 random levels would explain an eighth of pure noise; cross-fitted ones explain nothing."""
    codes, y = RNG.integers(0, 500, 4000).astype(float), RNG.exponential(size=(4000, 1))
    fitted = fit_of(codes, y, 500, assign_folds(np.arange(4000.0)[:, None]))
    spread = fitted.std()
    assert spread == 0 or abs(np.corrcoef(fitted[:, 0], y[:, 0])[0, 1]) < 0.05


def test_new_levels_and_gaps_are_the_mean_of_all_and_count_once():
    codes = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 0.0, 1.0])
    Y = np.array([[1.0], [2.0], [1.0], [9.0], [8.0], [5.0], [1.5], [9.0]])
    folds = assign_folds(np.arange(8.0)[:, None])
    means = learn_means(codes, Y, fit_of(codes, Y, 3, folds), 3, np.ones(8))
    new, once = mean_features(np.array([-1.0, 2.0]), means)
    assert new[0] == 0.0
    assert new[1] == once[1]
    assert means.names == ["mean", "count"]


def test_units_of_the_response_change_no_bit():
    codes, Y = RNG.integers(0, 9, 120).astype(float), RNG.normal(size=(120, 1))
    folds = assign_folds(np.arange(120.0)[:, None])

    def features(Y):
        fitted = fit_of(codes, Y, 9, folds)
        return mean_features(codes, learn_means(codes, Y, fitted, 9, np.ones(120)), fitted)

    assert np.array_equal(features(Y + codes[:, None]), features(1024.0 * (Y + codes[:, None])))


def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none():
    codes, Y = RNG.integers(0, 9, 120).astype(float), RNG.normal(size=(120, 1))
    Y += codes[:, None]
    times = RNG.integers(0, 3, 120)
    copies = np.repeat(np.arange(120), times)
    parts = np.where(times > 0, np.arange(120) % N_FOLDS, -1)
    weighted = cross_fitted(codes, Y, 9, parts, times.astype(float))
    copied = fit_of(codes[copies], Y[copies], 9, parts[copies])
    np.testing.assert_allclose(weighted[copies], copied, atol=1e-12)
    means = learn_means(codes, Y, weighted, 9, times.astype(float))
    expected = learn_means(codes[copies], Y[copies], copied, 9, np.ones(len(copies)))
    assert means.counts == expected.counts
    np.testing.assert_allclose(means.deviations, expected.deviations, atol=1e-12)
    np.testing.assert_allclose([means.scales[0], means.count_shift], [expected.scales[0], expected.count_shift])
    assert np.allclose(weighted[times == 0, 0], np.array(means.deviations[0])[codes[times == 0].astype(int)])


def test_rows_in_an_order_see_no_later_response():
    codes, Y = RNG.integers(0, 5, 200).astype(float), RNG.normal(size=(200, 1))
    Y += codes[:, None]
    blocks = np.arange(200) // 20
    before = cross_fitted(codes, Y, 5, blocks, np.ones(200), first_ahead=5)
    for block in range(10):
        changed = Y + 1000.0 * ((blocks == block) & (codes == 1))[:, None]
        moved = (cross_fitted(codes, changed, 5, blocks, np.ones(200), first_ahead=5) != before).any(axis=1)
        earlier = blocks < block if block >= 5 else blocks == block
        assert not moved[earlier | (blocks == block)].any()
        assert moved[blocks > max(block, 4)].any() or block == 9
