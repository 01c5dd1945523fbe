"""What every private estimator shares: settings, opened rows, request, ledger, guarantee, files.

Rows enter by :func:`open_data`. What goes on from there is a :class:`FitRequest`: frozen, and
complete before the first release. What comes back is a released model, which the estimator holds.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags
from sklearn.utils.validation import check_is_fitted

from interpret_dp._documents import digest_of, write_sealed
from interpret_dp.accounting.guarantee import DEFAULT_ASSUMPTIONS, UNDECLARED_ASSUMPTIONS, Guarantee
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE, Neighbourhood
from interpret_dp.accounting.plans import ReleasePlan
from interpret_dp.exceptions import SchemaError
from interpret_dp.explanation.card import ModelCard, guarantee_card, plan_card
from interpret_dp.explanation.pages import render_html
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.account import account_of, ledger_of, randomness_of, refuse_unnamed_unit
from interpret_dp.fitting.declaring import Declared, DeclaringTask, declare, warn_of_gaps
from interpret_dp.fitting.partitioned import (
    DASK_ASSUMPTION,
    Opening,
    PartitionedRows,
    open_collections,
    partitioned,
)
from interpret_dp.fitting.pipelines import SCORED
from interpret_dp.fitting.rows import PrivateRows, open_rows
from interpret_dp.release import ReleaseRequest, ReleaseSession, Sharing
from interpret_dp.released import AdditiveModel
from interpret_dp.released.background import Background
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.summary import ModelSummary, summarise
from interpret_dp.schema import FeatureSpec, PrivacyUnit, Schema
from interpret_dp.schema.cells import whole_rows

if TYPE_CHECKING:
    from interpret_dp.backends.dask import Pieces
    from interpret_dp.ledger import PrivacyLedger

FeatureTypes = Sequence[str | Sequence[str] | Sequence[float] | None]

_Released = TypeVar("_Released", bound=AdditiveModel | LocallyLinearModel | Background)


@dataclass(frozen=True, kw_only=True)
class EstimatorSettings:
    """Parameters that private estimators share, as they were given; opening a request checks them.

    Attributes
    ----------
    task : {"classification", "regression"} or None
        None where nothing is predicted.
    feature_names, ...
        As the estimators name them.
    """

    task: str | None
    feature_names: Sequence[str | None] | None = None
    feature_types: FeatureTypes | None = None
    n_jobs: int | None = -1
    random_state: int | None = None
    epsilon: float = 1.0
    delta: float = 1e-5
    neighboring: str = ADD_OR_REMOVE_ONE
    schema: Schema | None = None
    ledger: PrivacyLedger | str | None = None
    dataset: str | None = None
    verbose: bool = False
    backend: str = "auto"
    classes: Sequence[Any] | None = None

    @classmethod
    def of(cls, estimator: PrivateEstimator[Any]) -> Self:
        """Return the present parameters of an estimator.

        They are its attributes: the constructor of a subclass may name fewer parameters.
        """
        names = {own.name for own in dataclasses.fields(cls)} - {"task"}
        given = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
        return cls(task=estimator._task, **given)


@dataclass(frozen=True)
class OpenedData:
    """Arguments of a fit, opened. Private.

    Attributes
    ----------
    given : mapping of str to object
        Arguments of ``fit`` by name; without rows in place of a Dask collection.
    rows : PrivateRows
        In memory; without any row where they are on Dask workers.
    privacy_unit : PrivacyUnit or None
    collections : Pieces or None
        Rows on Dask workers.
    """

    given: Mapping[str, Any] = dataclasses.field(repr=False)
    rows: PrivateRows
    privacy_unit: PrivacyUnit | None
    collections: Pieces | None = dataclasses.field(repr=False)

    def on_workers(
        self, rows: PrivateRows, settings: EstimatorSettings, target: FeatureSpec | None = None
    ) -> PrivateRows:
        """Return the rows where they are: on workers, which open them alike, or in memory.

        Parameters
        ----------
        rows : PrivateRows
            As opened, or with what gives the scores that they start from.
        settings : EstimatorSettings
        target : Continuous, Categorical or None
            As declared, for scores to start from.
        """
        if self.collections is None:
            return rows
        roles = self.collections.roles
        model = None if "init_score" in roles else self.given["init_score"]
        declared = settings.feature_names, settings.schema, target, settings.task, model
        return partitioned(rows, self.collections, Opening(roles, *declared), settings.n_jobs)


def open_data(
    settings: EstimatorSettings,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    init_score: Any = None,
    exposure: Any = None,
    unit: Any = None,
    reads_dask: bool = True,
) -> OpenedData:
    """Open the arguments of a fit; types and shapes are checked, never a value in a row.

    Parameters
    ----------
    settings : EstimatorSettings
        ``y`` is not read where its task is None.
    X, y, sample_weight, init_score, exposure, unit
        As ``fit`` takes them.
    reads_dask : bool, default=True
        Whether the caller can do without rows in memory.

    Raises
    ------
    TypeError, ValueError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    given = {"X": X, "y": y, "sample_weight": sample_weight, "init_score": init_score}
    given |= {"exposure": exposure, "unit": unit}
    if settings.task is None:
        del given["y"]
    collections = open_collections(settings.backend, given) if reads_dask else None
    if collections is not None:
        # From here on a table of the same form, without rows.
        given = dict(zip(given, collections.form_of(given), strict=True))
    # A model in init_score gets the rows as they are read here.
    given["X"] = whole_rows(given["X"], settings.feature_names)
    rows, privacy_unit = open_rows(
        given["X"],
        given.get("y"),
        feature_names=settings.feature_names,
        schema=settings.schema,
        sample_weight=given["sample_weight"],
        exposure=given["exposure"],
        unit=given["unit"],
        has_target=settings.task is not None,
    )
    return OpenedData(given, rows, privacy_unit, collections)


@dataclass(frozen=True, kw_only=True)
class FitRequest(ReleaseRequest):
    """A checked fit; nothing in it but ``rows`` is private.

    Attributes
    ----------
    settings : EstimatorSettings
    rows : PrivateRows
    declaring : DeclaringTask
        What is to be found out first.
    schema : Schema
        Complete declaration, in the table's order. What is undeclared is in it as if nothing were
        known, until :meth:`completed`.
    """

    settings: EstimatorSettings
    rows: PrivateRows
    declaring: DeclaringTask
    schema: Schema

    @classmethod
    def opened_for(
        cls,
        settings: EstimatorSettings,
        unit: Any,
        *,
        declaring: DeclaringTask,
        plan: ReleasePlan,
        neighbourhood: Neighbourhood,
        site: Sharing | None = None,
        **own: Any,
    ) -> Self:
        """Return the request with the account that pays for it.

        Parameters
        ----------
        settings : EstimatorSettings
        unit : object
            As ``fit`` takes it.
        declaring : DeclaringTask
        plan : ReleasePlan
        neighbourhood : Neighbourhood
        site : Sharing or None
            As ``fit`` takes it.
        **own
            All other attributes.

        Raises
        ------
        TypeError, ValueError, SchemaError, LedgerError
            If the ledger has no budget for the data set, or could not tell whom a request protects.

        Warns
        -----
        UndeclaredWarning
            As :func:`~interpret_dp.fitting.declaring.warn_of_gaps` does.
        """
        schema = declaring.without_rows()
        if site is not None and declaring.is_needed:
            raise SchemaError(
                "Something is not declared, and sites release no bounds or levels: which values "
                "occur at one of them is its own. Declare every column, the target and, with "
                "weights, privacy_weight_max."
            )
        ledger, dataset = account_of(settings.ledger, settings.dataset, neighbourhood)
        refuse_unnamed_unit(settings.ledger, unit, schema)
        request = cls(
            settings=settings,
            declaring=declaring,
            schema=schema,
            plan=plan,
            neighbourhood=neighbourhood,
            randomness=randomness_of(settings.random_state),
            ledger=ledger,
            dataset=dataset,
            site=site,
            **own,
        )
        warn_of_gaps(declaring, plan, neighbourhood)
        return request

    @property
    def terms(self) -> Mapping[str, str]:
        """What all sites of a fit must have alike, by name; what is private is left out."""
        given = "weights", "exposure", "start", "identifiers"
        present = [name for name in given if getattr(self.rows, name) is not None]
        declared = {"schema": self.schema.to_dict(), "columns": list(self.declaring.names)}
        own = {"schema": digest_of(declared), "arguments of fit": ", ".join(present)}
        return {**super().terms, **own, "settings": digest_of({"settings": self.public_settings})}

    @property
    def public_settings(self) -> str:
        """Settings that all sites must have alike, beside plan and schema, as a text."""
        return type(self).__name__

    def assumptions(self, *own: str) -> tuple[str, ...]:
        """Return what the promise assumes: of declarations, of its own, and of Dask."""
        declared = UNDECLARED_ASSUMPTIONS if self.declaring.is_needed else DEFAULT_ASSUMPTIONS
        of_dask = [DASK_ASSUMPTION] if isinstance(self.rows, PartitionedRows) else []
        return (*declared, *own, *of_dask)

    def limited_rows(self, session: ReleaseSession) -> PrivateRows:
        """Return the rows that a fit trains on: at most ``max_rows`` of each unit."""
        limits = self.neighbourhood
        public = session.public_choices
        return self.rows.limited(limits.max_rows, public, share_weight=limits.shares_weight)

    def declared(self, rows: PrivateRows, session: ReleaseSession) -> Self:
        """Return the request with what is undeclared, released from limited rows."""
        if not self.declaring.is_needed:
            return self
        return self.completed(declare(self.declaring, rows, session))

    def completed(self, declared: Declared) -> Self:
        """Return the request with what was found out inside the session."""
        return dataclasses.replace(self, schema=declared.schema)


class Published:
    """What can be asked of everything that is released; all of it costs nothing."""

    guarantee_: Any

    def to_released(self) -> Any:
        """Return what was released, an immutable value."""
        raise NotImplementedError

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """What it cost, with the ledger's figures as of now."""
        raise NotImplementedError

    def summary(self) -> ModelSummary:
        """Return what was released in one line a column, and what stands out; costs nothing.

        It reads released numbers alone, and is text in a terminal and a table in a notebook.
        """
        return summarise(self.to_released())

    def card(
        self, accuracy: Any = None, *, even_if_void: bool = False, **statements: Any
    ) -> ModelCard:
        """Return one page for those who read or use what was released; costs nothing.

        It says what is predicted, on whom, how well, with which figures, edits and limits, what is
        promised, how to cite it, and answers the questions of NIST SP 800-226.

        Parameters
        ----------
        accuracy : PrivateMetrics or mapping of str to float, default=None
            What :func:`interpret_dp.private_metrics` released; or figures by name that were
            measured on public rows, which the card says. Never measure on private rows unpaid.
        even_if_void : bool, default=False
            Make a card of a model whose promise does not hold; its first line says so.
        **statements : str or list of str
            What only people know, by the names of ``guarantee_.to_registry``, such as ``name``,
            ``description``, ``intended_use`` and ``data_curators``. None is required.

        Returns
        -------
        ModelCard
            With ``to_html()``, ``to_markdown()`` and ``save(path)``.

        Raises
        ------
        TypeError, ValueError
            If a statement is unknown or of another form, ``accuracy`` is neither, or the promise
            does not hold.
        """
        shown = self._page_explanation()
        return ModelCard(self.to_released(), statements, accuracy, even_if_void, shown)

    def to_html(self, title: str | None = None) -> str:
        """Return a page with the promise, what it cost, and every figure; costs nothing.

        Parameters
        ----------
        title : str, default=None
            Heading; by default the data set's name.

        Returns
        -------
        str
            A complete HTML document that needs no network.
        """
        shown = self._page_explanation()
        return render_html(self.to_released(), self.privacy_spend_, title=title, explanation=shown)

    def to_registry_yaml(self, *, even_if_void: bool = False, **statements: Any) -> str:
        """Return a record for OpenDP's registry of deployments, with the edits; costs nothing.

        Parameters
        ----------
        even_if_void, **statements
            As ``guarantee_.to_registry`` takes them.
        """
        released = self.to_released()
        if isinstance(released, Background):
            statements = {"data_product_type": "Summary statistics"} | statements
        given = {"edits": [str(edit) for edit in getattr(released, "edits", ())], **statements}
        return str(self.guarantee_.to_registry_yaml(even_if_void=even_if_void, **given))

    def _page_explanation(self) -> Any:
        """Return the explanation of a black box whose figures pages show; None of a model."""
        return None


class PrivateEstimator(Published, BaseEstimator, Generic[_Released]):  # type: ignore[misc]
    """Base of the private estimators: what is promised, what was released, and what it cost."""

    # What is predicted; None for nothing.
    _task: ClassVar[str | None]
    _model_type: ClassVar[type[AdditiveModel | LocallyLinearModel | Background]]
    # The fitted attribute that holds the released model, and the indent of its file.
    _model_attribute: ClassVar[str]
    _indent: ClassVar[int | None] = 1
    guarantee_: Guarantee
    schema_: Schema
    ledger: PrivacyLedger | str | None

    def _keep(self, parameters: Mapping[str, Any]) -> None:
        """Keep all arguments of a constructor under their names."""
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _publish(self, model: _Released) -> None:
        """Fill the fitted attributes from a released model."""
        setattr(self, self._model_attribute, model)
        self.guarantee_ = model.guarantee
        self.schema_ = model.schema

    @classmethod
    def _parameters_of(cls, model: _Released) -> Mapping[str, Any]:
        """Return the constructor's parameters that a released model holds."""
        raise NotImplementedError

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of any explanation of this model, with the ledger's figures as of now."""
        check_is_fitted(self, self._model_attribute)
        return PrivacySpend.of_model(self.guarantee_, ledger_of(self.ledger, must_exist=True))

    def to_released(self) -> _Released:
        """Return the released model, an immutable value."""
        check_is_fitted(self, self._model_attribute)
        model: _Released = getattr(self, self._model_attribute)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was released as JSON: no row, no pickle.

        ``load_model``, or ``PrivateBackground.load``, reads it. The file carries the digest of its
        content, so that a changed byte is an error when it is read. That guards against accidents,
        not against forgery.

        Parameters
        ----------
        path : str or path-like
            Where to write it; a file that is there is replaced.

        Raises
        ------
        OSError
            If the file cannot be written; one that is there then stays as it is.
        """
        write_sealed(path, self.to_released().to_dict(), indent=self._indent)

    @classmethod
    def from_released(cls, model: _Released, ledger: PrivacyLedger | str | None = None) -> Self:
        """Return a fitted estimator that holds a released model.

        Parameters
        ----------
        model : AdditiveModel, LocallyLinearModel or Background
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.

        Raises
        ------
        ValueError
            If the model is one of another estimator, or of another version.
        """
        if not isinstance(model, cls._model_type):
            raise ValueError(
                f"The model is of type {type(model).__name__}; {cls.__name__} holds one of type "
                f"{cls._model_type.__name__}. Use interpret_dp.load_model(path), which finds the "
                "class of a file."
            )
        given = cls._parameters_of(model)
        dataset = model.guarantee.dataset
        estimator = cls(**given, schema=model.schema, ledger=ledger, dataset=dataset)
        estimator._publish(model)
        return estimator

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram with the promise below it."""
        return str(super()._repr_html_inner()) + self._promise_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what a notebook shows; scikit-learn's setting ``display`` is kept."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._promise_html()
        return bundle

    def _promise_html(self) -> str:
        guarantee = getattr(self, "guarantee_", None)
        return plan_card(self) if guarantee is None else guarantee_card(guarantee)


class PrivatePredictor(PrivateEstimator[_Released]):
    """Base of the private estimators that predict: tags, and exact scores that a promise notes."""

    _task: ClassVar[str]
    explainer_type: ClassVar[str] = "model"
    # What interpret asks of an extension; interpret's own EBMs after 0.7.8 no longer define it.
    available_explanations: ClassVar[tuple[str, ...]] = ("global", "local")

    def __sklearn_tags__(self) -> Tags:
        """Return the estimator's tags for scikit-learn.

        interpret's own tags are of types that scikit-learn does not know, and claim sparse tables,
        dictionaries and the array API, which neither package reads.
        """
        is_classifier = self._task == "classification"
        # scikit-learn asks for good scores on a few hundred rows, where the noise of the default
        # epsilon must drown the signal; that is what `poor_score` is for.
        return Tags(
            estimator_type="classifier" if is_classifier else "regressor",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(poor_score=True) if is_classifier else None,
            regressor_tags=None if is_classifier else RegressorTags(poor_score=True),
            input_tags=InputTags(allow_nan=True, categorical=True, string=True),
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or R squared of a regression, on public rows.

        The score is exact: of private rows it would be a release that nobody pays for, and so is
        the choice of the best of several fits by it. So ``guarantee_`` holds from then on if the
        rows were public or nothing was chosen. :func:`~interpret_dp.private_metrics` pays.

        Parameters
        ----------
        X : as ``predict`` takes it, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
        sample_weight : array-like, shape (n_rows,), default=None
        """
        score = float(super().score(X, y, sample_weight))
        self._note_score()
        return score

    def _note_score(self) -> None:
        """Write into the guarantee that an exact score was computed."""
        promise = self.guarantee_
        if SCORED not in promise.conditions:
            promise = dataclasses.replace(promise, conditions=(*promise.conditions, SCORED))
            model = getattr(self, self._model_attribute)
            setattr(self, self._model_attribute, dataclasses.replace(model, guarantee=promise))
            self.guarantee_ = promise
