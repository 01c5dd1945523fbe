"""interpret's explanation objects for released additive and locally linear models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interpret_dp._optional import explanation_base, part_count, selector_of, shows_inline
from interpret_dp._validate import check_int
from interpret_dp.explanation.influence import decision_shares, top_shares
from interpret_dp.explanation.maps import (
    ClassReading,
    MapUse,
    label_text,
    map_use,
    mean_evidence,
    offered_classes,
    read_row,
)
from interpret_dp.explanation.plots import draw_figure, register_figure
from interpret_dp.explanation.plots.bars import overview_figure
from interpret_dp.explanation.plots.heat import (
    contributions_figure,
    contributions_of_rows,
    mean_maps,
)
from interpret_dp.explanation.plots.images import (
    class_evidence,
    class_filters,
    class_pictures,
    image_reading,
    row_pictures,
)
from interpret_dp.explanation.plots.maps import class_maps, table_reading
from interpret_dp.explanation.plots.parts import fit_card
from interpret_dp.explanation.plots.prediction import prediction_figure
from interpret_dp.explanation.plots.shape import term_figure
from interpret_dp.explanation.plots.survival import survival_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.summary import term_sentence

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
        return self._drawn(key, self.privacy.line if line is None else line)

    def _drawn(self, key: int | None, line: str) -> Figure:
        return draw_figure(self.figure_name, self, key, line)

    def draw(self, name: str, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return a registered figure of a part, with the privacy cost above it.

        Parameters
        ----------
        name : str
            As :func:`interpret_dp.explanation.plots.register_figure` was given it.
        key, line
            As for :meth:`figure`.
        """
        return draw_figure(name, self, key, self.privacy.line if line is None else line)

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
        for view in _views:
            shown = view(self, key)
            if shown is not None:
                return shown
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
        return self.privacy._repr_html_()


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


register_figure("survival", survival_figure)


class PrivateEBMExplanation(PrivateExplanation):
    """An EBM explanation whose figures carry their privacy cost.

    Attributes
    ----------
    model : AdditiveModel
        What is explained.
    explained : tuple
        Of rows: what ``explain_local`` was given, so that an edited model can explain them too.
    """

    model: AdditiveModel
    explained: tuple[Any, ...]
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

    def _drawn(self, key: int | None, line: str) -> Figure:
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
        importance of a term is its root mean square over the released rows. Terms whose noise
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
            # Without the missing and the undeclared ones.
            "Bins": [len(subject.regular) for subject in subjects],
            "Importance": rounded(term.size for term in model.terms),
            "Signal to noise": rounded(term.signal_to_noise for term in model.terms),
        }
    )


def rounded(values: Iterable[float | None]) -> list[float]:
    """Return numbers for interpret's lists, with three digits; None becomes NaN."""
    return [math.nan if value is None else float(f"{value:.{_DIGITS}g}") for value in values]


# interpret's explanation objects for a released locally linear model.

FloatArray = NDArray[np.float64]


def maps_explanation(
    model: LocallyLinearModel,
    *,
    privacy: PrivacySpend,
    name: str,
    inputs: ArrayLike | None = None,
) -> Any:
    """Return interpret's global explanation: each class's maps.

    Parameters
    ----------
    model : LocallyLinearModel
    privacy : PrivacySpend
    name : str
    inputs : array-like of float, shape (n_rows, n_inputs), default=None
        Standardised rows on which to count how often each map is its class's top one. They are
        taken as public: the shares are shown as they are, without noise.

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, ``released``, ``use`` and ``figure(key)``; a key is a class.

    Raises
    ------
    ValueError
        If ``inputs`` has no rows or another number of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from interpret_dp import Categorical, Continuous, Guarantee, PrivacySpend, Schema
    >>> from interpret_dp.released.locally_linear import LocallyLinearModel
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=None, mechanism="Gaussian noise")
    >>> model = LocallyLinearModel(
    ...     schema=Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"])),
    ...     centres=[50.0], spreads=[28.9], weights=[[[-1.0]], [[1.0]]], biases=[[0.0], [0.0]],
    ...     inverse_temperature=1.0, classes=("no", "yes"), guarantee=promise,
    ... )
    >>> shown = maps_explanation(model, privacy=PrivacySpend(guarantee=promise), name="ages")
    >>> shown.figure(1).layout.title.text
    'The maps of yes'
    """
    use = None if inputs is None else map_use(model, np.asarray(inputs, dtype=np.float64))
    names, means = list(model.input_names), model.weights.mean(axis=1)
    shown = means
    if model.scattering is not None:
        names = list(model.feature_names)
        shown = np.array([model.per_feature(values) for values in mean_evidence(model)])
    specific: list[dict[str, Any]] = [
        {"type": "univariate", "names": names, "scores": scores.tolist(), "class": str(label)}
        for scores, label in zip(shown, model.classes, strict=True)
    ]
    if use is not None:
        for entry, shares in zip(specific, use.shares, strict=True):
            entry["top_shares"] = shares.tolist()
    labels = [str(label) for label in model.classes]
    return private_explanation(
        PrivateMapsExplanation,
        "global",
        specific,
        overall={
            "type": "univariate",
            "names": labels,
            "scores": np.linalg.norm(means, axis=1).tolist(),
        },
        mli=[],
        privacy=privacy,
        feature_names=labels,
        feature_types=["continuous"] * len(labels),
        name=name,
        selector=_class_selector(model, use),
        released=model,
        use=use,
    )


def rows_explanation(
    model: LocallyLinearModel,
    inputs: ArrayLike,
    values: Sequence[Sequence[Any]],
    *,
    privacy: PrivacySpend,
    name: str,
    actual: Sequence[int | None] | None = None,
) -> Any:
    """Return interpret's local explanation: how the class scores of some rows come about.

    Parameters
    ----------
    model : LocallyLinearModel
    inputs : array-like of float, shape (n_rows, n_inputs)
        Standardised; at least one row.
    values : sequence, shape (n_rows, n_features)
        The rows' cells, which are the caller's own: nothing protects them.
    privacy : PrivacySpend
    name : str
    actual : sequence of int or None, shape (n_rows,), default=None
        The index of the class that came true; None where that is not known.

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, ``released``, ``reading(row, label)`` and ``figure(key, label=...)``; a
        key is a row.

    Raises
    ------
    ValueError
        If there is no row, or the parts do not agree.
    """
    rows = np.array(inputs, dtype=np.float64)
    truth = [None] * len(rows) if actual is None else list(actual)
    if not len(rows):
        raise ValueError("X has no rows; there must be at least one row to explain.")
    probabilities = model.predict_proba(rows)
    readings = [
        read_row(model, row, int(best))
        for row, best in zip(rows, probabilities.argmax(axis=1), strict=True)
    ]
    parts = zip(readings, values, truth, probabilities, strict=True)
    records = [_record(model, *part) for part in parts]
    cells = np.empty((len(rows), len(model.feature_names)), dtype=object)
    for index, row_values in enumerate(values):
        cells[index, :] = list(row_values)
    selector: dict[str, list[Any]] = {
        "Predicted": [str(model.classes[one.index]) for one in readings],
        "Probability": rounded([one.probability for one in readings]),
    }
    targets = None
    if actual is not None:
        selector["Actual"] = ["" if t is None else str(model.classes[t]) for t in truth]
        targets = np.array([-1 if t is None else t for t in truth])
    selector["Score"] = rounded([one.score for one in readings])
    selector["Top map"] = [one.top[0] for one in readings]
    return private_explanation(
        PrivateMapsExplanation,
        "local",
        records,
        mli=local_parts(records, cells, targets),
        privacy=privacy,
        feature_names=model.feature_names,
        feature_types=model.feature_types,
        name=name,
        selector=selector,
        released=model,
        inputs=rows,
        actual=truth,
    )


class PrivateMapsExplanation(PrivateExplanation):
    """Maps of a locally linear model, in figures that carry their privacy cost.

    Attributes
    ----------
    released : LocallyLinearModel
        What is explained; with every map.
    use : MapUse or None
        Of a global explanation: how often each map is on top over the rows given for it.
    inputs : ndarray of float64, shape (n_rows, n_inputs)
        Of a local one: the rows, standardised.
    actual : list of int or None
        Of a local one: the classes that came true.
    """

    released: LocallyLinearModel
    use: MapUse | None
    inputs: FloatArray
    actual: list[int | None]
    data: Any

    def reading(self, row: int, label: Any = None, *, against: Any = None) -> ClassReading:
        """Return how a class comes to its score at one explained row, or to its lead.

        Parameters
        ----------
        row : int
            As in the selector.
        label : str, number or bool, default=None
            The class; by default the predicted one.
        against : str, number or bool, default=None
            Another class, whose numbers are subtracted.

        Raises
        ------
        TypeError, ValueError
            If this is no local explanation, or there is no such row or class.
        """
        if self.explanation_type != "local":
            raise ValueError("A global explanation has no rows; use explain_local(X).")
        self._check_key("row", row)
        index = self._index("label", label)
        if index is None:
            index = int(self.data(row)["perf"]["predicted"])
        return read_row(self.released, self.inputs[row], index, self._index("against", against))

    def _index(self, name: str, label: Any) -> int | None:
        """Return the place of a class; None for None."""
        if label is None:
            return None
        if label not in self.released.classes:
            raise ValueError(f"{name} is {label!r}; it must be one of {self.released.classes}.")
        return self.released.classes.index(label)

    def figure(
        self,
        key: int | None = None,
        *,
        line: str | None = None,
        label: Any = None,
        against: Any = None,
    ) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a class or a row.

        Parameters
        ----------
        key : int, default=None
        line : str, default=None
            The privacy cost that is written into the figure; by default that of ``privacy``.
        label : str, number or bool, default=None
            Of a row: show this class alone. By default the predicted one, with a menu of others:
            all, or the ten most probable and the actual one. Of pictures the predicted class is
            compared with each of these.
        against : str, number or bool, default=None
            Another class, whose numbers are subtracted: of a row, or of a class of wavelet
            features.

        Raises
        ------
        TypeError, ValueError
            If there is no such class or row, or a class is given where none is compared.
        """
        line = self.privacy.line if line is None else line
        if key is not None:
            self._check_key("key", key)
        if label is not None and (key is None or not self._has_rows):
            raise ValueError(
                f"label is {label!r}; it chooses the class of one row: explain_local(X).figure(0, "
                "label=...). A class's own maps are explain_global().figure(number of the class)."
            )
        has_wavelets = self.released.scattering is not None
        if against is not None and (key is None or not (has_wavelets or self._has_rows)):
            raise ValueError(
                f"against is {against!r}; it compares classes at one row: explain_local(X).figure("
                "0, against=...)."
            )
        if not self._has_rows:
            return self._class_figure(key, self._index("against", against), line)
        if key is None:
            return self._rows_figure(line)
        return self._row_figure(key, label, against, line)

    def _check_key(self, name: str, key: Any) -> None:
        """Refuse a number that no class or row has."""
        of_rows = self._has_rows
        count = len(self.inputs) if of_rows else len(self.released.classes)
        mend = f"It is the number of {'an explained row' if of_rows else 'a class'} in .selector."
        check_int(name, key, low=0, high=count - 1, mend=mend)

    @property
    def _has_rows(self) -> bool:
        return bool(self.explanation_type == "local")

    def _class_figure(self, key: int | None, against: int | None, line: str) -> Figure:
        model = self.released
        if key is None:
            return class_pictures(model, line) if model.is_image else mean_maps(model, line)
        if model.scattering is not None:
            return class_evidence(model, key, against, line)
        drawn = class_filters if model.is_image else class_maps
        return drawn(model, key, self.use, line)

    def _rows_figure(self, line: str) -> Figure:
        model, rows = self.released, range(len(self.inputs))
        if model.is_image:
            leads = [self._leads(row)[0] for row in rows]
            return row_pictures(model, leads, [self._image(row) for row in rows], line)
        return contributions_of_rows(model, [self.reading(row) for row in rows], line)

    def _leads(self, key: int) -> list[ClassReading]:
        """Return the predicted class against others: the actual one or the runner-up first."""
        model, row, actual = self.released, self.inputs[key], self.actual[key]
        best, *others = offered_classes(model.predict_proba(row[None])[0], actual)
        if actual in others:
            others = [actual, *(other for other in others if other != actual)]
        return [read_row(model, row, best, other) for other in others or [best]]

    def _image(self, key: int) -> FloatArray:
        """Return an explained picture in grey; NaN where a pixel is no number."""
        values = [
            value if isinstance(value, int | float) else np.nan
            for value in self.data(key)["values"]
        ]
        height, width, *_ = self.released.image_shape or (1, -1)
        pixels = np.array(values, dtype=np.float64).reshape(height, width, -1)
        return np.asarray(pixels.mean(axis=2))

    def _row_figure(self, key: int, label: Any, against: Any, line: str) -> Figure:
        model, row, actual = self.released, self.inputs[key], self.actual[key]
        if label is not None or against is not None:
            readings = [self.reading(key, label, against=against)]
        elif model.is_image:
            readings = self._leads(key)
        else:
            shown = offered_classes(model.predict_proba(row[None])[0], actual)
            readings = [read_row(model, row, index) for index in shown]
        if model.is_image:
            return image_reading(model, readings, self._image(key), actual, line)
        return table_reading(model, readings, row, self.data(key)["values"], actual, line)


def _record(
    model: LocallyLinearModel,
    reading: ClassReading,
    values: Sequence[Any],
    actual: int | None,
    probabilities: FloatArray,
) -> dict[str, Any]:
    """Return one row in the form of interpret's own local explanations: the predicted class."""
    return {
        "type": "univariate",
        "names": list(model.feature_names),
        "scores": model.per_feature(reading.contributions).tolist(),
        "values": list(values),
        "extra": {"names": ["Intercept"], "scores": [reading.bias], "values": [1]},
        "perf": {
            "is_classification": True,
            "actual": float("nan") if actual is None else actual,
            "predicted": reading.index,
            "actual_score": float("nan") if actual is None else float(probabilities[actual]),
            "predicted_score": reading.probability,
        },
        "output": f"score of {label_text(model.classes, reading.index)}",
        "score": reading.score,
        "top_maps": list(reading.top),
        "top_shares": [float(reading.shares[m]) for m in reading.top],
    }


def _class_selector(model: LocallyLinearModel, use: MapUse | None) -> Any:
    """Return the classes for interpret's lists, by column."""
    means = model.weights.mean(axis=1)
    columns: dict[str, list[Any]] = {
        "Name": [str(label) for label in model.classes],
        "Maps": [model.n_maps] * len(model.classes),
        "Strongest": [_place(model, int(i)) for i in np.abs(means).argmax(axis=1)],
        "Norm": rounded(np.linalg.norm(means, axis=1)),
    }
    if use is not None:
        columns["Top map"] = [int(m) for m in use.shares.argmax(axis=1)]
        columns["Top map's share"] = rounded(use.shares.max(axis=1))
    return columns


def _place(model: LocallyLinearModel, number: int) -> str:
    """Return what an input is called; of a pixel, where it is."""
    if model.image_shape is None or not model.is_image or model.scattering is not None:
        return model.input_names[number]
    row, column = np.unravel_index(number, model.image_shape)[:2]
    return f"row {row}, column {column}"
