import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from skewridge import DacKernelRidge
from skewridge.execution.context import using
from skewridge.execution.memory import Budget, machine_memory
from skewridge.nodes.partition import TARGET_NODE_SIZE, PartitionSettings, choose_n_nodes, make_plan, plan_fit
from skewridge.response import allocation
from skewridge.response.allocation import allocate, expected_node_size
from skewridge.response.slices import slice_response

pytestmark = pytest.mark.filterwarnings("ignore:One of")


@pytest.fixture
def y():
    return np.random.default_rng(0).lognormal(sigma=1.0, size=20_000)


def cut(y, settings):
    return slice_response(y, settings.slices, settings.oversampling)


def chosen(y, settings):
    return choose_n_nodes(y, cut(y, settings), settings, 2)


def offered(text):
    """The remedies a refusal names, as settings."""
    found = re.findall(r"(n_nodes|max_per_slice|oversampling|slices)=([0-9.]*[0-9])", text.split("What would fit")[1])
    return [{name: float(value) if name == "oversampling" else int(value)} for name, value in found]


def test_auto_takes_the_fewest_nodes_of_the_target_size(y):
    slices = cut(y, PartitionSettings())
    k = chosen(y, PartitionSettings())
    assert expected_node_size(slices, k) <= TARGET_NODE_SIZE < expected_node_size(slices, k - 1)
    assert allocate(slices, k, 0).sizes.mean() == pytest.approx(TARGET_NODE_SIZE, rel=0.05)


def test_auto_is_one_node_below_2000_rows(y):
    assert chosen(y[:1999], PartitionSettings()) == 1


def test_auto_on_an_unskewed_response_is_n_over_1500():
    assert chosen(np.linspace(0, 1, 15_000), PartitionSettings(slices=1)) == 10


@pytest.mark.parametrize("tau", [1.0, 3.0])
def test_auto_refuses_with_figures_and_settings_that_fit(tau):
    """A quarter of 40,000 rows is spread over a long tail: every node would hold nearly all of it."""
    rng = np.random.default_rng(0)
    y = np.r_[rng.random(30_000) * 1e-3, rng.random(10_000) * 100]
    settings = PartitionSettings(slices=300, oversampling=tau)
    with pytest.raises(ValueError, match="n_nodes='auto'") as refusal:
        chosen(y, settings)
    text = str(refusal.value)
    for figure in ("800 nodes", "a node for every 50 rows", "9,002,726" if tau == 1.0 else "once no node", " MB"):
        assert figure in text
    remedies = offered(text)
    assert [next(iter(r)) for r in remedies] == ["max_per_slice", "oversampling", "slices"]
    for remedy in remedies:
        assert chosen(y, replace(settings, **remedy)) <= 800


def test_plan_foretells_the_allocation(y):
    slices = cut(y, PartitionSettings())
    plan = make_plan(slices, 50, 3)
    made = allocate(slices, 50, 1)
    assert plan.n_distinct == pytest.approx(len(made.rows), rel=0.01)
    assert plan.n_oversampled == slices.n_oversampled
    assert plan.n_bytes > 8 * made.sizes.max() ** 2
    assert plan.n_flops == pytest.approx(sum(n**3 / 3 for n in made.sizes.astype(float)), rel=0.3)


@pytest.mark.parametrize("tau", [1.0, 5.0, 0.5])
def test_memory_limit_is_kept_and_every_remedy_fits(y, tau):
    settings = PartitionSettings(n_nodes=5, oversampling=tau)
    with pytest.raises(
        MemoryError, match=r"The fit needs .* memory_limit is 150 MB.*holds a row twice.*n_nodes="
    ) as refusal:
        using(budget=Budget(150e6))(plan_fit)(y, settings, 2)
    remedies = offered(str(refusal.value))
    assert len(remedies) >= 3
    for remedy in remedies:
        assert using(budget=Budget(150e6))(plan_fit)(y, replace(settings, **remedy), 2)[1].n_bytes <= 150e6


def test_refusal_of_large_data_on_few_nodes_steps_through_no_long_chain(monkeypatch):
    """The exact chain is left for the normal approximation where it would take minutes."""
    exact, steps = allocation._expected_kept, []

    def counted(n, c, q, cap):
        steps.append(len(n) * int(q.max(initial=0)) * (cap + 1))
        return exact(n, c, q, cap)

    monkeypatch.setattr(allocation, "_expected_kept", counted)
    y = np.random.default_rng(0).lognormal(size=300_000)
    with pytest.raises(MemoryError, match="What would fit: n_nodes="):
        using(budget=Budget(2e9))(plan_fit)(y, PartitionSettings(n_nodes=4, slices=200), 2)
    assert all(n <= 1e8 for n in steps)


def test_choosing_counts_a_second_matrix_a_worker(y):
    settings = PartitionSettings(n_nodes=5)
    one, two = (plan_fit(y, settings, 2, n)[1].n_bytes for n in (1, 2))
    size = make_plan(cut(y, settings), 5, 2).n_distinct / 5
    assert two - one == pytest.approx(8 * size**2, rel=0.1)


def test_the_machines_memory_is_the_limit_when_none_is_given(y, monkeypatch):
    assert plan_fit(y, PartitionSettings(n_nodes=50), 2)[1].n_bytes < machine_memory()
    monkeypatch.setattr("skewridge.execution.memory.machine_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"the machine has 1 MB"):
        plan_fit(y, PartitionSettings(n_nodes=50), 2)


def test_no_remedy_is_told(y):
    with pytest.raises(MemoryError, match="No setting of the slices would fit"):
        using(budget=Budget(10.0))(plan_fit)(y, PartitionSettings(n_nodes=5), 2)


@pytest.mark.parametrize(("d", "dtype"), [(3, np.float64), (60, np.float64), (60, np.float32)])
def test_a_fit_stays_within_its_plan(d, dtype):
    rng = np.random.default_rng(0)
    X, y = rng.random((20_000, d)).astype(dtype), rng.normal(size=20_000)
    model = DacKernelRidge(200, slices=1, bandwidth=3.0, penalty=1e-2, random_state=0)
    model.fit(X[:1000], y[:1000])  # compile
    _, plan = plan_fit(y, PartitionSettings(200, 1), d)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.3 * plan.n_bytes < peak < plan.n_bytes
