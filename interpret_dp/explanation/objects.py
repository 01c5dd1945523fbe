"""interpret's explanation objects, with their privacy cost attached."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from interpret_dp._interpret import explanation_base, part_count, selector_of
from interpret_dp.explanation.markup import to_html
from interpret_dp.explanation.panel import privacy_panel
from interpret_dp.explanation.plots.bars import (
    overview_figure,
    prediction_figure,
    term_importance,
)
from interpret_dp.explanation.plots.heat import contributions_figure
from interpret_dp.explanation.plots.shape import term_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel, AdditiveTerm, FeaturePair

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "PrivateExplanation",
    "attach_privacy",
    "live_view",
    "private_explanation",
    "register_live_view",
]

_DIGITS = 3
_SESSION = "_edit_session"

_LiveView = Callable[[Any, int | None], Any]
_views: list[_LiveView] = []
"""Each takes an explanation and a key; it returns what to show, or None to leave it to others.

The dashboard registers itself here, because nothing below it may import it.
"""


def register_live_view(view: _LiveView) -> None:
    """Let a view answer ``visualize`` before the plain figure does; the same one counts once."""
    if view not in _views:
        _views.append(view)


def live_view(explanation: Any, key: int | None) -> Any:
    """Return what the first registered view shows, or None: then the plain figure is right."""
    for view in _views:
        shown = view(explanation, key)
        if shown is not None:
            return shown
    return None


class PrivateExplanation:
    """What every explanation of this package has beside interpret's own methods.

    Put in front of a class of interpret. ``visualize`` returns a component inside the callbacks
    of interpret's dashboard and a plain figure everywhere else.

    Attributes
    ----------
    privacy : PrivacySpend
        What it cost, as of when it was made.
    """

    privacy: PrivacySpend
    explanation_type: str

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a row of the selector.

        Parameters
        ----------
        key : int, default=None
        line : str, default=None
            The privacy cost that is written into the figure; by default that of ``privacy``.
        """
        raise NotImplementedError

    def spend_of(self, key: int | None = None) -> PrivacySpend:
        """Return what a part cost: of a row that was paid for by itself, its own cost."""
        is_row = key is not None and self.explanation_type == "local" and self.privacy.rows
        return self.privacy.of_row(key) if is_row and key is not None else self.privacy

    def visualize(self, key: int | None = None) -> Any:
        """Return what interpret shows for a part of the explanation.

        Parameters
        ----------
        key : int, default=None
            A row of the selector; None is the overview.

        Returns
        -------
        plotly.graph_objects.Figure
            With the noise band and the privacy cost; inside interpret's live dashboard a Dash
            component with the privacy panel instead.
        """
        view = live_view(self, key)
        return self.figure(key) if view is None else view

    def __repr__(self) -> str:
        """Name kind, title and parts; the guarantee's figures are in ``privacy``."""
        selector = getattr(self, "selector", None)
        parts = "" if selector is None else f", {part_count(selector)} parts"
        name = getattr(self, "name", None)
        return (
            f"<{type(self).__name__} {name!r}: {self.explanation_type}{parts}, "
            f"{self.privacy.guarantee.brief}>"
        )

    def _repr_html_(self) -> str:
        """Show the privacy panel in a notebook; ``interpret.show`` shows the figures."""
        return to_html(privacy_panel(self.privacy.to_dict()))


def private_explanation(
    own: Any, kind: str, document: Any, *, privacy: PrivacySpend, **named: Any
) -> Any:
    """Return interpret's explanation of effects, one a feature, with the figures of a class.

    Parameters
    ----------
    own : subclass of PrivateExplanation
        What is put in front of interpret's class.
    kind : {"data", "global", "local"}
    document : mapping
        What ``data`` returns parts of.
    privacy : PrivacySpend
    **named
        ``feature_names``, ``feature_types``, ``name`` and ``selector``, as interpret has them.
    """
    explanation = _effects_class(own)(kind, document, **named)
    explanation.privacy = privacy
    return explanation


@lru_cache
def _effects_class(own: Any) -> Any:
    """Make the class at first use: importing interpret's own takes long."""

    class Explanation(own, explanation_base()):  # type: ignore[misc]
        __doc__ = own.__doc__

        def __reduce__(self) -> tuple[Any, ...]:
            return _rebuild_effects, (own, dict(vars(self)))

    Explanation.__name__ = Explanation.__qualname__ = own.__name__
    return Explanation


def _rebuild_effects(own: Any, state: dict[str, Any]) -> Any:
    kind = _effects_class(own)
    explanation = kind.__new__(kind)
    explanation.__dict__.update(state)
    return explanation


class _PrivateEBMExplanation(PrivateExplanation):
    """Figures of an additive model.

    Attributes
    ----------
    model : AdditiveModel
        What is explained.
    """

    model: AdditiveModel
    data: Any
    _open_session: Callable[[AdditiveModel], Any]

    @property
    def edit_session(self) -> Any:
        """The EditSession over this model; its ``model`` is the edited estimator.

        All explanations of one model share it, so it is what interpret's dashboard edits. It lives
        as long as one of them. A copy that was pickled opens another.
        """
        if _SESSION not in vars(self):
            vars(self)[_SESSION] = self._open_session(self.model)
        return vars(self)[_SESSION]

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a term or a row."""
        line = self.privacy.line if line is None else line
        if self.explanation_type == "global":
            if key is None:
                return overview_figure(self.model, line)
            return term_figure(self.model, key, line)
        if key is None:
            return contributions_figure(self.data(-1)["specific"], line)
        return prediction_figure(self.model, self.data(key), line)


def attach_privacy(
    explanation: Any,
    privacy: PrivacySpend,
    model: AdditiveModel,
    open_session: Callable[[AdditiveModel], Any],
) -> Any:
    """Return the explanation with ``.privacy`` and ``.model``, and with figures that show them.

    Parameters
    ----------
    explanation : interpret's EBMExplanation
        Result of ``explain_global`` or ``explain_local``; public.
    privacy : PrivacySpend
    model : AdditiveModel
        The model that is explained, as it is now.
    open_session : callable
        Returns the session that edits a model; what ``.edit_session`` is. It must survive a pickle.
    """
    state = vars(explanation) | {
        "privacy": privacy,
        "model": model,
        "_open_session": open_session,
    }
    private = _rebuild(type(explanation), state)
    if private.explanation_type == "global":
        private.selector = selector_of(_selector(model))
        overall = private.data(-1)["overall"]
        ratios = dict(zip(model.term_names, (t.signal_to_noise for t in model.terms), strict=True))
        overall["signal_to_noise"] = [ratios.get(name) for name in overall["names"]]
    return private


def _selector(model: AdditiveModel) -> Any:
    """Return the terms for interpret's lists; its own counts distinct values, which are private."""
    import pandas as pd

    columns = ["Name", "Type", "Bins", "Importance", "Signal to noise"]
    rows = [
        (
            model.subject(term).name,
            model.subject(term).kind,
            _bin_count(model, term),
            _rounded(term_importance(term)[0]),
            _rounded(term.signal_to_noise),
        )
        for term in model.terms
    ]
    return pd.DataFrame(rows, columns=columns)


def _rounded(value: float | None) -> float:
    return math.nan if value is None else float(f"{value:.{_DIGITS}g}")


def _bin_count(model: AdditiveModel, term: AdditiveTerm) -> int:
    """Return the number of bins or cells, without the missing and the unseen ones."""
    subject = model.subject(term)
    return len(subject.regular) if isinstance(subject, FeaturePair) else subject.n_codes - 2


@lru_cache
def _private_class(base: Any) -> Any:
    """Derive from whatever class interpret returned: its module is not a public name."""

    class PrivateEBMExplanation(_PrivateEBMExplanation, base):
        """An EBM explanation whose figures carry their privacy cost."""

        def __reduce__(self) -> tuple[Any, ...]:
            state = {name: value for name, value in vars(self).items() if name != _SESSION}
            return _rebuild, (base, state)

    PrivateEBMExplanation.__qualname__ = "PrivateEBMExplanation"
    return PrivateEBMExplanation


def _rebuild(base: Any, state: dict[str, Any]) -> Any:
    explanation = base.__new__(_private_class(base))
    explanation.__dict__.update(state)
    return explanation
