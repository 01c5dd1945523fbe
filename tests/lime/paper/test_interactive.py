"""Algorithm 1: replays on neighbouring explanation sets, and controls that must fail.

Through the explainer, with rows on which the model fails: tests/audit/test_replay.py.
"""

import numpy as np
from hypothesis import given, settings, strategies as st

from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.audit import replay
from interpret_dp.lime import adaptive
from interpret_dp.lime.adaptive import (
    ExplanationData,
    Queries,
    descend,
    exact_moments,
    gradients_release,
)
from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.coordinates import UNITS, stable_weight, weight_table
from interpret_dp.release import ReleaseSession
from tests.audit.fits import kinds
from tests.lime.paper import explanation_sets as sets
from tests.lime.paper.explanation_sets import weights

STEPS = 3


def fit_of(relation="add_or_remove_one", table=None, asked=None):
    """Return what explains queries by Algorithm 1 at a mu of 1, from rows or explanation data."""
    own_table, own_asked = table or weights(), asked or sets.queries(sets.ASKED)
    neighbourhood = Neighbourhood(relation=relation)
    planned = gradients_release(own_table, neighbourhood, 1.0, len(own_asked), STEPS)

    def fit(rows):
        data = rows if isinstance(rows, ExplanationData) else sets.explanation_data(rows)
        with sets.session_of(planned, neighbourhood=neighbourhood) as session:
            return descend(session, data, own_asked, own_table, STEPS)

    return fit


def line(place, label):
    """Return one row on a line, ``place`` units from the middle."""
    return ExplanationData(np.array([[place]], dtype=np.int16), np.array([[label]], dtype=np.int16))


NOWHERE = ExplanationData(np.zeros((0, 1), dtype=np.int16), np.zeros((0, 1), dtype=np.int16))
MIDDLE = Queries(np.zeros((1, 1), dtype=np.int16), (0,), (0,))
ONE_COLUMN = weight_table(stable_weight, 0.5, UNITS**2, 1)


def test_the_sensitivity_of_the_gradient_is_reached():
    """At an explanation on the sphere that points away from the label."""
    rows = [line(at, -LABEL_UNITS) for at in range(1, UNITS + 1)]
    moments = [exact_moments(row, MIDDLE, ONE_COLUMN)[0] for row in rows]
    norms = [int(abs(one.gradients(np.ones((1, 1))))[0, 0]) for one in moments]
    assert 0.99 < max(norms) / adaptive.row_norm(ONE_COLUMN) <= 1.0


@settings(max_examples=15)
@given(st.data())
def test_no_pair_of_extreme_rows_exceeds_the_sensitivity(data):
    """Any coordinates, labels, weight constants and queries; both relations."""
    n = data.draw(st.integers(1, 3))
    c, stretch = data.draw(st.sampled_from([0.01, 0.5, 8])), data.draw(st.integers(1, 3))
    table = weight_table(stable_weight, c, n * UNITS**2, stretch)
    asked = Queries(sets.extreme_data(data, 1, n).points, (0,), (0,))
    relation = data.draw(st.sampled_from(sets.RELATIONS))
    pair = sets.extreme_pair(data, relation, n)
    report = replay(fit_of(relation, table, asked), *pair, published=sets.published)
    assert report.ok, report


# What would break the promise, and must be found.


def test_a_norm_that_is_too_small_is_found(monkeypatch):
    right = adaptive.row_norm(ONE_COLUMN)
    monkeypatch.setattr(adaptive, "row_norm", lambda weights: right * 8 // 10)
    # At phi = 0 the gradient is b alone, so that the worst label and distance are those of b.
    fit = fit_of(table=ONE_COLUMN, asked=MIDDLE)
    reports = [
        replay(fit, line(at, LABEL_UNITS), NOWHERE, published=sets.published) for at in (53, UNITS)
    ]
    assert any(v.kind == "sensitivity" for report in reports for v in report.violations)


def test_a_session_that_forgets_the_factor_of_replacing_is_found(monkeypatch):
    release = ReleaseSession.gaussian

    def forgetful(session, name, exact, *, row_norm, aligned):
        return release(session, name, exact, row_norm=row_norm // 2, aligned=False)

    monkeypatch.setattr(ReleaseSession, "gaussian", forgetful)
    pair = line(53, LABEL_UNITS), line(-53, LABEL_UNITS)
    report = replay(fit_of("replace_one", ONE_COLUMN, MIDDLE), *pair, published=sets.published)
    assert "sensitivity" in kinds(report)


def test_an_exact_number_among_what_is_published_is_found():
    fit = fit_of()
    report = replay(
        lambda rows: fit(rows)[:1] * 0 + len(rows),
        sets.records(30),
        sets.records(29),
        published=sets.published,
    )
    assert [v.kind for v in report.violations] == ["published"]
