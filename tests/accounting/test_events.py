"""The event tree's JSON: both ways, versioned, and closed against what it does not know."""

import json
import math

import pytest
from dp_accounting import dp_event
from hypothesis import given, strategies as st

from interpret_dp.accounting import event_from_json, event_to_json, events, reduce_event
from interpret_dp.accounting.events import (
    check_event_json,
    dominated_node,
    exponential_node,
    sampled_gaussian_node,
    thresholding_node,
)

NOISE, DELTA = st.floats(1e-3, 1e6), st.floats(1e-9, 0.1)
LEAVES = st.one_of(
    st.just(dp_event.NoOpDpEvent()),
    st.builds(dp_event.GaussianDpEvent, NOISE),
    st.builds(events.GaussianThresholdingEvent, NOISE, DELTA),
    st.builds(events.SampledGaussianEvent, NOISE, st.floats(0.01, 1), st.integers(1, 99), DELTA),
    st.builds(events.DominatedEvent, NOISE, DELTA),
    st.builds(events.ExponentialMechanismEvent, st.floats(1e-3, 100)),
)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(dp_event.ComposedDpEvent),
        st.builds(dp_event.SelfComposedDpEvent, parts, st.integers(1, 10**6)),
    ),
    max_leaves=8,
)


def document(node, **changes):
    return {"format": "interpret_dp.event", "version": 1, "event": node} | changes


@given(TREES)
def test_every_tree_survives_json(event):
    text = json.dumps(event_to_json(event), allow_nan=False)
    assert event_from_json(json.loads(text)) == event


def test_an_unknown_event_is_refused():
    with pytest.raises(TypeError, match="PoissonSampledDpEvent was given"):
        event_to_json(dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0)))
    with pytest.raises(TypeError, match="str was given"):
        event_to_json("gaussian")


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
    (document(dominated_node(0.1, 0.0)), ValueError, "delta is 0"),
    (document(dominated_node(0.1, math.nan)), ValueError, "delta is nan"),
    (document(thresholding_node(0.1, 1.0)), ValueError, "delta is 1"),
    (document(thresholding_node(0.1, 0.0)), ValueError, "delta is 0"),
    (document(sampled_gaussian_node(3.0, 2.0, 9, 0.1)), ValueError, "probability is 2"),
    (document(exponential_node(101)), ValueError, "epsilon is 101"),
    (document(exponential_node(0)), ValueError, "epsilon is 0"),
    (document(nested(40)), ValueError, "nested"),
]


@pytest.mark.parametrize(("broken", "error", "message"), BROKEN_DOCUMENTS)
def test_a_broken_document_is_refused(broken, error, message):
    # What is no dictionary is taken for an event of dp_accounting.
    also = [reduce_event] if isinstance(broken, dict) else []
    for read in (check_event_json, event_from_json, *also):
        with pytest.raises(error, match=message):
            read(broken)


def test_bad_parts_are_refused():
    for parts in ([], [(0.0, 1)], [(0.1, 0)]):
        with pytest.raises(ValueError, match=r"parts is empty|mu is 0|count is 0"):
            events.gaussian_events_json(parts)
    with pytest.raises(ValueError, match="delta is 0"):
        events.composed_json([(dominated_node(0.1, 0.1), 1), (thresholding_node(0.1, 0.0), 2)])
