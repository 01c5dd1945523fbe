"""Whatever is asked for is refused before the charge, or its plan, charge and bill are one."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import interpret_dp
from interpret_dp import Categorical, Continuous, Guarantee, PrivacyUnit, PrivacyWarning, Schema
from interpret_dp.accounting import GdpPair, compose
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import ReleaseSession
from tests.golden.kinds import FEATURES, FILES, rows

X, IDS, TWO = rows(3), np.arange(3), Categorical([0, 1])
MODEL = interpret_dp.load_model(FILES / "classification.json")
# Bounds on what a row adds to a sum of an additive model, in lattice units: the least is a residual
# without most of the mean, the most are products of 256 columns.
NORMS = LATTICE // 2, 181 * LATTICE


class OpenedError(Exception):
    """A request opens the session: it was not refused before."""


def fit(estimator, target, unit=None, declared=True, **given):
    schema = Schema(FEATURES, target, unit=unit) if declared else Schema(unit=unit)
    more = {key: given.pop(key) for key in ("sample_weight",) if key in given}
    model = getattr(interpret_dp, estimator)(schema=schema, **given)
    model.fit(X, IDS, unit=None if unit is None else IDS, **more)


def measure(**given):
    interpret_dp.private_metrics({"a": MODEL, "b": MODEL}, X, IDS, **given)


def release(**given):
    interpret_dp.PrivateBackground(Schema(FEATURES), **given).fit(X)


RELATION = {"neighboring": ["replace_one"]}
OPTIONS = RELATION | {
    "unit": [PrivacyUnit("id"), PrivacyUnit("id", 1000), PrivacyUnit("id", 1, total_rows=1000)],
    "sample_weight": [IDS],
    "max_rounds": [0, 1, 1000],
    "bin_budget_frac": [1e-9, 0.999],
    "composition": ["classic"],
}
KNOWN = {"interactions": [1, 2, [("dose", "stage")]], "monotone_constraints": [{"age": 1}]}
CLASSIFIER, REGRESSOR = "DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor"
# What is called, what it is always given, and what it may be given.
REQUESTS = {
    "pairs": (fit, {"estimator": CLASSIFIER, "target": TWO, "interactions": 1}, OPTIONS),
    "more classes": (fit, {"estimator": CLASSIFIER, "target": Categorical([0, 1, 2])}, OPTIONS),
    "undeclared": (fit, {"estimator": CLASSIFIER, "target": None, "declared": False}, OPTIONS),
    "regression": (
        fit,
        {"estimator": REGRESSOR, "target": Continuous(1, 9)},
        OPTIONS
        | KNOWN
        | {"objective": ["poisson_deviance", "gamma_deviance", "tweedie_deviance", "quantile"]},
    ),
    "maps": (
        fit,
        {"estimator": "DPLocallyLinearClassifier", "target": TWO, "sampling_rate": 1.0},
        {"declared": [False], "epochs": [1.0, 1e5], "centring": [0.0, 0.5]},
    ),
    "metrics": (measure, {}, RELATION | {"by": ["stage", "city"]}),
    "background": (release, {}, RELATION | {"dependence": [False]}),
}


@pytest.mark.parametrize("name", REQUESTS)
@settings(max_examples=40)
@given(epsilon=st.floats(-3, 8), delta=st.floats(-12, -2), data=st.data())
def test_what_is_charged_can_be_carried_out(name, epsilon, delta, data):
    call, always, optional = REQUESTS[name]
    choices = {option: st.sampled_from(values) for option, values in optional.items()}
    asked = always | data.draw(st.fixed_dictionaries({}, optional=choices))
    enter = mock.patch.object(ReleaseSession, "__enter__", autospec=True, side_effect=OpenedError)
    with enter as entered:
        try:
            call(epsilon=10.0**epsilon, delta=10.0**delta, **asked)
        except OpenedError:
            (session,) = entered.call_args.args
        except ValueError:
            return
    request = session.request
    shares, cost = request.plan.shares, request.plan.cost
    Guarantee(epsilon=request.epsilon, delta=request.delta, mu=None, mechanism="a", releases=shares)
    billed = compose(GdpPair(share.mu, share.delta) for share in shares)
    assert (billed.mu, billed.delta) == pytest.approx((cost.mu, cost.delta), rel=1e-12)
    if "DPExplainable" in asked.get("estimator", ""):
        for part, norm in itertools.product(session._planned.values(), NORMS):
            noise_scale(part.name, session.neighbourhood.sensitivity(norm, aligned=False), part.mu)


def test_a_data_set_without_a_ledger_is_warned_of():
    """A model that was read from a file names its data set, and has no ledger."""
    with pytest.warns(PrivacyWarning, match="dataset is 'd' and ledger is None") as caught:
        fit("DPExplainableBoostingClassifier", TWO, dataset="d")
    assert caught[0].filename == __file__
