"""What every backend must do: agree with the simplest one in every bit, and keep rows apart.

A backend is a factory in ``BACKENDS``. The tests run a whole training, with updates that no
sensible trainer would make, and compare every sum.
"""

import itertools
import math
import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends import local
from interpret_dp.backends.base import MAX_RESIDUAL, MAX_SCORE
from interpret_dp.ebm.losses import GammaDeviance
from interpret_dp.ebm.objectives import Quantile, TweedieDeviance
from tests.contract import simplest_rows

N_CLASSES = 3


def log_cosh_residual(gap, clip):
    return np.tanh(gap)


GAMMA = {"residual": GammaDeviance.residual, "has_log_target": True}
LOG_COSH = {"residual": log_cosh_residual, "has_log_target": False}
TWEEDIE = {"residual": TweedieDeviance(0.0, 6.0, 1.5, 1.0, variance_power=1.9).residual}
QUANTILE = {"residual": Quantile(-3.0, 5.0, 2.0, 1.0, alpha=0.9).residual, "has_log_target": False}
# The class of each task's rows, without "Local" or "Simplest", and its own arguments.
KINDS = {
    **{"binary": ("Binary", {}), "multiclass": ("Multiclass", {}), "poisson": ("Poisson", {})},
    **{"regression": ("Regression", {}), "gamma": ("Gap", GAMMA), "gap": ("Gap", LOG_COSH)},
    **{"quantile": ("Gap", QUANTILE), "tweedie": ("Weighted", TWEEDIE)},
}
LOCAL, SIMPLEST = (
    {
        task: partial(getattr(module, f"{form}{kind}Rows"), **own)
        for task, (kind, own) in KINDS.items()
    }
    for module, form in ((local, "Local"), (simplest_rows, "Simplest"))
)


def on_one_thread(task, codes, target, **settings):
    return LOCAL[task](codes, target, n_threads=1, **settings)


def on_many_threads(task, codes, target, **settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_ROWS_PER_THREAD", 1)
        return LOCAL[task](codes, target, n_threads=5, **settings)


def on_dask(task, codes, target, **settings):
    """Cut the rows into three partitions, one of them often empty."""
    dask = pytest.importorskip("dask")
    from interpret_dp.backends.dask.parts import Part, joined, table_facts
    from interpret_dp.backends.dask.rows import DaskRows, current_workers

    def some(rows):
        own = {k: v[rows] if k in ("weights", "offsets") else v for k, v in settings.items()}
        return LOCAL[task]([c[rows] for c in codes], target[rows], n_threads=1, **own)

    form = some(slice(0, 0))
    third = len(target) // 3
    parts = [some(slice(0, third)), some(slice(third, third)), some(slice(third, None))]
    for part in parts:
        vars(part).update(table_facts(form))
    with dask.config.set(scheduler="synchronous"):
        workers = current_workers(1)

    def two_threads(_, *some_parts):
        return joined(2, *some_parts)

    handles = workers.each("test", Part, parts)
    two = [*workers.together("test", two_threads, handles[:2]), handles[2]]
    return DaskRows(workers, two, form)


def on_dask_that_forgets(task, codes, target, **settings):
    """Lose the scores of some partition after every answer, as when a worker is killed."""
    rows = on_dask(task, codes, target, **settings)
    ask = rows._ask

    def ask_and_forget(*arguments):
        answer = ask(*arguments)
        lost = len(rows._commands) % len(rows._parts)
        part = pickle.loads(pickle.dumps(rows._parts[lost].value))
        for own in part.rows:
            own._scores[...] = 77  # whatever the scores of a new copy are, they are not used
        rows._parts[lost].value = part
        return answer

    rows._ask = ask_and_forget
    return rows


BACKENDS = {
    "local": on_one_thread,
    "local, threads": on_many_threads,
    # Without that loss the same calls run: tests/backends/test_dask.py has whole fits.
    "dask, forgetting": on_dask_that_forgets,
}
# The others run the kernels of the first, in threads or in parts.
MOSTLY_SLOW = [
    name if name == "local" else pytest.param(name, marks=pytest.mark.slow) for name in BACKENDS
]
TASKS = list(LOCAL)
BOUNDS = {
    "binary": {},
    "multiclass": {"n_classes": N_CLASSES},
    "regression": {"lower": -3.0, "upper": 5.0, "clip": 2.0},
    "poisson": {"lower": 0.0, "upper": 6.0, "clip": 1.5},
    "gamma": {"lower": 0.5, "upper": 9.0, "clip": 2.0},
    "gap": {"lower": -3.0, "upper": 5.0, "clip": 2.0},
    "quantile": {"lower": -3.0, "upper": 5.0, "clip": 2.0},
    "tweedie": {"lower": 0.0, "upper": 6.0, "clip": 1.5},
}
CLIPS = (1.0, 1.7, 40.0)
MEANS = (1e-6, 1.0, 6.0)


@pytest.fixture(autouse=True)
def _one_pair_at_once(request, monkeypatch):
    """Let the backend of many threads look at pairs one by one: no bit changes."""
    if "threads" in request.node.name:
        monkeypatch.setattr(local, "_PAIRS_AT_ONCE", 1)


N_SCORES = {task: N_CLASSES if task == "multiclass" else 1 for task in TASKS}


def has_numbers(task):
    return task not in ("binary", "multiclass")


@st.composite
def tables(draw, task):
    """Draw the fine bins of each feature, and codes, target and extras of each row."""
    n_bins = draw(st.lists(st.sampled_from([2, 3, 5, 300]), min_size=1, max_size=3))
    n_rows = draw(st.integers(0, 8))
    codes = []
    for width in n_bins:
        cells = draw(st.lists(st.integers(0, width - 1), min_size=n_rows, max_size=n_rows))
        codes.append(np.array(cells, dtype=np.uint8 if width <= 256 else np.uint16))
    if not has_numbers(task):
        label = st.integers(-1, 1 if task == "binary" else N_CLASSES - 1)
        labels = draw(st.lists(label, min_size=n_rows, max_size=n_rows))
        return n_bins, codes, np.array(labels, dtype=np.int16), draw(extras(task, n_rows))
    lower, upper = BOUNDS[task]["lower"], BOUNDS[task]["upper"]
    number = st.floats(lower, upper) | st.sampled_from([np.nan, lower, upper, 1.0])
    target = draw(st.lists(number, min_size=n_rows, max_size=n_rows))
    return n_bins, codes, np.array(target, dtype=np.float64), draw(extras(task, n_rows))


@st.composite
def extras(draw, task, n_rows):
    """Draw weights and scores to start from, or neither."""
    found = {}
    weight = st.sampled_from([0, 1, LATTICE - 1, LATTICE]) | st.integers(0, LATTICE)
    if draw(st.booleans()):
        drawn = draw(st.lists(weight, min_size=n_rows, max_size=n_rows))
        found["weights"] = np.array(drawn, dtype=np.int32)
    if not has_numbers(task) and draw(st.booleans()):
        start = st.sampled_from([0, MAX_SCORE, -MAX_SCORE]) | st.integers(-MAX_SCORE, MAX_SCORE)
        count = n_rows * N_SCORES[task]
        drawn = draw(st.lists(start, min_size=count, max_size=count))
        found["offsets"] = np.array(drawn, dtype=np.int32).reshape(n_rows, N_SCORES[task])
    return found


def rows_of(table, rows):
    """Return codes, target and extras of some rows."""
    _, codes, target, found = table
    return [c[rows] for c in codes], target[rows], {k: v[rows] for k, v in found.items()}


updates_of_any_size = st.sampled_from(
    [0, 1, -1, 4095, 4096, -4096, LATTICE, -LATTICE, 2**30, -(2**30), 2**31 - 1, -(2**31)]
) | st.integers(-(2**31), 2**31 - 1)


@st.composite
def programs(draw, task, n_bins):
    """Draw calls in the order in which a trainer makes them."""
    merged = [draw(st.integers(1, width)) for width in n_bins]
    maps = [
        np.array([draw(st.integers(0, to - 1)) for _ in range(width)], dtype=np.uint16)
        if width < 10
        else (np.arange(width) % to).astype(np.uint16)
        for width, to in zip(n_bins, merged, strict=True)
    ]
    width, n_scores = max(merged), N_SCORES[task]
    start = st.sampled_from([0, 1, -LATTICE, 2**40, -(2**40), 2**62, -(2**62)])
    calls = [
        ("bin_counts", (n_bins,)),
        ("target_sums", ()),
        *(draw(calls_of_numbers(task)) if has_numbers(task) else []),
        ("merge_bins", (maps,)),
        ("begin", (np.array([draw(start) for _ in range(n_scores)], dtype=np.int64),)),
    ]
    subsets = st.lists(st.integers(0, len(n_bins) - 1), unique=True)
    for _ in range(draw(st.integers(1, 3))):
        updated = np.array(draw(subsets), dtype=np.int64)
        changes = [draw(st.lists(updates_of_any_size, min_size=4, max_size=4)) for _ in updated]
        shape = (len(updated), width, n_scores)
        updates = np.array([np.resize(change, shape[1:]) for change in changes], dtype=np.int32)
        wanted = np.array(draw(subsets), dtype=np.int64)
        calls.append(("advance", (updated, updates.reshape(shape), wanted, width)))
        if has_numbers(task) and draw(st.booleans()):
            bound = draw(st.integers(1, MAX_RESIDUAL)), draw(st.booleans())
            calls.append(("bound_residuals", bound))
        if task in ("regression", "quantile"):
            edges = draw(st.lists(st.integers(-2 * LATTICE, 2 * LATTICE), unique=True))
            calls.append(("residual_counts", (np.sort(np.array(edges, dtype=np.int64)),)))
    features = draw(st.permutations(range(len(n_bins))))[: draw(st.integers(1, len(n_bins)))]
    functions = [draw(vectors(merged[feature])) for feature in features]
    calls.append(("product_sums", (features, functions)))
    return calls + draw(calls_of_pairs(merged, n_scores))


@st.composite
def calls_of_numbers(draw, task):
    """Draw what is asked of numbers before the first round."""
    number = st.floats(BOUNDS[task]["lower"], BOUNDS[task]["upper"])
    edges = np.sort(np.array(draw(st.lists(number, unique=True)), dtype=np.float64))
    unit = draw(st.sampled_from(CLIPS)), 1.0, draw(st.sampled_from(MEANS))
    return [("target_counts", (edges,)), ("clip_residuals", unit)]


@st.composite
def calls_of_pairs(draw, n_codes, n_scores):
    """Draw calls that look for pairs and train some, or none if there is one feature alone."""
    pairs = draw(st.permutations([*itertools.permutations(range(len(n_codes)), 2)]))[:2]
    if not pairs:
        return []
    widths = [draw(st.integers(1, min(width, 17))) for width in n_codes]
    maps = [
        (np.arange(width) % coarse).astype(np.uint16)
        for width, coarse in zip(n_codes, widths, strict=True)
    ]
    cells = [widths[a] * widths[b] for a, b in pairs]
    every, shape = np.arange(len(pairs)), (len(pairs), max(cells), n_scores)
    changes = draw(st.lists(updates_of_any_size, min_size=5, max_size=5))
    updates = np.resize(np.array(changes, dtype=np.int64), shape).astype(np.int32)
    nothing = np.zeros(0, dtype=np.int64), np.zeros((0, *shape[1:]), dtype=np.int32)
    return [
        ("pair_sums", (pairs, maps, widths)),
        ("pair_up", (pairs, maps, widths)),
        ("bin_counts", (cells,)),
        ("begin", (np.zeros(n_scores, dtype=np.int64),)),
        # The first sums after pairing up are those before it.
        ("advance", (*nothing, every, max(cells))),
        ("advance", (every, updates, every[::-1].copy(), max(cells))),
    ]


@st.composite
def vectors(draw, n_codes):
    """Draw a vector of size at most PRODUCT_UNIT for each code."""
    found = np.zeros((n_codes, draw(st.integers(1, 3))), dtype=np.int64)
    for code in range(n_codes):
        axis = draw(st.integers(0, found.shape[1] - 1))
        found[code, axis] = draw(st.sampled_from([-PRODUCT_UNIT, -3, 0, 9, PRODUCT_UNIT]))
    return found


def answers(rows, calls):
    """Return what was answered; a table of pairs as a list of its cells."""
    found = []
    for name, arguments in calls:
        answer = getattr(rows, name)(*arguments)
        if name == "pair_sums":
            answer = [table.reshape(-1, table.shape[2]) for table in answer]
        if answer is not None:
            found.append(simplest_rows.as_lists(answer))
    return found


def examples(name, at_most):
    """Return settings: fewer examples for Dask, whose partitions run the local kernels."""
    return settings(max_examples=at_most // (3 if "dask" in name else 1))


@pytest.mark.hypothesis
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_every_sum_agrees_with_the_simplest_backend(name, task):
    @examples(name, 45)
    @given(data=st.data())
    def check(data):
        n_bins, codes, target, found = data.draw(tables(task))
        calls = data.draw(programs(task, n_bins))
        simplest = SIMPLEST[task](codes, target, **BOUNDS[task], **found)
        rows = BACKENDS[name](task, codes, target, **BOUNDS[task], **found)
        assert answers(rows, calls) == answers(simplest, calls)

    check()


@pytest.mark.hypothesis
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_the_answers_of_a_table_are_the_sum_over_its_rows(name, task):
    """The strongest form of 'a row influences only itself': rows may be fitted one by one.

    answers(rows) = answers(row 1) + answers(row 2) + ...
    """

    @examples(name, 25)
    @given(data=st.data())
    def check(data):
        table = data.draw(tables(task))
        calls = data.draw(programs(task, table[0]))

        def answers_of(rows):
            codes, target, found = rows_of(table, rows)
            return answers(BACKENDS[name](task, codes, target, **BOUNDS[task], **found), calls)

        total = answers_of(slice(0, 0))
        for row in range(len(table[2])):
            total = add(total, answers_of(slice(row, row + 1)))
        assert answers_of(slice(None)) == total

    check()


def add(one, other):
    if isinstance(one, int):
        return one + other
    return [add(a, b) for a, b in zip(one, other, strict=True)]


@pytest.mark.hypothesis
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_one_row_keeps_to_the_declared_sensitivities(name, task):
    @examples(name, 35)
    @given(data=st.data())
    def check(data):
        check_one_row(name, task, data)

    check()


def check_one_row(name, task, data):
    table = data.draw(tables(task).filter(lambda table: len(table[2]) > 0))
    codes, target, found = rows_of(table, slice(0, 1))
    calls = data.draw(programs(task, table[0]))
    backend = BACKENDS[name](task, codes, target, **BOUNDS[task], **found)
    assert backend.n_scores == N_SCORES[task]
    assert backend.residual_norm == declared_norm(2 if task == "multiclass" else 1)
    assert backend.target_norm == declared_norm(3 if has_numbers(task) else 1)
    named, norm = [], backend.residual_norm
    for name_of, arguments in calls:
        norm = arguments[0] if name_of == "bound_residuals" else norm
        named += [(name_of, norm)] if name_of in ANSWERED else []
    for (name_of, norm), answer in zip(named, answers(backend, calls), strict=True):
        if name_of in ("bin_counts", "target_counts", "residual_counts"):
            for histogram in answer if name_of == "bin_counts" else [answer]:
                assert sum(histogram) <= LATTICE
                assert np.count_nonzero(histogram) <= 1
        elif name_of == "target_sums":
            assert sum(value**2 for value in answer) <= backend.target_norm**2
        elif name_of == "product_sums":
            check_products(answer, next(given[1] for of, given in calls if of == name_of))
        else:
            for per_bin in answer:
                assert sum(any(residuals) for residuals in per_bin) <= 1
                square = sum(value**2 for residuals in per_bin for value in residuals)
                assert square <= norm**2


ANSWERED = {
    *("bin_counts", "target_sums", "target_counts", "residual_counts", "advance"),
    *("product_sums", "pair_sums"),
}


def check_products(products, vectors_of):
    ends = np.cumsum([0] + [table.shape[1] for table in vectors_of])
    sizes = [(table**2).sum(axis=1).max() for table in vectors_of]
    for (first, (a, b)), (other, (c, d)) in itertools.combinations(enumerate(pairwise(ends)), 2):
        square = sum(value**2 for values in products[a:b] for value in values[c:d])
        assert square <= sizes[first] * sizes[other] * (LATTICE // PRODUCT_UNIT**2) ** 2


def declared_norm(square):
    """Return the square root of ``square``, in lattice units, rounded up."""
    root = math.isqrt(square * LATTICE**2)
    return root if root**2 == square * LATTICE**2 else root + 1


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", BACKENDS)
def test_scores_saturate_and_never_wrap(name, task):
    """A score that is driven up for ever stays up: its residual is that of the largest score."""
    target = np.array([0, 1], dtype=np.int16)
    if has_numbers(task):
        target = np.array([BOUNDS[task]["lower"], BOUNDS[task]["upper"]])
    rows = BACKENDS[name](task, [np.zeros(2, dtype=np.uint8)], target, **BOUNDS[task])
    rows.merge_bins([np.array([0], dtype=np.uint16)])
    only, last = np.array([0]), N_SCORES[task] - 1
    start = np.zeros(N_SCORES[task], dtype=np.int64)
    start[last] = MAX_SCORE
    rows.begin(start)
    up, down = (np.zeros((1, 1, N_SCORES[task]), dtype=np.int32) for _ in range(2))
    up[..., last], down[..., last] = 2**31 - 1, -(2**31)
    # At the largest score its class is certain, and every regression residual is at its clip.
    high, low = {
        "binary": ([-LATTICE], [LATTICE]),
        "multiclass": ([LATTICE, LATTICE, -2 * LATTICE], [0, 0, 0]),
        "regression": ([-2 * LATTICE], [2 * LATTICE]),
        # One of two counts is as large or as small as the mean may be: its residual is 0.
        "poisson": ([-LATTICE], [LATTICE]),
        # No relative error is below -1, and the clip is 2.
        "gamma": ([-LATTICE], [2 * LATTICE]),
        "gap": ([-2 * LATTICE], [2 * LATTICE]),
        "quantile": ([-0.2 * LATTICE], [1.8 * LATTICE]),
        # The largest mean divides its residual, of 4 clips, by 6 to the power 0.9.
        "tweedie": ([-4 / 6**0.9 * LATTICE], [LATTICE]),
    }[task]
    # The largest mean is the middle of a step of 1/256 of a score.
    near = LATTICE // 128 if task in ("poisson", "tweedie") else 4
    for _ in range(5):
        rows.advance(only, up, only, 1)
    assert rows.advance(only, up, only, 1).ravel().tolist() == pytest.approx(high, abs=near)
    assert rows.advance(only, down, only, 1).ravel().tolist() == pytest.approx(low, abs=near)


def test_control_the_comparison_sees_a_row_that_moves_another():
    """A backend that centres scores by their mean fails the sum over rows."""

    class Centring(local.LocalRegressionRows):
        def advance(self, *arguments):
            self._scores -= int(self._scores.mean())
            return super().advance(*arguments)

    codes, target = np.array([0, 1, 1], dtype=np.uint8), np.array([0.0, 1.0, 2.0])
    only = np.array([0])
    step = np.array([[[LATTICE], [0]]], dtype=np.int32)
    calls = [("advance", (only, step, only, 2)), ("advance", (only, step, only, 2))]

    def answered(*rows):
        some = list(rows)
        return answers(Centring([codes[some]], target[some], **BOUNDS["regression"]), calls)

    assert answered(0, 1, 2) != add(add(answered(0), answered(1)), answered(2))
