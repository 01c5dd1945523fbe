"""The card below scikit-learn's diagram in a notebook: an estimator's guarantee, or its plan."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.accounting.state import DOES_NOT_HOLD
from interpret_dp.explanation.pages import render
from interpret_dp.explanation.panel import EDGES, TITLES
from interpret_dp.released.summary import ModelSummary, summarise
from interpret_dp.schema import Schema

_PLANNED = "#8a949c"
_FIGURES = ("epsilon", "delta")
_PASSWORD = re.compile(r"(://[^/@:]*):[^/@]*@")


class ShowsGuarantee:
    """Mixin in front of scikit-learn's BaseEstimator: what is promised, and what was released."""

    def summary(self) -> ModelSummary:
        """Return the released model in one line a column, and what stands out; costs nothing.

        It reads released numbers alone, and is text in a terminal and a table in a notebook.
        """
        return summarise(self.to_released())  # type: ignore[attr-defined]

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram with the promise below it."""
        return str(super()._repr_html_inner()) + self._promise_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what a notebook shows; scikit-learn's setting ``display`` is kept."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._promise_html()
        return bundle

    def _promise_html(self) -> str:
        guarantee = getattr(self, "guarantee_", None)
        return plan_card(self) if guarantee is None else guarantee_card(guarantee)


def guarantee_card(guarantee: Guarantee) -> str:
    """Return the promise as a piece of HTML, its full record folded away.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    str
        One ``div`` without scripts or style sheets; every text in it is escaped.
    """
    return render(
        "card.html",
        kind="guarantee",
        edge=EDGES[guarantee.state],
        title=TITLES[guarantee.state],
        lines=[guarantee.sentence],
        record=guarantee._repr_html_(),
    )


def plan_card(estimator: Any) -> str:
    """Return what an estimator will promise once it is fitted, as a piece of HTML.

    Parameters
    ----------
    estimator : scikit-learn estimator
        One of ours. Its parameters are shown as they are: only ``fit`` says whether they make
        sense.

    Returns
    -------
    str
        One ``div`` as :func:`guarantee_card` returns it.
    """
    is_void = getattr(estimator, "random_state", None) is not None
    if is_void:
        promise = "nothing. random_state is set, which is for tests only; leave it out."
    else:
        figures = (f"{name} {_figure(getattr(estimator, name, None))}" for name in _FIGURES)
        relation = str(getattr(estimator, "neighboring", "add_or_remove_one")).replace("_", " ")
        promise = f"({', '.join(figures)})-differential privacy; neighbouring tables: {relation}."
    return render(
        "card.html",
        kind="plan",
        edge=EDGES[DOES_NOT_HOLD] if is_void else _PLANNED,
        title="Privacy: not fitted, nothing spent",
        lines=[
            f"Will promise: {promise}",
            f"Declared: {_declared_text(getattr(estimator, 'schema', None))}",
            f"Will be charged to: {_account_text(estimator)}",
        ],
        record="",
    )


def _figure(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else repr(value)


def _declared_text(schema: Any) -> str:
    if not isinstance(schema, Schema):
        return (
            "no schema. Bounds and levels that the other arguments leave open are estimated "
            "privately, from the same budget; declaring them is free and exact."
        )
    kinds = Counter(type(spec).__name__.lower() for spec in schema.features.values())
    parts = [", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "no column by name"]
    if schema.default is not None:
        parts.append("a default for all others")
    parts.append("the target" if schema.target is not None else "not the target")
    unit = "one row" if schema.people is None else f"all rows of one {schema.people.name!r}"
    return f"{'; '.join(parts)}. Protected: {unit}."


def _account_text(settings: Any) -> str:
    dataset, ledger = getattr(settings, "dataset", None), getattr(settings, "ledger", None)
    name = "a data set without a name" if dataset is None else f"data set {dataset!r}"
    if ledger is None:
        return f"{name}, in the ledger of this process, which sets no limit."
    where = _PASSWORD.sub(r"\1:***@", str(getattr(ledger, "display_url", ledger)))
    return f"{name}, in the ledger {where}."
