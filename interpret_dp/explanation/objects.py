"""interpret's explanation objects, with their privacy cost attached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from interpret_dp._interpret import explanation_base, part_count, selector_of, shows_inline
from interpret_dp.explanation.draws import decision_shares, top_shares
from interpret_dp.explanation.markup import to_html
from interpret_dp.explanation.panel import privacy_panel
from interpret_dp.explanation.plots import draw_figure
from interpret_dp.explanation.plots.bars import (
    overview_figure,
    term_importance,
)
from interpret_dp.explanation.plots.heat import contributions_figure
from interpret_dp.explanation.plots.parts import fit_card
from interpret_dp.explanation.plots.prediction import prediction_figure
from interpret_dp.explanation.plots.term import term_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveFeature, AdditiveModel, FeaturePair
from interpret_dp.released.sentences import term_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.explanation.plan import FitPlan

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
    """Base of every explanation of this package, beside interpret's own methods.

    Put in front of a class of interpret. ``visualize`` returns a component inside the callbacks
    of interpret's dashboard and a plain figure everywhere else.

    Attributes
    ----------
    privacy : PrivacySpend
        What it cost, as of when it was made.
    """

    privacy: PrivacySpend
    explanation_type: str
    # The registered figure that ``figure`` draws, for a class that has no figures of its own.
    figure_name: ClassVar[str] = ""

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a row of the selector.

        Parameters
        ----------
        key : int, default=None
        line : str, default=None
            The privacy cost that is written into the figure; by default that of ``privacy``.
        """
        return self.draw(self.figure_name, key, line=line)

    def draw(self, name: str, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return a registered figure of a part, with the privacy cost above it.

        Parameters
        ----------
        name : str
            As :func:`interpret_dp.explanation.plots.register_figure` was given it.
        key, line
            As for :meth:`figure`.
        """
        return draw_figure(name, self, key, self.spend_of(key).line if line is None else line)

    def spend_of(self, key: int | None = None) -> PrivacySpend:
        """Return what a part cost: of a row that was paid for by itself, its own cost."""
        is_row = key is not None and self.explanation_type == "local" and self.privacy.rows
        return self.privacy.of_row(key) if is_row and key is not None else self.privacy

    def visualize(self, key: Any = None, title: str | None = None) -> Any:
        """Return what interpret shows for a part of the explanation.

        Parameters
        ----------
        key : int, default=None
            A row of the selector; None is the overview. ``("mli", row)`` is the figure of the row,
            too.
        title : str, default=None
            Replaces the title of a plain figure.

        Returns
        -------
        plotly.graph_objects.Figure
            With the noise band and the privacy cost; inside interpret's live dashboard a Dash
            component with the privacy panel instead.
        """
        if isinstance(key, tuple) and len(key) == 2:
            key = key[1]
        view = live_view(self, key)
        if view is not None:
            return view
        figure = self.figure(key)
        if shows_inline():
            fit_card(figure)
        return figure if title is None else figure.update_layout(title_text=title)

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
    own: Any,
    kind: str,
    specific: Sequence[Any],
    *,
    privacy: PrivacySpend,
    name: str,
    feature_names: Sequence[str],
    feature_types: Sequence[str],
    selector: Any,
    overall: Any = None,
    mli: Sequence[Any] | None = None,
    **attributes: Any,
) -> Any:
    """Return interpret's explanation of effects, one a feature, with the figures of a class.

    Parameters
    ----------
    own : subclass of PrivateExplanation
        Put in front of interpret's class.
    kind : {"data", "global", "local"}
    specific : sequence of mapping
        The parts, as ``data`` returns them.
    privacy : PrivacySpend
    name : str
    feature_names, feature_types : sequence of str
    selector : DataFrame or mapping of columns
        One line a part, for interpret's lists.
    overall : mapping, default=None
    mli : sequence of mapping, default=None
    **attributes
        Set on the explanation.
    """
    import pandas as pd

    document = {"overall": overall, "specific": specific}
    explanation = _combined(own)(
        kind,
        document if mli is None else document | {"mli": mli},
        feature_names=list(feature_names),
        feature_types=list(feature_types),
        name=name,
        selector=selector_of(pd.DataFrame(selector)),
    )
    vars(explanation).update(attributes, privacy=privacy)
    return explanation


def local_parts(records: Sequence[Mapping[str, Any]], cells: Any, actual: Any) -> list[Any]:
    """Return what interpret's full dashboard reads off a local explanation.

    Parameters
    ----------
    records : sequence of mapping, shape (n_rows,)
        In the form of interpret's own local explanations.
    cells : ndarray of object, shape (n_rows, n_features)
    actual : ndarray of float, shape (n_rows,), or None
    """
    importance = {
        "scores": [record["scores"] for record in records],
        "intercept": (records[-1]["extra"]["scores"] or [0.0])[0],
        "perf": [record["perf"] for record in records],
    }
    rows = {"dataset_x": cells, "dataset_y": actual}
    return [
        {"explanation_type": "local_feature_importance", "value": importance},
        {"explanation_type": "evaluation_dataset", "value": rows},
    ]


@lru_cache
def _combined(own: Any, base: Any = None) -> Any:
    """Put a class in front of one of interpret, at first use: importing interpret's takes long.

    ``base`` is by default interpret's explanation of effects.
    """

    class Explanation(own, base or explanation_base()):  # type: ignore[misc]
        __doc__ = own.__doc__

        def __reduce__(self) -> tuple[Any, ...]:
            state = {name: value for name, value in vars(self).items() if name != _SESSION}
            return _rebuild, (own, base, state)

    Explanation.__name__ = Explanation.__qualname__ = own.__name__
    return Explanation


def _rebuild(own: Any, base: Any, state: dict[str, Any]) -> Any:
    kind = _combined(own, base)
    explanation = kind.__new__(kind)
    vars(explanation).update(state)
    return explanation


class PrivateEBMExplanation(PrivateExplanation):
    """An EBM explanation whose figures carry their privacy cost.

    Attributes
    ----------
    model : AdditiveModel
        What is explained.
    """

    model: AdditiveModel
    data: Any
    _open_session: Callable[[AdditiveModel], Any]
    _plan: Callable[..., FitPlan]

    @property
    def edit_session(self) -> Any:
        """The EditSession over this model; its ``model`` is the edited estimator.

        All explanations of one model share it, so it is what interpret's dashboard edits. It lives
        as long as one of them. A copy that was pickled opens another.
        """
        if _SESSION not in vars(self):
            vars(self)[_SESSION] = self._open_session(self.model)
        return vars(self)[_SESSION]

    @property
    def has_edit_session(self) -> bool:
        """Whether :attr:`edit_session` is open; to open it, the model is hashed."""
        return _SESSION in vars(self)

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

    def describe(self) -> dict[str, str]:
        """Return a sentence about each term of the model, by the term's name; costs nothing.

        It says for which values the whole 95 % band is above or below the average over the rows.
        The same model always gives the same sentences.
        """
        terms = zip(self.model.term_names, self.model.terms, strict=True)
        return {name: term_sentence(self.model, term) for name, term in terms}

    def top_terms(self, k: int = 5) -> dict[str, float]:
        """Return the probability that each term is among the k of largest importance.

        It is the share of 500 draws of plausible curves, the same in each call; costs nothing. The
        importance of a term is its mean absolute score over the released rows. Terms whose noise
        is not known are taken as they are.

        Parameters
        ----------
        k : int, default=5
            From 1 to the number of terms.

        Returns
        -------
        dict of str to float
            By name of the term.

        Raises
        ------
        TypeError, ValueError
            If ``k`` is out of range.
        """
        return dict(top_shares(self.model, k))

    def plan_next(
        self,
        n_rows: int | None = None,
        epsilon: float | Sequence[float] = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0),
        *,
        rate: float | Sequence[float] | None = None,
        spread: float | None = None,
    ) -> FitPlan:
        """Plan a further fit of the model's schema, delta and neighbouring relation; costs nothing.

        It reads no private row. One fit of simulated rows at each epsilon, with the estimator's
        default settings; :func:`interpret_dp.plan` takes the median of several. The fits that a
        budget has room for are counted where the ledger is at hand.

        Parameters
        ----------
        n_rows : int, default=None
            Rows of the table; by default the number that the model released.
        epsilon : float or sequence of float, default=(0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
        rate, spread
            Your public guess of the target, as :func:`interpret_dp.plan` takes it.

        Returns
        -------
        FitPlan

        Raises
        ------
        TypeError, ValueError, SchemaError
            As :func:`interpret_dp.plan` does.
        """
        spend = self.privacy.as_of_now()
        guarantee, has_budget = spend.guarantee, spend.budget is not None
        account = {"ledger": spend.account, "dataset": guarantee.dataset} if has_budget else {}
        return self._plan(
            self.model.schema,
            max(2, round(self.model.n_rows)) if n_rows is None else n_rows,
            epsilon,
            delta=guarantee.delta,
            neighboring=guarantee.neighboring,
            rate=rate,
            spread=spread,
            n_fits=1,
            **account,
        )

    def with_decisions(self, uncertain: Any) -> PrivateEBMExplanation:
        """Add to each row the share of plausible models that decide the same, and return self.

        Parameters
        ----------
        uncertain : ndarray of float64, shape (n_rows, 2) or (n_rows, 2, n_classes)
            Scores of the rows and their standard deviations.
        """
        shares = decision_shares(uncertain)
        for record, share in zip(self.data(-1)["specific"], shares, strict=True):
            if share is not None:
                record["same_decision"] = share
        return self


def attach_privacy(
    explanation: Any,
    privacy: PrivacySpend,
    model: AdditiveModel,
    open_session: Callable[[AdditiveModel], Any],
    plan: Callable[..., FitPlan],
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
    plan : callable
        :func:`interpret_dp.plan`, for ``.plan_next``. It must survive a pickle, too.
    """
    state = vars(explanation) | {
        "privacy": privacy,
        "model": model,
        "_open_session": open_session,
        "_plan": plan,
    }
    private = _rebuild(PrivateEBMExplanation, type(explanation), state)
    if private.explanation_type == "global":
        private.selector = selector_of(_selector(model))
        overall = private.data(-1)["overall"]
        ratios = dict(zip(model.term_names, (t.signal_to_noise for t in model.terms), strict=True))
        overall["signal_to_noise"] = [ratios.get(name) for name in overall["names"]]
    return private


def _selector(model: AdditiveModel) -> Any:
    """Return the terms for interpret's lists; its own counts distinct values, which are private."""
    import pandas as pd

    subjects = [model.subject(term) for term in model.terms]
    return pd.DataFrame(
        {
            "Name": [subject.name for subject in subjects],
            "Type": [subject.kind for subject in subjects],
            "Bins": [_bin_count(subject) for subject in subjects],
            "Importance": rounded(term_importance(term)[0] for term in model.terms),
            "Signal to noise": rounded(term.signal_to_noise for term in model.terms),
        }
    )


def rounded(values: Iterable[float | None]) -> list[float]:
    """Return numbers for interpret's lists, with three digits; None becomes NaN."""
    return [math.nan if value is None else float(f"{value:.{_DIGITS}g}") for value in values]


def _bin_count(subject: AdditiveFeature | FeaturePair) -> int:
    """Return the number of bins or cells, without the missing and the unseen ones."""
    return len(subject.regular) if isinstance(subject, FeaturePair) else subject.n_codes - 2
