"""The guarantee of an explainer, and whom it protects.

Explanations protect the people whose rows they are computed from, with the model held fixed. For
the people of the training data the guarantee depends on the model's own, which the user states.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from interpret_dp._figures import ceil_text
from interpret_dp._validate import check_real
from interpret_dp.accounting.composition import compose
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.state import DOES_NOT_HOLD, Doubts
from interpret_dp.exceptions import PrivacyWarning, warn_caller

_OTHER_PEOPLE = "nobody in the explanation data was used to train the model"
_EXPLAINED_ROWS = "Rows that are asked about are not protected."

ModelPromise = Guarantee | tuple[float, float] | None
"""Guarantee of the model's training, or its (epsilon, delta), or None where there is none."""


def model_promise(model: Any, declared: Any) -> ModelPromise:
    """Return the promise under which the model was trained.

    Parameters
    ----------
    model : object
        Its own ``guarantee_``, or that of the object whose method it is, is taken if nothing is
        declared.
    declared : Guarantee, (epsilon, delta) or None

    Raises
    ------
    TypeError, ValueError
        If ``declared`` is something else.
    """
    if declared is None:
        owner = getattr(model, "__self__", model)
        declared = getattr(owner, "guarantee_", None)
        declared = declared if isinstance(declared, Guarantee) else None
    if isinstance(declared, tuple) and len(declared) == 2:
        epsilon = check_real("epsilon of model_guarantee", declared[0], low=0)
        delta = check_real("delta of model_guarantee", declared[1], low=0, high=1, high_open=True)
        return epsilon, delta
    if declared is not None and not isinstance(declared, Guarantee):
        raise TypeError(
            f"model_guarantee is {declared!r} ({type(declared).__name__}); it must be a Guarantee, "
            "such as model.guarantee_, a pair (epsilon, delta), or None for a model that was "
            "trained without differential privacy."
        )
    return declared


def conditional_guarantee(
    guarantee: Guarantee, model: ModelPromise, trained_on_same_people: bool
) -> Guarantee:
    """Return a guarantee of explanations, with its scope for the people of the training data.

    Parameters
    ----------
    guarantee : Guarantee
        Of everything that the explanations are computed from.
    model : ModelPromise
    trained_on_same_people : bool
        Whether people in the explanation data were used to train the model.
    """
    others = () if trained_on_same_people else (_OTHER_PEOPLE,)
    # The model reveals the same people too: its state is that of what is published about them.
    if isinstance(model, Guarantee) and trained_on_same_people:
        conditions, failures = (
            tuple(f"of the model, {clause}" for clause in clauses)
            for clauses in (model.doubts.conditions, model.doubts.failures)
        )
        guarantee = guarantee.doubting(Doubts(conditions, failures))
    scope = f"{_scope(guarantee, model, trained_on_same_people)} {_EXPLAINED_ROWS}"
    return dataclasses.replace(
        guarantee,
        scope=scope,
        assumptions=(*guarantee.assumptions, *others),
    )


def _scope(guarantee: Guarantee, model: ModelPromise, same_people: bool) -> str:
    about = "This is about the people whose rows the explanations are computed from"
    if model is None:
        if same_people:
            return (
                f"{about}, and conditional on the model being known: it was trained on the same "
                "people, no promise of its own is stated or holds, and nothing protects against "
                "what the model itself reveals."
            )
        return (
            f"{about}, with the model taken as given; nothing is promised to the people that it "
            "was trained on."
        )
    if isinstance(model, Guarantee) and model.state == DOES_NOT_HOLD:
        return f"{about}; to those that the model was trained on: {model.state_sentence}"
    model_epsilon, model_delta = _figures(model)
    stated = f"epsilon {ceil_text(model_epsilon)} at delta {ceil_text(model_delta)}"
    if isinstance(model, Guarantee) and model.conditions:
        stated += f", which holds only if {'; and if '.join(model.conditions)}"
    if not same_people:
        return (
            f"{about}; the people that the model was trained on keep the model's own promise, "
            f"{stated}."
        )
    text = f"{about}. The model was trained on the same people under its own promise, {stated}"
    if isinstance(model, Guarantee) and (model.neighboring, model.unit) != (
        guarantee.neighboring,
        guarantee.unit,
    ):
        return (
            f"{text}, which is about other neighbouring tables: the two do not add up to one "
            "figure, and each holds with the other's output taken as given."
        )
    both, at = _together(model, guarantee)
    # A pair alone does not name whom it protects.
    condition = "" if isinstance(model, Guarantee) else "if that is about the same neighbours, "
    return (
        f"{text}; {condition}model and explanations together are ({ceil_text(both)}, "
        f"{ceil_text(at)})-differentially private."
    )


def warn_of_two_names(model: ModelPromise, same_people: bool, dataset: str | None) -> None:
    """Warn if the model and its explanations are charged to the same people under two names."""
    if not same_people or not isinstance(model, Guarantee) or model.dataset in (None, dataset):
        return
    warn_caller(
        f"The model was charged to data set {model.dataset!r} and its explanations to {dataset!r}, "
        "though both are about the same people: their privacy loss is that of both "
        f"accounts together. Pass dataset={model.dataset!r} to charge one.",
        PrivacyWarning,
    )


def _figures(model: Guarantee | tuple[float, float]) -> tuple[float, float]:
    return (model.epsilon, model.delta) if isinstance(model, Guarantee) else model


def _together(model: Guarantee | tuple[float, float], guarantee: Guarantee) -> tuple[float, float]:
    """Return (epsilon, delta) of both: exact composition where the model's pair is known."""
    model_epsilon, model_delta = _figures(model)
    total = min(model_delta + guarantee.delta, 1.0)
    pairs = [model.pair if isinstance(model, Guarantee) else None, guarantee.pair]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < 2 or total >= 1.0:
        return model_epsilon + guarantee.epsilon, total
    return min(compose(known).epsilon_at(total), model_epsilon + guarantee.epsilon), total
