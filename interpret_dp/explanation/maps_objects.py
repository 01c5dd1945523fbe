"""interpret's explanation objects for a released locally linear model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from interpret_dp._validate import check_int
from interpret_dp.explanation.maps import (
    ClassReading,
    MapUse,
    label_text,
    map_use,
    mean_evidence,
    offered_classes,
    read_row,
)
from interpret_dp.explanation.objects import (
    PrivateExplanation,
    local_parts,
    private_explanation,
    rounded,
)
from interpret_dp.explanation.plots.heat import contributions_of_rows, mean_maps
from interpret_dp.explanation.plots.images import (
    class_filters,
    contribution_images,
    image_reading,
    mean_filters,
)
from interpret_dp.explanation.plots.maps import class_maps, table_reading
from interpret_dp.explanation.plots.strokes import (
    class_strokes,
    evidence_of_classes,
    leads_of_rows,
    stroke_reading,
)
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released.locally_linear import LocallyLinearModel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
    if len(values) != len(rows) or len(truth) != len(rows):
        raise ValueError(
            f"There are {len(rows)} rows of inputs, {len(values)} of values and {len(truth)} "
            "labels; they must be as many."
        )
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
    targets = None if actual is None else np.array([-1 if t is None else t for t in truth])
    return private_explanation(
        PrivateMapsExplanation,
        "local",
        records,
        mli=local_parts(records, cells, targets),
        privacy=privacy,
        feature_names=model.feature_names,
        feature_types=model.feature_types,
        name=name,
        selector=_row_selector(model, readings, None if actual is None else truth),
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
            all, or the ten most probable and the actual one. Of wavelet features each of these is
            compared with the predicted class.
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
        has_strokes = self.released.scattering is not None
        if against is not None and (key is None or not (has_strokes or self._has_rows)):
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
        if model.scattering is not None:
            if key is None:
                return evidence_of_classes(model, line)
            return class_strokes(model, key, against, line)
        if key is None:
            return mean_filters(model, line) if model.is_image else mean_maps(model, line)
        drawn = class_filters if model.is_image else class_maps
        return drawn(model, key, self.use, line)

    def _rows_figure(self, line: str) -> Figure:
        model, rows = self.released, range(len(self.inputs))
        if model.scattering is not None:
            leads = [self._leads(row)[0] for row in rows]
            return leads_of_rows(model, leads, [self._image(row) for row in rows], line)
        drawn = contribution_images if model.is_image else contributions_of_rows
        return drawn(model, [self.reading(row) for row in rows], line)

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
        elif model.scattering is not None:
            readings = self._leads(key)
        else:
            shown = offered_classes(model.predict_proba(row[None])[0], actual)
            readings = [read_row(model, row, index) for index in shown]
        if model.scattering is not None:
            return stroke_reading(model, readings, self._image(key), actual, line)
        if model.is_image:
            return image_reading(model, readings, row, actual, line)
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


def _row_selector(
    model: LocallyLinearModel, readings: Sequence[ClassReading], truth: Sequence[int | None] | None
) -> Any:
    """Return the rows for interpret's lists, as its own explanations have them."""
    columns: dict[str, list[Any]] = {
        "Predicted": [str(model.classes[one.index]) for one in readings],
        "Probability": rounded([one.probability for one in readings]),
    }
    if truth is not None:
        columns["Actual"] = ["" if t is None else str(model.classes[t]) for t in truth]
    columns["Score"] = rounded([one.score for one in readings])
    columns["Top map"] = [one.top[0] for one in readings]
    return columns
