"""The event tree's JSON: versioned, and closed against what it does not know."""

import json
import math

import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting import events, reduce_event

NOISE, DELTA, MU = st.floats(1e-3, 1e6), st.floats(1e-9, 0.1), st.floats(1e-6, 100)
LEAVES = st.one_of(
    st.just({"kind": "no_op"}),
    st.builds(events.gaussian_node, MU),
    st.builds(events.thresholding_node, MU, DELTA),
    st.builds(events.sampled_gaussian_node, NOISE, st.floats(0.01, 1), st.integers(1, 99), DELTA),
    st.builds(events.dominated_node, MU, DELTA),
    st.builds(events.exponential_node, st.floats(1e-3, 100)),
)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(lambda nodes: {"kind": "composed", "events": nodes}),
        st.builds(
            lambda node, count: {"kind": "self_composed", "event": node, "count": count},
            parts,
            st.integers(1, 10**6),
        ),
    ),
    max_leaves=8,
)


def document(node, **changes):
    return {"format": "interpret_dp.event", "version": 1, "event": node} | changes


@given(TREES)
def test_every_tree_is_read_and_survives_json(event):
    tree = document(event)
    events.check_event_json(tree)
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree


def nested(depth):
    node = {"kind": "no_op"}
    for _ in range(depth):
        node = {"kind": "self_composed", "event": node, "count": 1}
    return node


GAUSSIAN = {"kind": "gaussian", "noise_multiplier": 1.0}
SELECTION = {"kind": "private_selection", "noise_multiplier": 4.0, "shape": 1.0, "stopping": 0.1}


BROKEN_DOCUMENTS = [
    ([], ValueError, "list was given"),
    ({}, ValueError, "has no .format."),
    (document(GAUSSIAN, format="other"), ValueError, "format is 'other'"),
    (document(GAUSSIAN, version=2), ValueError, "newer interpret_dp"),
    (document(GAUSSIAN, version=True), ValueError, "version is True"),
    (document(GAUSSIAN, extra=1), ValueError, "unknown keys: 'extra'"),
    (document({"kind": "dp_accounting.GaussianDpEvent"}), ValueError, "known kinds are"),
    (document({"kind": ["gaussian"]}), ValueError, "known kinds are"),
    # Ledgers may hold it; no request has it any more.
    (document(SELECTION), ValueError, "known kinds are"),
    (document({"kind": "gaussian"}), ValueError, "lacks 'noise_multiplier'"),
    (document({**GAUSSIAN, "note": 1}), ValueError, "unknown keys: 'note'"),
    (document({**GAUSSIAN, "noise_multiplier": 0}), ValueError, "at least 1e-100"),
    (document({**GAUSSIAN, "noise_multiplier": math.inf}), ValueError, "finite"),
    (document({**GAUSSIAN, "noise_multiplier": "1"}), TypeError, "real number"),
    (document({"kind": "self_composed", "event": GAUSSIAN, "count": 0}), ValueError, "count"),
    (document({"kind": "self_composed", "event": GAUSSIAN, "count": 1.5}), TypeError, "count"),
    (document({"kind": "self_composed", "event": 3, "count": 1}), TypeError, "JSON object"),
    (document({"kind": "composed", "events": GAUSSIAN}), TypeError, "list of events"),
    (document(events.dominated_node(0.1, 0.0)), ValueError, "delta is 0"),
    (document(events.dominated_node(0.1, math.nan)), ValueError, "delta is nan"),
    (document(events.thresholding_node(0.1, 1.0)), ValueError, "delta is 1"),
    (document(events.thresholding_node(0.1, 0.0)), ValueError, "delta is 0"),
    (document(events.sampled_gaussian_node(3.0, 2.0, 9, 0.1)), ValueError, "probability is 2"),
    (document(events.exponential_node(101)), ValueError, "epsilon is 101"),
    (document(events.exponential_node(0)), ValueError, "epsilon is 0"),
    (document(nested(40)), ValueError, "nested"),
]


@pytest.mark.parametrize(("broken", "error", "message"), BROKEN_DOCUMENTS)
def test_a_broken_document_is_refused(broken, error, message):
    for read in (events.check_event_json, reduce_event):
        with pytest.raises(error, match=message):
            read(broken)


def test_bad_parts_are_refused():
    for parts in ([], [(0.0, 1)], [(0.1, 0)]):
        with pytest.raises(ValueError, match=r"parts is empty|mu is 0|count is 0"):
            events.gaussian_events_json(parts)
    with pytest.raises(ValueError, match="delta is 0"):
        events.composed_json(
            [(events.dominated_node(0.1, 0.1), 1), (events.thresholding_node(0.1, 0.0), 2)]
        )
