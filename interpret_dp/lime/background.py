"""PrivateBackground: the distribution of explanation data, checked, released and fitted once."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from interpret_dp._documents import read_json
from interpret_dp._validate import check_flag
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.plans import PlannedRelease, ReleasePlan
from interpret_dp.ebm.trainer.binning import merge_bins, smoothed_counts
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.fitting.account import checked_budget, neighbourhood_of
from interpret_dp.fitting.declaring import DeclaringTask
from interpret_dp.fitting.estimator import (
    EstimatorSettings,
    FitRequest,
    PrivateEstimator,
    open_data,
)
from interpret_dp.fitting.pipelines import warn_of_learning_steps
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.background_explanation import Perturbations, explain_model, explain_rows
from interpret_dp.lime.black_box import (
    PublicModel,
    Trial,
    declared_values,
    example_row,
    tried_model,
)
from interpret_dp.lime.outputs import open_model_rows
from interpret_dp.release import ReleaseSession, Sharing, stopping
from interpret_dp.released.background import (
    ZERO_ENDS,
    Background,
    BackgroundColumn,
    ColumnDependence,
)
from interpret_dp.released.summary import warn_after_fit
from interpret_dp.released.terms import AdditiveFeature
from interpret_dp.schema import (
    Categorical,
    FeatureSpec,
    Integer,
    Schema,
    fine_bin_count,
    fine_edges,
)
from interpret_dp.schema.cells import Values, chunks
from interpret_dp.schema.containers import kinds_of
from interpret_dp.schema.encode import Codes, encode_column, outer_edges
from interpret_dp.schema.partial import partial_schema_from_arguments

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger import PrivacyLedger


# Releases of a background: histograms of its columns, and the dependence between them.
#
# Two histograms a column: one of many cells, from which cells are merged, and one of these. Then
# one vector of sums over rows, for pairs of columns (docs/proofs/private_background.md).

FloatArray = NDArray[np.float64]
# Between the cells of a number; None where the cells are levels.
_Cuts = FloatArray | None

_FINE_CELLS = 254
_MOST_COLUMN_CELLS = 32
_ROWS_PER_NOISE = 3.0  # rows of a cell, in standard deviations of its count's noise


def release_histograms(
    rows: PrivateRows, names: Sequence[str], specs: Sequence[FeatureSpec], session: ReleaseSession
) -> tuple[tuple[BackgroundColumn, ...], float]:
    """Release how the values of every column are spread.

    Parameters
    ----------
    rows : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    names, specs : sequence, shape (n_columns,)
        Columns of the table, in its order, and their declarations.
    session : ReleaseSession
        Open, with the releases "cells" and "counts" of each column.

    Returns
    -------
    columns : tuple of BackgroundColumn
    n_rows : float
        Number of rows, as far as all counts together know it; at least 1.
    """
    fine = [_fine_cuts(spec) for spec in specs]
    first, noise = _released("cells", rows, specs, fine, session)
    n_rows = _total(first, [len(counts) for counts in first])
    # The mean of two counts has half the variance of one.
    per_cell = _ROWS_PER_NOISE * noise / np.sqrt(2.0)
    n_cells = int(np.clip(n_rows / per_cell, 1, _MOST_COLUMN_CELLS))
    numeric = [k for k, fine_cuts in enumerate(fine) if fine_cuts is not None]
    smooth = dict(
        zip(numeric, smoothed_counts([first[k][1:] for k in numeric], noise), strict=True)
    )
    cuts: list[_Cuts] = []
    for k, fine_cuts in enumerate(fine):
        if fine_cuts is None:
            cuts.append(None)
            continue
        counts = np.append(first[k], 0.0)
        expected = np.concatenate((first[k][:1], smooth[k], [0.0]))
        # No cell ends at the bounds.
        inner = np.concatenate(([-np.inf], fine_cuts[1:-1], [np.inf]))
        merged = merge_bins(counts, inner, n_cells, n_rows, lightest=per_cell, expected=expected)
        is_heavy = expected[2:-2] >= n_rows / n_cells
        light = np.zeros(0) if merged.cuts is None else merged.cuts
        cuts.append(np.union1d(light, _around(fine_cuts[1:-1], is_heavy)))
    second, _ = _released("counts", rows, specs, cuts, session)
    columns = [
        _column(AdditiveFeature(name, spec, cuts[k]), first[k], second[k], fine[k], noise)
        for k, (name, spec) in enumerate(zip(names, specs, strict=True))
    ]
    variances = [(column.noise[column.counted] ** 2).sum() for column in columns]
    return tuple(columns), _total([column.counts for column in columns], variances)


def _fine_cuts(spec: FeatureSpec) -> _Cuts:
    """Return cuts between many cells of equal width, and around zero; None for levels.

    Columns of amounts and counts often hold zero in most rows. A cell of its own keeps those rows
    from being spread over the values near zero. The first cell and the last one hold what lies
    beyond the bounds, which is thus counted.
    """
    if isinstance(spec, Categorical):
        return None
    around = (-0.5, 0.5) if isinstance(spec, Integer) else (0.0, ZERO_ENDS)
    has_zero = spec.lower <= 0.0 <= spec.upper
    inside = [cut for cut in around if has_zero and spec.lower < cut <= spec.upper]
    return np.unique([*fine_edges(spec, _FINE_CELLS), *outer_edges(spec), *inside])


def _around(fine: FloatArray, is_heavy: NDArray[np.bool_]) -> FloatArray:
    """Return the cuts on both sides of some fine cells: a value of many rows is not spread out."""
    heavy = np.flatnonzero(is_heavy)
    sides = np.concatenate((heavy - 1, heavy))
    return fine[sides[(sides >= 0) & (sides < len(fine))]]


def _released(
    name: str,
    rows: PrivateRows,
    specs: Sequence[FeatureSpec],
    cuts: Sequence[_Cuts],
    session: ReleaseSession,
) -> tuple[list[FloatArray], float]:
    """Release one histogram a column, and return the noise of each count; both in rows."""
    counted = rows.total(_counted, tuple(specs), tuple(cuts))
    # A row is in one cell of each column.
    released = session.gaussian_each(
        name,
        [LATTICE * exact[np.newaxis] for exact in counted],
        row_norms=[LATTICE] * len(counted),
        aligned=True,
    )
    return [noisy[0] / LATTICE for noisy, _ in released], released[-1][1] / LATTICE


def _counted(
    rows: PrivateRows, specs: Sequence[FeatureSpec], cuts: Sequence[_Cuts]
) -> list[NDArray[np.int64]]:
    """Count the rows in each cell: missing first, undeclared levels last. Private."""
    histograms = []
    for place, (spec, column_cuts) in enumerate(zip(specs, cuts, strict=True)):
        codes = codes_of(rows.table.column(place), spec, column_cuts)
        # A number is never undeclared.
        n_codes = (
            len(column_cuts) + 2
            if column_cuts is not None
            else fine_bin_count(spec, _FINE_CELLS) + 2
        )
        counts = np.zeros(n_codes, dtype=np.int64)
        for part in chunks(len(codes)):
            counts += np.bincount(codes[part], minlength=n_codes)
        histograms.append(counts)
    return histograms


def codes_of(values: Values, spec: FeatureSpec, cuts: _Cuts) -> Codes:
    """Return the cell of each value of a column: 0 missing, undeclared levels last. Private."""
    return encode_column(values, spec, _FINE_CELLS, edges=cuts)


def _total(counts: Sequence[FloatArray], variances: Sequence[float]) -> float:
    """Return the number of rows from the totals of all columns, by their precision; at least 1."""
    totals = [column_counts.sum() for column_counts in counts]
    precisions = [1.0 / variance for variance in variances]
    return max(float(np.average(totals, weights=precisions)), 1.0)


def _column(
    feature: AdditiveFeature, first: FloatArray, second: FloatArray, fine: _Cuts, noise: float
) -> BackgroundColumn:
    """Return a column with the mean of both counts of each cell, by their precision."""
    merged = np.arange(len(first))
    if feature.cuts is not None and fine is not None:
        starts = np.concatenate(([-np.inf], fine))
        merged = np.append(0, np.searchsorted(feature.cuts, starts, side="right") + 1)
    sums, parts = np.bincount(merged, weights=first), np.bincount(merged)
    # A sum of many fine counts has the noise of all of them.
    share = parts / (parts + 1.0)
    counts, deviations = sums + share * (second - sums), noise * np.sqrt(share)
    if feature.cuts is not None:
        counts, deviations = np.append(counts, 0.0), np.append(deviations, 0.0)
    clipped = None if fine is None else (float(first[1]), float(first[-1]))
    return BackgroundColumn(feature, counts, deviations, clipped)


DEPENDENCE_SHARE = 0.1
"""Part of mu squared that the dependence of columns takes from the histograms."""

_DEPENDENCE = "dependence"


def release_dependence(
    rows: PrivateRows, columns: Sequence[BackgroundColumn], session: ReleaseSession
) -> ColumnDependence | None:
    """Release how columns depend on each other.

    Parameters
    ----------
    rows : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    columns : sequence of BackgroundColumn
        All columns of the table, in its order, as released.
    session : ReleaseSession
        Open, with one release "dependence".

    Returns
    -------
    ColumnDependence or None
        None, and nothing is released, if fewer than two columns have two halves.
    """
    places = tuple(k for k, column in enumerate(columns) if column.signs.any())
    if len(places) < 2:
        return None
    exact = rows.total(_products, places, tuple(columns[k] for k in places))
    # A row adds -1, 0 or 1 to each of them.
    row_norm = math.isqrt(len(exact) * LATTICE**2 - 1) + 1
    noisy, sigma = session.gaussian(
        _DEPENDENCE, LATTICE * exact[np.newaxis], row_norm=row_norm, aligned=False
    )
    return ColumnDependence(places, noisy[0] / LATTICE, sigma / LATTICE)


def _products(
    rows: PrivateRows, places: Sequence[int], columns: Sequence[BackgroundColumn]
) -> NDArray[np.int64]:
    """Sum the products of the signs of each pair of columns. Private."""
    codes = [
        codes_of(rows.table.column(place), column.feature.spec, column.feature.cuts)
        for place, column in zip(places, columns, strict=True)
    ]
    sums = np.zeros((len(columns), len(columns)), dtype=np.int64)
    for part in chunks(len(codes[0])):
        signs = np.stack(
            [
                column.signs[column_codes[part]]
                for column, column_codes in zip(columns, codes, strict=True)
            ]
        ).astype(np.float64)
        # Exact: sums of so few integers are far below 2**53.
        sums += (signs @ signs.T).astype(np.int64)
    return sums[np.triu_indices(len(columns), 1)]


# A request for a background: parameters and the form of the data, checked before a charge.

_MECHANISM = "discrete Gaussian noise on histograms of the columns, exactly sampled"
_WITH_DEPENDENCE = (
    "discrete Gaussian noise on histograms of the columns and on sums over pairs of columns, "
    "exactly sampled"
)
_SCOPE = (
    "This is about the people whose rows the background was released from. Explanations take the "
    "model as given: nothing is promised here to the people that it was trained on, and rows that "
    "are asked about are not protected."
)

_MEND = (
    "Nothing was spent. If it can read the rows that you will ask about, release the background by "
    "itself: pass background=PrivateBackground(...).fit(data) in place of data."
)


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings(EstimatorSettings):
    """Parameters of a :class:`PrivateBackground`, as it was given them."""

    dependence: bool = True


@dataclass(frozen=True, kw_only=True)
class BackgroundRequest(FitRequest):
    """A checked request for a background.

    Attributes
    ----------
    has_dependence : bool
    example : object
        One row in the container of the data, made from the schema.
    said : set of str
        What was said of the model, as :class:`~interpret_dp.lime.black_box.Trial` takes it.
    """

    has_dependence: bool
    example: Any
    said: set[str]


@stopping
def open_request(
    settings: BackgroundSettings,
    X: Any,
    unit: Any,
    model: PublicModel | None = None,
    site: Sharing | None = None,
) -> BackgroundRequest:
    """Check the parameters, the form of the data and a model, never a value in a private row."""
    epsilon, delta = checked_budget(settings.epsilon, settings.delta)
    dependence = check_flag("dependence", settings.dependence)
    data = open_data(settings, X, unit=unit)
    names, kinds = data.rows.table.names, kinds_of(data.rows.table)
    partial = partial_schema_from_arguments(
        names, kinds, None, settings.feature_types, schema=settings.schema, task=None
    )
    declaring = DeclaringTask(partial, names, terms=names)
    mu = mu_of_budget(epsilon, declaring.gaussian_delta(delta))
    rest = declaring.training_mu(mu, delta)
    # One column has nothing to depend on.
    has_dependence = dependence and len(names) > 1
    share = DEPENDENCE_SHARE if has_dependence else 0.0
    # Two histograms of each column, all at the same mu.
    each = rest * math.sqrt(1.0 - share) / math.sqrt(2.0 * len(names))
    releases = [PlannedRelease(name, each, len(names)) for name in ("cells", "counts")]
    if has_dependence:
        releases.append(PlannedRelease(_DEPENDENCE, rest * math.sqrt(share), 1))
    schema = declaring.without_rows()
    opened = open_model_rows(data.given["X"], feature_names=settings.feature_names, schema=schema)
    example = example_row(opened.X, schema.features)
    return BackgroundRequest.opened_for(
        settings,
        data.given["unit"],
        declaring=declaring,
        plan=ReleasePlan((*declaring.plan(mu, delta), *releases)),
        neighbourhood=neighbourhood_of(settings.neighboring, data.privacy_unit),
        rows=data.on_workers(data.rows, settings),
        site=site,
        epsilon=epsilon,
        delta=delta,
        has_dependence=has_dependence,
        example=example,
        said=set() if model is None else _try_model(model, example, declaring),
    )


def _try_model(model: PublicModel, example: Any, declaring: DeclaringTask) -> set[str]:
    """Ask a model about rows that are made from the schema, and return what was said of it.

    No value of an undeclared column is known, so that a good model may fail on all rows: then only
    a model that is not fitted is refused.
    """
    features, said = declaring.without_rows().features, set[str]()
    trial = Trial(model.outputs, list(features), [*map(declared_values, features.values())])
    try:
        with tried_model("a row that was made from the schema", _MEND):
            row, _ = trial.accepted_row(example)
    except ValueError as error:
        if not declaring.is_needed or isinstance(error.__cause__, NotFittedError):
            raise
    else:
        trial.accepted_values(row, said)
    return said


class PrivateBackground(PrivateEstimator[Background]):
    """Private distribution of each column, released once for explanations of any model.

    An explanation of a black box compares its prediction of a row with predictions of the same row
    with typical values in place of some of its own. Which values are typical is all that it needs
    of private rows. So this is released once, and every explanation computed from it is free.

    Parameters
    ----------
    schema : Schema, default=None
        Public declaration of the columns. What it does not declare is released privately, out of
        the same budget. Its ``unit`` names the column of person identifiers.
    epsilon, delta : float, default=0.1, 1e-6
        The promise for the background and for everything that is computed from it.
    dependence : bool, default=True
        Also release how columns depend on each other, with a tenth of the budget (of mu squared).
        Rows are drawn column by column, independently, without it.
    ledger : PrivacyLedger or str, default=None
        Where it is charged; None: the in-memory ledger of the process.
    dataset : str, default=None
        Name of the people's data set in the ledger; required with a ledger.
    neighboring : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Which tables are neighbours.
    feature_names : sequence of str, default=None
        Names of the columns of data without names.
    feature_types : sequence, shape (n_columns,), default=None
        As the private EBMs take them; the schema wins, and a contradiction is an error.
    backend : {"auto", "local", "dask"}, default="auto"
        Where rows are counted; "auto" takes Dask for Dask collections.
    n_jobs : int, default=-1
        Threads that count Dask collections where there is no Dask client.
    random_state : int, default=None
        For tests only: voids the promise.

    Attributes
    ----------
    background_ : Background
        Released; public.
    guarantee_ : Guarantee
    schema_ : Schema
        Declaration of every column, released bounds and levels included.
    n_features_in_ : int
    feature_names_in_ : list of str

    Notes
    -----
    Of each column two histograms are released: one of many cells, from which cells with enough rows
    are merged, and one of these. Of each two columns the sum of the products of their signs is
    released: in which half of its column each row is (docs/proofs/private_background.md). Rows are
    drawn from a Gaussian copula with these correlations.

    Examples
    --------
    >>> from interpret_dp import PrivateBackground
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> background = PrivateBackground(patients.schema, epsilon=0.5).fit(patients.X)
    >>> background.sample(3).shape == (3, len(patients.X.columns))
    True
    >>> background.guarantee_.epsilon
    0.5
    """

    _task = None
    _model_attribute = "background_"
    _model_type = Background
    background_: Background

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        epsilon: float = 0.1,
        delta: float = 1e-6,
        dependence: bool = True,
        ledger: PrivacyLedger | str | None = None,
        dataset: str | None = None,
        neighboring: str = "add_or_remove_one",
        feature_names: Any = None,
        feature_types: Any = None,
        backend: str = "auto",
        n_jobs: int | None = -1,
        random_state: int | None = None,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any = None, unit: Any = None, site: Sharing | None = None) -> Self:
        """Release the background of private rows and charge the ledger.

        Parameters
        ----------
        X : DataFrame, array, list of rows or Dask collection, shape (n_rows, n_columns)
            Private. Missing cells and undeclared levels are counted as such.
        y : None
            In scikit-learn's signature; not read.
        unit : array-like, shape (n_rows,), or "rows", default=None
            Private. Who each row belongs to, where ``schema.unit`` names no column of ``X``.
        site : interpret_dp.sites.Site, default=None
            This site, where others hold more rows.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError, SchemaError, LedgerError
            If a parameter, the form of the data or the declaration is wrong; nothing was spent.
        BudgetExceededError
            If the data set's budget does not cover it; nothing was spent.
        ReleaseError
            If the computation failed. What was charged is in the message.
        """
        return self._release(X, unit, None, site)

    def _release(
        self, X: Any, unit: Any, model: PublicModel | None = None, site: Sharing | None = None
    ) -> Self:
        """Fit; a model that is to be explained is tried before anything is charged."""
        request = open_request(BackgroundSettings.of(self), X, unit, model, site=site)
        request = request.doubting(warn_of_learning_steps())
        mechanism = _WITH_DEPENDENCE if request.has_dependence else _MECHANISM
        promise = request.guarantee(mechanism, request.assumptions(), scope=_SCOPE)
        with request.opened(type(self).__name__) as session:
            rows = request.limited_rows(session)
            schema = request.declared(rows, session).schema
            specs = tuple(schema.features.values())
            columns, n_rows = release_histograms(rows, request.declaring.names, specs, session)
            dependence = None
            if request.has_dependence:
                dependence = release_dependence(rows, columns, session)
        self._publish(session.concluded(Background(schema, columns, n_rows, promise, dependence)))
        self._example, self._said = example_row(request.example, schema.features), request.said
        warn_after_fit(self.background_)
        return self

    def _publish(self, background: Background) -> None:
        super()._publish(background)
        self._perturbations: Perturbations | None = None
        # A public row in the form of the data, and what was said of values that models refuse.
        self._example, self._said = None, set[str]()
        self.feature_names_in_ = list(background.names)
        self.n_features_in_ = len(background.columns)

    def explain_data(self, name: str | None = None) -> Any:
        """Show the released distribution of each column, with the noise.

        Parameters
        ----------
        name : str, default=None
            Of the explanation, in interpret's dashboard.

        Returns
        -------
        interpret's explanation
            With ``privacy``, for ``interpret.show``.
        """
        from interpret_dp.explanation.local_objects import background_explanation

        return background_explanation(
            self.to_released(), privacy=self.privacy_spend_, name=name or type(self).__name__
        )

    def explain_local(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        name: str | None = None,
        *,
        explained_class: Any = None,
        verbose: bool = False,
    ) -> Any:
        """Explain any model's predictions of rows; free, for any number of rows.

        Values of the row are replaced by typical ones, and the model predicts 4,096 such rows (more
        where there are more than 511 columns). An effect is the mean change of the output if the
        row's value replaces a typical one.

        Parameters
        ----------
        model : object
            With ``predict_proba`` or ``predict``, or callable on rows. It is taken as given: only
            its own guarantee protects the people that it was trained on.
        X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
            The rows, in the form that the model takes: public, synthetic, or your own. Nothing
            protects them, and the explanation shows them. Columns that the background does not
            have stay as they are.
        y : array-like, shape (n_rows,), default=None
            True values, to be shown beside the prediction.
        name : str, default=None
            Of the explanation, in interpret's dashboard.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two classes, and the
            predicted one of more.
        verbose : bool, default=False
            Show a progress bar over the rows.

        Returns
        -------
        interpret's explanation
            With ``privacy``. Standard errors are those of the noise of the background and of the
            sampled rows together, against the same explanation from a background without noise.
            The noise of the dependence between columns is not in them.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X.

        Warns
        -----
        DeclarationWarning
            If the model refuses a level, or a missing cell, in place of that of the first row. It
            is said once, and no row is drawn with it.
        """
        return explain_rows(
            self,
            self._row_method,
            model,
            X,
            y,
            explained_class,
            name=name or type(self).__name__,
            verbose=verbose,
        )

    def _row_method(self, background: Background) -> Perturbations:
        """Return how rows are explained; computed once, since it takes longer than a row."""
        if background is not self.background_:
            return Perturbations(background)
        if self._perturbations is None:
            self._perturbations = Perturbations(self.background_)
        return self._perturbations

    def explain_global(
        self,
        model: Any,
        name: str | None = None,
        *,
        rows: Any = None,
        explained_class: Any = None,
        verbose: bool = False,
    ) -> Any:
        """Explain any model as a whole by its partial dependence on each column; free.

        Parameters
        ----------
        model, name, verbose
            As for :meth:`explain_local`. For each column, the model predicts 4,096 rows of the
            background in which its value is replaced (more if it has more than 128 cells).
        rows : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows, default=None
            Your own rows, which nothing protects: the model gets rows in their form, and figures
            have up to ten lines of them (ICE). None: an array if the model was fitted with one,
            else the form and types of the data; of a background that was loaded, a DataFrame.
        explained_class : object, default=None
            The class whose probability is explained. None: the second of two, and all of more.

        Returns
        -------
        interpret's explanation
            The importance of a column is the root mean square height of its curve: 0 if it acts
            through interactions alone. The overview shows the share of the outputs' variance that
            all curves explain. Bands hold 95 % of noise and sampling together.

        Warns
        -----
        DeclarationWarning
            As :meth:`explain_local` warns.

        Notes
        -----
        Categories of a categorical type may come from rows, so the model gets the declared levels
        instead: in the order of an ordered type of pandas, else as declared. A model that reads
        codes needs all levels declared, in the order of the categories that it was trained with.
        """
        return explain_model(
            self,
            model,
            explained_class,
            rows,
            name=name or type(self).__name__,
            verbose=verbose,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the perturbations, which are computed again when needed."""
        state: dict[str, Any] = super().__getstate__()
        return state | ({"_perturbations": None} if "_perturbations" in state else {})

    def sample(self, n_rows: int, random_state: int | None = None) -> pd.DataFrame:
        """Draw public rows; free.

        Parameters
        ----------
        n_rows : int
            At least 1.
        random_state : int, default=None
            Seed; None: other rows in each call. No part of the promise depends on it.

        Returns
        -------
        DataFrame
            Numbers are spread evenly within their cell; in a tail, near the other cells.
        """
        return self.to_released().sample(n_rows, random_state)

    @property
    def privacy_spend_(self) -> PrivacySpend:
        """The cost of the background, with the ledger's figures as of now."""
        return dataclasses.replace(super().privacy_spend_, subject="background")

    @classmethod
    def load(cls, path: str | os.PathLike[str], ledger: PrivacyLedger | str | None = None) -> Self:
        """Read a background that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
        ledger : PrivacyLedger or str, default=None
            Where the data set's account can be read.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a background, or was changed after it was written.
        """
        return cls.from_released(Background.from_dict(read_json(path)), ledger)

    @classmethod
    def _parameters_of(cls, background: Background) -> Mapping[str, Any]:
        """Return the constructor's parameters that a released background holds."""
        promise = background.guarantee
        return {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "neighboring": promise.neighboring,
            "dependence": background.dependence is not None,
        }
