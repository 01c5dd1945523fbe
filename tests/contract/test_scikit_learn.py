"""Tags, diagrams of pipelines, and models that are shown: scikit-learn's own machinery."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)

KINDS = (DPExplainableBoostingClassifier, DPExplainableBoostingRegressor)
EITHER = pytest.mark.parametrize("kind", KINDS)
SCHEMA = {
    DPExplainableBoostingClassifier: Schema(
        default=Continuous(-3, 3), target=Categorical(["no", "yes"])
    ),
    DPExplainableBoostingRegressor: Schema(default=Continuous(-3, 3), target=Continuous(-3, 3)),
}


def table(kind: Any) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["age", "dose", "weight"])
    y = X["age"]
    return X, y.gt(0).map({True: "yes", False: "no"}) if kind is KINDS[0] else y


def small(kind: Any, **parameters: Any) -> Any:
    return kind(schema=SCHEMA[kind], max_rounds=2, **parameters)


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("survey", epsilon=5.0, delta=1e-4)
    return ledger


@EITHER
def test_tags_say_what_the_model_can_read(kind: Any) -> None:
    tags = get_tags(small(kind))
    assert tags.estimator_type == ("classifier" if kind is KINDS[0] else "regressor")
    inputs = tags.input_tags
    assert (inputs.allow_nan, inputs.categorical, inputs.string) == (True, True, True)
    assert (inputs.sparse, inputs.dict, tags.array_api_support) == (False, False, False)
    assert tags.target_tags.required
    X, y = table(kind)
    X["dose"] = np.nan
    small(kind).fit(X, y).predict(X)


# ------------------------------------------------------------------- pipelines and diagrams


@EITHER
@pytest.mark.parametrize("gone", [False, True], ids=["ledger there", "ledger gone"])
def test_diagrams_of_pipelines_show_the_model(
    kind: Any, gone: bool, ledger: Any, tmp_path: Path
) -> None:
    """scikit-learn's diagram reads every fitted attribute, those that read the ledger included.

    Where the ledger is gone, a new file would say that nothing was spent: none is written.
    """
    pipe = make_pipeline(FunctionTransformer(), small(kind, ledger=ledger, dataset="survey"))
    assert kind.__name__ in pipe._repr_html_()
    pipe = pickle.loads(pickle.dumps(pipe.fit(*table(kind))))
    if gone:
        (tmp_path / "privacy.db").rename(tmp_path / "elsewhere.db")
    assert kind.__name__ in pipe._repr_html_()
    card = pipe[-1]._repr_html_()
    assert card.count('class="interpret-dp-guarantee"') == 1
    assert pipe[-1].guarantee_.sentence in card
    assert "interpret-dp-guarantee" not in clone(pipe)[-1]._repr_html_()
    pipe[-1].explain_global()
    assert ("is gone" in pipe[-1].privacy_spend_.ledger) is gone
    assert (tmp_path / "privacy.db").exists() is not gone
