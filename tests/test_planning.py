import re

import numpy as np
import pytest

from skewridge.allocation import allocate, expected_node_size
from skewridge.planning import TARGET_NODE_SIZE, check_plan, choose_n_nodes, machine_memory, make_plan
from skewridge.slices import slice_response

pytestmark = pytest.mark.filterwarnings("ignore:One of")


@pytest.fixture
def skewed():
    y = np.random.default_rng(0).lognormal(sigma=1.0, size=20_000)
    return y, slice_response(y)


def test_auto_takes_the_fewest_nodes_of_the_target_size(skewed):
    y, slices = skewed
    k = choose_n_nodes(y, slices, 2)
    assert expected_node_size(slices, k) <= TARGET_NODE_SIZE < expected_node_size(slices, k - 1)
    assert allocate(slices, k, 0).sizes.mean() == pytest.approx(TARGET_NODE_SIZE, rel=0.05)


def test_auto_is_one_node_below_2000_rows():
    y = np.random.default_rng(0).lognormal(size=1999)
    assert choose_n_nodes(y, slice_response(y), 2) == 1


def test_auto_on_an_unskewed_response_is_n_over_1500():
    y = np.linspace(0, 1, 15_000)
    assert choose_n_nodes(y, slice_response(y, 1), 2) == 10


def test_auto_refuses_with_figures_and_settings_that_fit():
    """A quarter of 40,000 rows is spread over a long tail: every node would hold nearly all of it."""
    rng = np.random.default_rng(0)
    y = np.r_[rng.random(30_000) * 1e-3, rng.random(10_000) * 100]
    slices = slice_response(y, 300)
    with pytest.raises(ValueError, match="n_nodes='auto'") as refusal:
        choose_n_nodes(y, slices, 2)
    text = str(refusal.value)
    assert "k=800" in text
    for figure in ("N~=", "N*=", " MB", "flops", "max_per_slice=", "oversampling=", "slices="):
        assert figure in text
    offered = dict(
        re.findall(r"(max_per_slice|oversampling|slices)=([0-9.]*[0-9])", text.split("What would fit")[1])
    )
    tau = float(offered["oversampling"])
    assert choose_n_nodes(y, slice_response(y, 300, tau), 2) <= 800
    assert choose_n_nodes(y, slices, 2, int(offered["max_per_slice"])) <= 800
    assert choose_n_nodes(y, slice_response(y, int(offered["slices"])), 2) <= 800


def test_plan_foretells_the_allocation(skewed):
    _, slices = skewed
    plan = make_plan(slices, 50, 3)
    made = allocate(slices, 50, 1)
    assert plan.n_distinct == pytest.approx(len(made.rows), rel=0.01)
    assert plan.n_oversampled == slices.n_oversampled
    largest = made.sizes.max()
    assert plan.n_bytes > 8 * largest**2
    assert plan.n_flops == pytest.approx(sum(n**3 / 3 for n in made.sizes.astype(float)), rel=0.3)


def test_memory_limit_is_kept_with_remedies(skewed):
    y, slices = skewed
    plan = make_plan(slices, 5, 2)
    with pytest.raises(
        MemoryError, match=r"The fit needs .* memory_limit is 60 MB.*N~=.*flops.*n_nodes="
    ) as refusal:
        check_plan(y, slices, plan, 60e6, None, 1)
    nodes = int(str(refusal.value).split("What would fit: n_nodes=")[1].split(",")[0])
    assert make_plan(slices, nodes, 2).n_bytes <= 60e6


def test_the_machines_memory_is_the_limit_when_none_is_given():
    y = np.zeros(10)
    slices = slice_response(y)
    small = make_plan(slices, 1, 1)
    check_plan(y, slices, small, None, None, 1)
    huge = type(small)(10, 1, 1, 1, 10, 10.0, machine_memory() * 2, 1.0)
    with pytest.raises(MemoryError, match=r"the machine's memory is"):
        check_plan(y, slices, huge, None, None, 1)


def test_no_remedy_is_told(skewed):
    y, slices = skewed
    with pytest.raises(MemoryError, match="No setting of the slices would fit"):
        check_plan(y, slices, make_plan(slices, 5, 2), 10.0, None, 1)
