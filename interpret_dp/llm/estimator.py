"""The scikit-learn estimator of DP-LLM, its explanations, and models read from files."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from interpret_dp._documents import check_keys, kinds_of, read_json
from interpret_dp._optional import import_optional
from interpret_dp.accounting.events import MOST_STEPS
from interpret_dp.accounting.guarantee import (
    ReleaseShare,
)
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.plans import SampledSteps
from interpret_dp.ebm.estimators import from_document
from interpret_dp.ebm.interpret_api import plain_value
from interpret_dp.exceptions import SchemaError
from interpret_dp.fitting.estimator import PrivatePredictor
from interpret_dp.fitting.pipelines import warn_of_learning_steps, with_substitutes
from interpret_dp.llm.config import TrainingSettings
from interpret_dp.llm.request import (
    CENTRE,
    COUNT,
    GRADIENTS,
    InputCoding,
    MapsRequest,
    MapsSettings,
    flat_rows,
    in_class_order,
    open_request,
)
from interpret_dp.llm.training import LONGEST
from interpret_dp.release import ReleaseSession
from interpret_dp.released.additive_model import note_file
from interpret_dp.released.background import BACKGROUND_FORMAT
from interpret_dp.released.locally_linear import MAPS_FORMAT, LocallyLinearModel
from interpret_dp.released.summary import warn_after_fit
from interpret_dp.schema import Categorical, Schema, encode_classes, open_table, open_target
from interpret_dp.schema.containers import kind_of, mismatch, warn_of_mismatches

if TYPE_CHECKING:
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.llm.training import TrainedMaps


_names = itertools.count()

_MECHANISM = (
    "discrete Gaussian noise on clipped gradients of Poisson samples; accounted by privacy loss "
    "distributions"
)
_IDEAL_OPACUS = (
    "sums of gradients, which Opacus adds up in double precision, are those of ideal arithmetic: "
    "that moves them by far less than the room that clipping leaves"
)
_DECLARED_ROWS = "the number of rows that was declared is public"
_NARROW = (
    "Values fill little of their declared bounds: their released spread is below a quarter of "
    "that of even values, and may be noise alone. Maps learn little from such inputs. Declare the "
    "bounds that values fill, such as Continuous(0, 1) or Continuous(0, 255), or pass "
    "standardize=(mean, deviation)."
)
_LARGE_SHARE, _SURELY = 0.15, 4.0
# A mean is close to the upper bound if it is so near, as a share of the range. Close to the lower
# one are many columns that are as declared, such as counts that are mostly zero.
_NEAR = 0.03
# Others are in the schema or the guarantee, or belong to a session.
_SAVED = sorted({"classes", "delta", "epsilon", *MapsSettings.__annotations__} - {"task"})


class DPLocallyLinearClassifier(
    PrivatePredictor[LocallyLinearModel], ClassifierMixin, BaseEstimator
):
    """Differentially private classifier of several locally linear maps per class.

    Its explanations are its own weights, so that it reaches many classes and images where additive
    models do not.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-5
        The promise for everything that the fit publishes.
    n_maps : int, default=None
        Linear maps of each class. None: by the rule
        (:func:`interpret_dp.llm.config.default_settings`), as for the next ones.
    projection_dim : int, default=None
        Dimension of the projections, at most the number of inputs; 0: no projection.
    inverse_temperature : float, default=None
        Of the softmax that weights a class's maps.
    batch_size : int, default=None
        Expected rows of each step's sample. The rate follows from it and from the number of rows,
        which is private: declare ``n_rows`` if it is public, otherwise a half percent of the
        budget (of mu squared) is spent on it.
    sampling_rate : float, default=None
        Probability with which each row is in a step's sample, in place of ``batch_size``: it needs
        no number of rows. If neither is given: 1/15 for images, 1/4 for tables.
    epochs : float, default=None
        How often each row is used on average.
    learning_rate : float, default=None
        Of Adam; it falls by a fifth after each sixth of the training.
    clip_norm : float, default=None
        Bound on the norm of one row's gradient.
    averaging : float, default=None
        Decay of the running average of the weights; 0: the last weights.
    projection : {"cosine", "gaussian", "orthonormal"}, default=None
        Kind of the projections, which are public: an image's cosines of lowest frequency, the same
        for all maps, or random ones, others for each map.
    smoothing : float, default=None
        Deviation, in pixels, of the blur of an image's projections; 0: none.
    centring : float, default=None
        Share of the budget (of mu squared) that is spent on the mean and the spread of what maps
        see, so that training sees it centred; 0: none. Not for random projections.
    image_shape : tuple of int, default=None
        Shape of an image, where rows are images; arrays of more than two dimensions say so
        themselves. It decides the rule for the settings.
    standardize : (mean, deviation) or mapping of column to such pairs, default=None
        Public constants by which continuous columns are centred and divided. None: by their
        bounds. Never read them off the private rows.
    feature_names : list of str, default=None
        Names of the columns; by default those of the DataFrame.
    schema : Schema, default=None
        Public declaration of columns and class labels. What it leaves open is released privately,
        out of the fit's budget.
    n_rows : int, default=None
        Public number of rows, if there is one. A rough figure will do: it sets the rate, and tables
        of few rows (10,000 over epsilon) get one map a class.
    engine : {"closed_form", "opacus"}, default="closed_form"
        What sums the clipped gradients. Both give the same sums but for rounding; Opacus is slower
        and needs the extra ``llm``.
    keep_on_interrupt : bool, default=False
        After Ctrl-C, keep the weights so far and return. In either case the steps begun are
        charged.
    random_state : int, default=None
        For tests only: any value but None voids the promise, with a warning.
    ledger : PrivacyLedger or str, default=None
        Where the fit is charged; a string is the ledger's URL. Its budget needs a ``delta_x`` of
        at least a tenth of ``delta``. None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the data set in the ledger; required with a ledger.
    verbose : bool, default=False
        Show a progress bar with steps and time, never a loss.
    classes : sequence of str, int, float or bool, default=None
        The class labels, where ``schema`` does not declare the target. They must be public
        knowledge, and then cost nothing.
    features : {"inputs", "scattering"}, default="inputs"
        What maps see: columns and pixels as declared, or public wavelet features of images from
        8 x 8 pixels (``interpret_dp.released.scattering``), with which one map a class does more.
    background : float, default=None
        Public value of a pixel where a picture shows nothing, such as 0 for black. Explanations
        compare a picture with one that is all background, and missing pixels are taken for it with
        ``features="scattering"``. None: the lower bound of each pixel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The declared labels, sorted.
    guarantee_ : Guarantee
        The promise, its assumptions, and the ledger's head.
    model_ : LocallyLinearModel
        What was released: weights, biases, schema, settings and guarantee.
    coding_ : InputCoding
        How columns become inputs.
    settings_ : TrainingSettings
        What was used, whether by the rule or by parameters.
    steps_ : SampledSteps or None
        Noise multiplier, sampling rate and number of steps; None if nothing was trained.
    schema_ : Schema
        The declaration in force.
    image_shape_ : tuple of int or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (``n_features_in_``,)

    Notes
    -----
    Harder, Bauer and Park (2020), with Poisson samples and accounting by privacy loss
    distributions; docs/proofs/dp_llm.md. Neighbours differ by adding or removing one row, or one
    unit of which one row is used. Private: the rows, their number, which labels occur, the sizes of
    samples. Released: every fitted attribute.

    Examples
    --------
    >>> from interpret_dp import DPLocallyLinearClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPLocallyLinearClassifier(epsilon=2.0, delta=1e-5, schema=patients.schema, epochs=1)
    >>> model.fit(patients.X, patients.y).predict_proba(patients.X[:3]).shape
    (3, 2)
    """

    _task = "classification"
    _model_attribute = "model_"
    _model_type = LocallyLinearModel
    _indent = None
    model_: LocallyLinearModel
    coding_: InputCoding
    settings_: TrainingSettings
    steps_: SampledSteps | None
    classes_: NDArray[Any]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        n_maps: int | None = None,
        projection_dim: int | None = None,
        inverse_temperature: float | None = None,
        batch_size: int | None = None,
        sampling_rate: float | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        clip_norm: float | None = None,
        averaging: float | None = None,
        projection: str | None = None,
        smoothing: float | None = None,
        centring: float | None = None,
        image_shape: Sequence[int] | None = None,
        standardize: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        feature_names: Sequence[str] | None = None,
        schema: Schema | None = None,
        n_rows: int | None = None,
        engine: str = "closed_form",
        keep_on_interrupt: bool = False,
        random_state: int | None = None,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        verbose: bool = False,
        classes: Sequence[Any] | None = None,
        features: str = "inputs",
        background: float | None = None,
    ) -> None:
        self._keep(locals())

    @with_substitutes
    def fit(self, X: Any, y: Any, unit: Any = None, site: None = None) -> Self:
        """Fit on private rows and charge the ledger.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features) or that of images
            Private. Missing cells, infinities and undeclared levels are encoded, never refused.
        y : array-like, shape (n_rows,)
            Private. Rows whose label is missing or undeclared add nothing.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to; one row of each unit is used. In pandas: indexed as
            ``X``.
        site : None
            DP-LLM trains on samples of rows, which sites cannot draw together.

        Returns
        -------
        self

        Raises
        ------
        ModuleNotFoundError
            If ``engine`` is "opacus", which is not installed.
        TypeError, ValueError, SchemaError
            If a parameter, the form of the data or the declaration is wrong; nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover the fit; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        KeyboardInterrupt
            If the user stopped the training and ``keep_on_interrupt`` is False. The steps begun
            were charged.
        """
        if site is not None:
            raise ValueError(
                "site was given to DP-LLM, which trains on samples of rows that nobody else knows; "
                "sites cannot draw one together. Fit a DP-EBM at the sites."
            )
        doubts = warn_of_learning_steps()
        settings = MapsSettings.of(self)
        request = open_request(settings, X, y, unit=unit).doubting(doubts)
        if settings.engine == "opacus":
            import_optional("opacus", extra="llm", purpose="engine='opacus'")
        with request.opened(type(self).__name__, charges_used=True) as session:
            rows = request.limited_rows(session)
            request = dataclasses.replace(request, rows=rows).declared(rows, session)
            steps = _steps(request, session)
            trained = _trained(request, steps, session)
        if trained is not None and trained.interrupted and not settings.keep_on_interrupt:
            raise KeyboardInterrupt(
                f"Training was stopped in step {trained.steps_begun} of {steps.count}, and the "
                "steps begun were charged. keep_on_interrupt=True keeps the weights so far."
            )
        self._publish(_released(request, steps, trained, session.head))
        warn_after_fit(self.model_, *_findings(request, trained))
        return self

    # ------------------------------------------------------------------------- predictions

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return class scores, shape (n_rows, n_classes); for two classes their difference.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features) or as images
            Rows to predict; nothing protects them, and nothing is charged.
        """
        scores = self.to_released().scores(self._inputs(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, shape (n_rows, n_classes).

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features) or as images
            Rows to predict; nothing protects them, and nothing is charged.
        """
        return self.to_released().predict_proba(self._inputs(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features) or as images
            Rows to predict; nothing protects them, and nothing is charged.
        """
        scores = self.to_released().scores(self._inputs(X))
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _inputs(self, X: Any) -> NDArray[np.float32]:
        """Return the standardised inputs of rows to predict."""
        check_is_fitted(self, "model_")
        flat, _ = flat_rows(X, self.image_shape_)
        names = [str(name) for name in self.feature_names_in_]
        table = open_table(flat, names)
        warn_of_mismatches(table, tuple(spec for _, spec in self.coding_.features))
        return self.coding_.encode(table)

    # ------------------------------------------------------------------------ explanations

    def explain_global(self, name: str | None = None, *, X: Any = None) -> Any:
        """Return each class's maps; costs nothing, with ``.privacy``.

        Parameters
        ----------
        name : str, default=None
            How interpret's dashboard calls the explanation.
        X : DataFrame or array, shape (n_rows, n_features) or that of images, default=None
            Public rows on which to count how often each map is its class's top one. The shares are
            shown as they are, without noise: never give rows that must be protected. Without
            them this part is left out.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If ``X`` has no rows or another form than the rows of the fit, or ``name`` is no string.
        """
        from interpret_dp.explanation.objects import maps_explanation

        model = self.to_released()
        inputs = None if X is None else self._inputs(X)
        return maps_explanation(
            model, privacy=self.privacy_spend_, name=_named(name), inputs=inputs
        )

    def explain_local(self, X: Any, y: Any = None, name: str | None = None) -> Any:
        """Return the contributions of features to the class scores of rows; costs nothing.

        The rows are the caller's own: the explanation shows them, and nothing protects them.

        Parameters
        ----------
        X : DataFrame or array, shape (n_rows, n_features) or that of images
        y : array-like, shape (n_rows,), default=None
            True labels; a missing or undeclared label is left out.
        name : str, default=None
            How interpret's dashboard calls the explanation.

        Returns
        -------
        explanation
            ``figure(row, label=...)`` draws one class, ``reading(row, label)`` has its numbers.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If the rows have another form than those of the fit, or no label of the dtype of ``y``
            can be one of the declared ones.
        """
        from interpret_dp.explanation.objects import rows_explanation

        model = self.to_released()
        inputs = self._inputs(X)
        flat, _ = flat_rows(X, model.image_shape)
        table = open_table(flat, list(model.feature_names))
        columns = [table.column(index) for index in range(len(model.feature_names))]
        values = [[plain_value(column[row]) for column in columns] for row in range(table.n_rows)]
        actual = None
        if y is not None:
            labels, opened = Categorical(model.classes), open_target(y, table.n_rows)
            fault = mismatch("y", kind_of(opened), labels)
            # One class stands for none that was released: any label is another one.
            if fault and len(model.classes) > 1:
                raise SchemaError(fault)
            codes = encode_classes(opened, labels)
            actual = [int(code) if code >= 0 else None for code in codes]
        return rows_explanation(
            model, inputs, values, privacy=self.privacy_spend_, name=_named(name), actual=actual
        )

    @classmethod
    def _parameters_of(cls, model: LocallyLinearModel) -> Mapping[str, Any]:
        """Return the constructor's parameters that a released model holds."""
        check_keys("parameters of the model", model.parameters, (), _SAVED)
        return model.parameters

    def _publish(self, model: LocallyLinearModel) -> None:
        """Fill the fitted attributes from a released model."""
        check_keys("settings of the model", model.settings, kinds_of(TrainingSettings))
        self.settings_ = TrainingSettings(**model.settings)
        self.steps_ = None
        if model.steps is not None:
            check_keys("steps of the model", model.steps, kinds_of(SampledSteps))
            self.steps_ = SampledSteps(**model.steps)
        features = tuple(model.schema.features.items())
        self.coding_ = InputCoding(
            features,
            tuple(model.centres.tolist()),
            tuple(model.spreads.tolist()),
            model.scattering,
        )
        super()._publish(model)
        self.classes_ = class_array(model.classes)
        self.image_shape_ = model.image_shape
        self.n_features_in_ = len(features)
        self.feature_names_in_ = np.array(list(model.feature_names), dtype=object)


def _named(name: str | None) -> str:
    if name is None:
        return f"DPLocallyLinearClassifier_{next(_names)}"
    if not isinstance(name, str):
        raise TypeError(
            f"name is of type {type(name).__name__}; it must be a string or None. Pass rows on "
            "which to count maps as explain_global(X=...)."
        )
    return name


def class_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return class labels as an array; numbers beside texts stay what they are."""
    is_mixed = len({isinstance(label, str) for label in labels}) > 1
    return np.array(labels, dtype=object if is_mixed else None)


def _steps(request: MapsRequest, session: ReleaseSession) -> SampledSteps:
    """Return the planned steps, or release the number of rows and settle them."""
    planned = request.training.steps
    if planned is not None:
        return planned
    if request.batch_size is None:
        raise ValueError("Neither a rate nor a batch size is known.")
    exact = np.array([[request.rows.table.n_rows * LATTICE]], dtype=np.int64)
    noisy, sigma = session.gaussian(COUNT, exact, row_norm=LATTICE, aligned=True)
    # A count below its own noise is uninformative, except that there are few rows.
    n_rows = max(float(noisy[0, 0]), sigma) / LATTICE
    # Many rows and a small batch would need more steps than can be accounted, which would show
    # only now that the count is paid for: then each sample is larger.
    rate = min(1.0, max(request.batch_size / n_rows, request.config.epochs / MOST_STEPS))
    return session.settle(GRADIENTS, probability=rate, count=request.config.n_steps(rate))


def _findings(request: MapsRequest, trained: TrainedMaps | None) -> Iterator[str]:
    """Yield what released means and spreads say against the declarations."""
    if trained is None or trained.frame is None:
        return
    coding, frame = request.coding, trained.frame
    if frame.is_narrow:
        yield _NARROW
    if trained.means is None or coding.scattering is not None or not frame.signal_share:
        return
    bound, ends = LONGEST * math.sqrt(max(coding.n_varying, 1)), coding.ends
    longest = math.hypot(*(max(-first, last) for first, last in ends))
    # Longer rows were shortened: by an eighth, if they are standardised by their bounds.
    least = max(_LARGE_SHARE, 1.0 - bound / max(longest, bound))
    means = trained.means / frame.signal_share
    parts = np.split(means, np.cumsum(coding.widths)[:-1])
    for (name, spec), (first, last), part in zip(coding.features, ends, parts, strict=True):
        noise = _SURELY * frame.noise * math.sqrt(len(part))
        left = last - float(part.sum())
        if isinstance(spec, Categorical):
            if left >= least + noise:
                yield (
                    f"{name!r} ({spec!r}): about {100 * left:.0f} % of the cells are missing "
                    "or have none of the declared levels. If they are not missing, declare the "
                    "levels as the cells have them."
                )
        elif request.image_shape is None and max(left, noise) <= _NEAR * (last - first):
            yield (
                f"{name!r} ({spec!r}): nearly all cells are close to the upper bound or above "
                "it. If they are above it, declare bounds that hold the values."
            )


def _trained(
    request: MapsRequest, steps: SampledSteps, session: ReleaseSession
) -> TrainedMaps | None:
    """Encode and train inside the session; None where fewer than two labels were found."""
    from interpret_dp.llm.training import Training

    target = in_class_order(request.schema.target)
    if len(target.levels) < 2:
        return None
    # Threads that wait for each other after each short product keep all processors busy.
    with threadpool_limits(1):
        training = Training(
            request.coding.encode(request.rows.table),
            encode_classes(request.rows.y, target),
            len(target.levels),
            request.config,
            steps,
            session,
            image_shape=request.image_shape,
            engine=request.settings.engine,
        )
        return training.run(verbose=bool(request.settings.verbose))


def _released(
    request: MapsRequest, steps: SampledSteps, trained: TrainedMaps | None, head: str
) -> LocallyLinearModel:
    """Return the released model; with one label alone, a model of zeros."""
    coding, settings, training = request.coding, request.settings, request.training
    unused = {GRADIENTS} if trained is not None else {GRADIENTS, CENTRE}
    shares = [part.share for part in request.plan.releases if part.name not in unused]
    if trained is not None and trained.steps_begun:
        mu = training.mu_of_first(steps, trained.steps_begun)
        shares.append(ReleaseShare(GRADIENTS, mu, trained.steps_begun, training.delta))
    more = [_IDEAL_OPACUS] if settings.engine == "opacus" else []
    if settings.n_rows is not None:
        more.append(_DECLARED_ROWS)
    promise = request.guarantee(_MECHANISM, request.assumptions(*more), releases=shares)
    return LocallyLinearModel(
        schema=request.schema,
        centres=np.array(coding.centres),
        spreads=np.array(coding.spreads),
        weights=np.zeros((1, 1, coding.n_inputs)) if trained is None else trained.weights,
        biases=np.zeros((1, 1)) if trained is None else trained.biases,
        inverse_temperature=1.0 if trained is None else trained.inverse_temperature,
        classes=tuple(class_array(in_class_order(request.schema.target).levels).tolist()),
        guarantee=dataclasses.replace(promise, ledger_head=head),
        image_shape=request.image_shape,
        features=settings.features,
        background=None if settings.background is None else float(settings.background),
        means=None if trained is None or coding.scattering is None else trained.means,
        settings=dataclasses.asdict(request.config) | {"sampling_rate": steps.probability},
        steps=None if trained is None else dataclasses.asdict(steps),
        parameters={name: plain_value(getattr(settings, name)) for name in _SAVED},
    )


# Reading a released model of any kind back from its JSON file.


def load_model(
    path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None
) -> DPExplainableBoostingClassifier | DPExplainableBoostingRegressor | DPLocallyLinearClassifier:
    """Load a model that ``save`` wrote, as a fitted estimator.

    Parameters
    ----------
    path : path
        A JSON file; it is validated, nothing in it is executed. Its ``format`` names the kind of
        model.
    ledger : PrivacyLedger or str, default=None
        Where the data set's account can be read, for the privacy line of explanations.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model of this package, was changed after it was written, or is
        incomplete or contradicts itself. A file of a version before seals is only checked for
        the latter two.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from interpret_dp import DPExplainableBoostingClassifier, load_model
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema)
    >>> with TemporaryDirectory() as folder:
    ...     model.fit(patients.X, patients.y).save(f"{folder}/model.json")
    ...     again = load_model(f"{folder}/model.json")
    >>> bool((again.predict(patients.X) == model.predict(patients.X)).all())
    True
    """
    document = read_json(path)
    written = document.get("format") if isinstance(document, dict) else None
    if written == BACKGROUND_FORMAT:
        raise ValueError(
            f"{os.fspath(path)!r} holds a background, which is no model. Use "
            "PrivateBackground.load(path)."
        )
    if written == MAPS_FORMAT:
        return DPLocallyLinearClassifier.from_released(
            LocallyLinearModel.from_dict(document), ledger
        )
    estimator = from_document(document, ledger)
    note_file(estimator.released_, path)
    return estimator
