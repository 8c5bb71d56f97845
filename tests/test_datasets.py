import math

import numpy as np
import pytest
from scipy.stats import skew

from skewridge.datasets import load_melbourne, make_peaks, peaks_truth


def naive_peak(x, center):
    r = math.sqrt(sum((v - center) ** 2 for v in x)) + 0.05
    return 0.1 / r * math.sin(0.01 * math.pi / r)


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_peaks_are_the_papers(d):
    X = np.random.default_rng(0).random((50, d))
    one = [naive_peak(x, 0.4) for x in X]
    two = [naive_peak(x, 0.4) + 0.4 * naive_peak(x, 0.7) for x in X]
    np.testing.assert_allclose(peaks_truth(X, 1), one, rtol=1e-12)
    np.testing.assert_allclose(peaks_truth(X, 2), two, rtol=1e-12)
    equal = [naive_peak(x, 0.4) + naive_peak(x, 0.7) for x in X]
    np.testing.assert_allclose(peaks_truth(X, 2, weights=(1, 1)), equal, rtol=1e-12)


@pytest.mark.parametrize(("d", "sd"), [(1, 0.06), (2, 0.02), (6, 0.02)])
def test_noise_is_the_authors(d, sd):
    X, y = make_peaks(20_000, d, random_state=0)
    noise = y - peaks_truth(X)
    assert noise.std() == pytest.approx(sd, rel=0.03)
    assert abs(noise.mean()) < 4 * sd / math.sqrt(20_000)
    assert ((X >= 0) & (X <= 1)).all()


def test_noise_can_be_none_at_all():
    X, y = make_peaks(10, 2, noise=0, random_state=0)
    assert np.array_equal(y, peaks_truth(X))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_response_is_skewed_with_peaks_and_not_without(d):
    assert skew(make_peaks(20_000, d, noise=0, random_state=0)[1]) > 1.5
    assert abs(skew(make_peaks(20_000, d, peaks=0, noise=0, random_state=0)[1])) < 0.1


def test_test_points_carry_the_truth():
    for d in (1, 3):
        _, _, X_test, truth = make_peaks(10, d, random_state=0, return_test=True)
        assert X_test.shape == (10_000, d)
        assert np.array_equal(truth, peaks_truth(X_test))
    grid = make_peaks(10, 1, return_test=True)[2][:, 0]
    np.testing.assert_allclose(np.diff(grid), 1 / 9999)


def test_same_seed_same_data():
    assert np.array_equal(make_peaks(20, 2, random_state=3)[1], make_peaks(20, 2, random_state=3)[1])
    a, b = (make_peaks(20, 2, random_state=np.random.RandomState(3))[1] for _ in range(2))
    assert np.array_equal(a, b)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"peaks must be an integer in \[0, 2\]; got 3"):
        make_peaks(10, 2, peaks=3)
    with pytest.raises(ValueError, match="one number a peak: expected 2, got 1"):
        make_peaks(10, 2, weights=[1])
    with pytest.raises(ValueError, match="n_samples must be an integer >= 1"):
        make_peaks(0, 2)
    with pytest.raises(ValueError, match="noise must be a number in"):
        make_peaks(10, 2, noise=-1)


def test_melbourne_has_the_papers_rows(data_folder):
    X, y = load_melbourne(data_folder / "melbourne_housing" / "Melbourne_housing_FULL.csv.gz")
    assert X.shape == (6784, 3)
    assert y.min() == pytest.approx(20.21, abs=0.01)
    assert y.max() == pytest.approx(27_631.6, abs=0.1)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1)


def test_melbourne_says_where_to_get_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Melbourne_housing_FULL.csv .*Kaggle"):
        load_melbourne(tmp_path / "absent.csv")


def test_melbourne_filters_rows(tmp_path):
    columns = "Type,Price,Landsize,YearBuilt,Lattitude,Longtitude,Distance,Car"
    rows = [
        "h,100,10,,1,2,3,1",  # complete but for YearBuilt
        "h,300,10,1990,2,3,5,1",
        "u,100,10,1990,1,2,3,1",  # not a house
        "h,,10,1990,1,2,3,1",  # no price
        "h,100,0,1990,1,2,3,1",  # no land
        "h,100,10,1990,1,2,#N/A,1",
        "h,100,10,1990,1,2,3,",
    ]
    path = tmp_path / "houses.csv"
    path.write_text("\n".join([columns, *rows]))
    X, y = load_melbourne(path)
    assert y.tolist() == [10.0, 30.0]
    assert X.shape == (2, 3)


def test_a_file_without_houses_is_told(tmp_path):
    path = tmp_path / "units.csv"
    path.write_text("Type,Price,Landsize,YearBuilt,Lattitude,Longtitude,Distance\nu,1,1,1,1,1,1\n")
    with pytest.raises(ValueError, match="holds no complete row of a house"):
        load_melbourne(path)


def test_another_file_is_told_apart(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"is not Melbourne_housing_FULL.csv: expected the columns"):
        load_melbourne(path)
