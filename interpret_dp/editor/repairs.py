"""Repairs that the noise justifies: bumps against a known direction that could be noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interpret_dp.editor.state import State, find_term
from interpret_dp.editor.verdict import judge
from interpret_dp.released import AdditiveModel
from interpret_dp.released.isotonic import isotonic

_DIRECTIONS = {"+": True, "-": False}


@dataclass(frozen=True)
class Suggestion:
    """One curve whose bumps noise explains.

    Attributes
    ----------
    term : str
        Name of the term.
    class_label : object
        The class whose curve it is; None unless there are more than two.
    increasing : bool
        Declared direction.
    bins : tuple of int
        Bins to repair: those of the bumps that noise explains, or all regular ones if it explains
        every bump of the whole curve.
    p_value : float
        The smallest p-value among these bumps.
    text : str
        The verdict on the whole curve, in words.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> suggestions = session.suggest_repairs({"age": "+"})  # curves whose dips could be noise
    >>> [one.term for one in suggestions if one.p_value <= 0.05]
    []
    """

    term: str
    class_label: Any
    increasing: bool
    bins: tuple[int, ...]
    p_value: float
    text: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of ``make_monotone`` that repair the curve."""
        classes = None if self.class_label is None else [self.class_label]
        return {"increasing": self.increasing, "bins": self.bins, "classes": classes}


def suggest_repairs(
    base: AdditiveModel,
    state: State,
    monotone: Mapping[str, Any],
    alpha: float,
    codes: Sequence[int] | None = None,
) -> tuple[Suggestion, ...]:
    """Return a suggestion for each curve whose bumps against its direction could be noise.

    See :meth:`interpret_dp.editor.EditSession.suggest_repairs`.
    """
    if not isinstance(monotone, Mapping):
        raise TypeError(
            f"monotone is {monotone!r}; it must be a mapping of terms to directions, such as "
            '{"age": "+"}.'
        )
    suggestions = []
    for name, declared in monotone.items():
        index = find_term(base, name)
        directions = declared if isinstance(declared, Mapping) else {None: declared}
        for class_label, sign in directions.items():
            if not isinstance(sign, str) or sign not in _DIRECTIONS:
                raise ValueError(
                    f"monotone[{name!r}] is {sign!r}; it must be '+' (increasing) or '-' "
                    "(decreasing), or a mapping of class labels to these."
                )
            increasing = _DIRECTIONS[sign]
            suggestion = _suggestion(base, state, index, class_label, increasing, alpha, codes)
            suggestions += [] if suggestion is None else [suggestion]
    return tuple(suggestions)


def _suggestion(
    base: AdditiveModel,
    state: State,
    index: int,
    class_label: Any,
    increasing: bool,
    alpha: float,
    codes: Sequence[int] | None,
) -> Suggestion | None:
    shape = "increasing" if increasing else "decreasing"
    verdict = judge(base, index, shape, class_label, alpha, codes)
    noisy = [bump for bump in verdict.bumps if bump.within_noise]
    if not noisy:
        return None
    term = state.terms[index]
    bins = tuple(sorted(code for bump in noisy for code in bump.bins))
    if verdict.within_noise and codes is None:
        # The same result, and a plainer history.
        bins = tuple(range(1, len(term.scores) - 1))
    column = 0
    if class_label is not None and base.classes is not None:
        column = base.classes.index(class_label)
    now = term.scores.reshape(len(term.scores), -1)[list(bins), column]
    weights = term.weights[list(bins)]
    if np.array_equal(isotonic(now, weights, increasing=increasing), now):
        return None
    p_value = min(bump.p_value for bump in noisy)
    return Suggestion(verdict.term, class_label, increasing, bins, p_value, verdict.text)
