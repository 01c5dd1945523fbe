"""A black box that does not look at each row alone is found by the replay of its explanations.

That neighbouring data differ only in what was charged, by every method: tests/audit/test_replay.py.
"""

import numpy as np

from interpret_dp.audit import replay
from interpret_dp.audit.neighbours import explanation_parts
from interpret_dp.lime.black_box import BlackBox
from tests.lime.paper.test_explainer import explainer
from tests.lime.tables import Risk, table


def test_labels_that_depend_on_the_other_rows_are_found(monkeypatch):
    """The control: a model that breaks the listed assumption must fail the replay."""
    labels = BlackBox.labels

    def turned(box, X, n_rows, n_outputs):
        return labels(box, X, n_rows, n_outputs) * np.int16((-1) ** n_rows)

    monkeypatch.setattr(BlackBox, "labels", turned)
    rows = table(60)

    def explain(data):
        own = explainer(Risk(), data, steps=24, epsilon=2.0, per_query=0.5, method="interactive")
        return own.explain_local(table(3, seed=8))

    report = replay(explain, rows, rows.iloc[1:], published=explanation_parts)
    assert any(violation.kind == "sensitivity" for violation in report.violations)
