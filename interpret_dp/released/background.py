"""The released background: the distribution of each column, and a copula between columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import SEAL, check_keys, digest_of, open_document, reading_parts
from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.guarantee import Guarantee
from interpret_dp.released.arrays import LARGEST_COUNT, FloatArray, freeze, frozen, softmax
from interpret_dp.released.terms import AdditiveFeature
from interpret_dp.schema import Continuous, Integer, Schema

if TYPE_CHECKING:
    import pandas as pd


# A Gaussian copula from released sums: how the columns of a background depend on each other.
#
# Each column is split in two halves. The sum over rows of the products of two columns' signs, 1 in
# the upper half and -1 in the lower one, is released. The correlation of two normal variables that
# are split in the same way follows from it (tetrachoric correlation; Pearson 1900). For halves of
# equal size it is ``sin(pi / 2 r)`` (Sheppard 1899).
#
# A nominal column is split into its most common levels and the others. Within its halves levels are
# drawn independently of other columns.


# A column with fewer rows than this share in one of its halves says next to nothing.
_LEAST_SHARE = 0.02
_LEAST_EIGENVALUE = 0.01
# Angles at which the normal distribution is tabulated; the ends are correlations of -1 and 1.
_ANGLES = np.linspace(-0.995, 0.995, 201) * np.pi / 2.0


@dataclass(frozen=True, eq=False)
class ColumnDependence:
    """Released sums over rows of the products of two columns' signs.

    Attributes
    ----------
    places : tuple of int
        Columns with two halves, in increasing order; of the others nothing is known.
    products : ndarray of float64, shape (n_pairs,)
        In rows, with their noise. Pairs are in the order of ``numpy.triu_indices``.
    noise : float
        Standard deviation of the noise of each product, above 0.
    """

    places: tuple[int, ...]
    products: FloatArray
    noise: float

    def __post_init__(self) -> None:
        """Freeze the products and check that the parts fit together."""
        n_pairs = len(self.places) * (len(self.places) - 1) // 2
        places = tuple(check_int("a place of a column", place, low=0) for place in self.places)
        object.__setattr__(self, "places", places)
        freeze(self, "products", (n_pairs,), "products", largest=LARGEST_COUNT)
        low, high = 1 / LARGEST_COUNT, LARGEST_COUNT
        noise = check_real("noise of the products", self.noise, low=low, high=high)
        object.__setattr__(self, "noise", noise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; they are the arguments."""
        products = self.products.tolist()
        return {"places": list(self.places), "products": products, "noise": self.noise}


def half_signs(counts: FloatArray, *, is_ordered: bool) -> NDArray[np.int8]:
    """Return the sign of each cell's half.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_codes,)
        Released; missing first, undeclared last.
    is_ordered : bool
        Whether the halves lie below and above the median. Otherwise the lower half holds the
        most common levels.

    Returns
    -------
    ndarray of int8, shape (n_codes,)
        -1 or 1; 0 for missing and undeclared cells, and for all cells where there are no two
        halves. Only additions and comparisons decide, so that all computers agree.
    """
    signs = np.zeros(len(counts), dtype=np.int8)
    inner = np.maximum(counts[1:-1], 0.0)
    order = np.arange(len(inner)) if is_ordered else np.argsort(-inner, kind="stable")
    below = inner[order].cumsum()
    if below[-1] <= 0:
        return signs
    last = int(np.abs(below / below[-1] - 0.5).argmin())
    if _LEAST_SHARE <= below[last] / below[-1] <= 1.0 - _LEAST_SHARE:
        signs[1:-1] = 1
        signs[1 + order[: last + 1]] = -1
    return signs


def _shrunk(estimates: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return noisy estimates, shrunk towards zero (empirical Bayes, normal prior).

    The variance of the prior is estimated from all of them, by their precision. Two standard errors
    are taken off: correlations that noise alone makes up do more harm than true ones left out.
    """
    noise = deviations**2
    weights = noise**-2.0
    signal = float(np.average(estimates**2 - noise, weights=weights))
    signal = max(signal - 2.0 * float(np.sqrt(2.0 / weights.sum())), 0.0)
    return np.asarray(estimates * (signal / (signal + noise)))


def _tetrachoric(covariance: float, first: float, second: float) -> float:
    """Return the correlation at which signs beyond two thresholds have this covariance.

    The derivative of the bivariate normal distribution function by the correlation is its density.
    """
    sines, cosines = np.sin(_ANGLES), np.cos(_ANGLES)
    distances = (first**2 - 2.0 * first * second * sines + second**2) / cosines**2
    density = np.exp(-0.5 * distances) / (2.0 * np.pi)
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(_ANGLES)
    areas = np.concatenate(([0.0], steps.cumsum()))
    areas -= areas[len(areas) // 2]
    return float(np.interp(covariance, 4.0 * areas, sines))


def _within(
    shares: FloatArray,
    signs: NDArray[np.int8],
    is_lower: NDArray[np.bool_],
    generator: np.random.Generator,
) -> FloatArray:
    """Return the middle of a cell of each row's half, drawn by the shares."""
    middles = shares.cumsum() - shares / 2.0
    places = np.empty(len(is_lower))
    for half, chosen in ((-1, is_lower), (1, ~is_lower)):
        ends = (shares * (signs == half)).cumsum()
        drawn = generator.random(int(chosen.sum())) * ends[-1]
        cells = np.searchsorted(ends, drawn, side="right")
        places[chosen] = middles[np.minimum(cells, len(ends) - 1)]
    return places


ZERO_ENDS = float(np.finfo(np.float64).tiny)
"""End of the cell of the value 0, which holds no other number."""

BACKGROUND_FORMAT = "interpret_dp.background"
"""The format that a file of a background names."""

_VERSION = 1
_KEYS = {
    **dict.fromkeys(("schema", "guarantee"), "object"),
    **{"columns": "list", "n_rows": "number", "dependence": "object or null"},
}
_COLUMN_KEYS = {"name": "text", "cuts": "list or null", "counts": "list", "noise": "list"}
_DEPENDENCE_KEYS = {"places": "list of integers", "products": "list", "noise": "number"}
# Missing cells are drawn where their count stands out by so many standard deviations of its noise:
# many models cannot read a missing cell, and without noise there might be none.
_MISSING_STANDS_OUT = 4.0

# Cells beside a tail are taken together until they are as wide as this share of the range.
_BESIDE_TAIL = 1 / 128

# Scales of the exponential distributions, in standard deviations of the noise; zero comes first.
_SCALES = 4.0 ** np.arange(-1, 9)
_RATES = np.concatenate(([0.0], 1.0 / _SCALES))
# What their frequencies start from, half of it at zero, weighs as much as so many cells.
_PRIOR_CELLS = 2.0
_START = np.concatenate(([0.5], np.full(len(_SCALES), 0.5 / len(_SCALES))))
_STEPS = 50
_FAR_BELOW = -30.0


@dataclass(frozen=True, eq=False)
class BackgroundColumn:
    """One column of a background.

    Attributes
    ----------
    feature : AdditiveFeature
        Name, declaration and cuts between the cells.
    counts : ndarray of float64, shape (n_codes,)
        Released number of rows in each cell: missing first, undeclared last. Counts are as
        released, and may be negative.
    noise : ndarray of float64, shape (n_codes,)
        Standard deviation of the noise of each count; 0 where nothing was counted, since a number
        is never undeclared.
    clipped : tuple of (float, float), or None
        Released numbers of rows below and above a number's bounds, with the noise of a first
        count. None of levels, and in files of older versions.
    refused : tuple of int, default=()
        Cells that no row is drawn from, since the model to be explained refuses them; not released.
    """

    feature: AdditiveFeature
    counts: FloatArray
    noise: FloatArray
    clipped: tuple[float, float] | None = None
    refused: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the counts and check their shape."""
        shape = (self.feature.n_codes,)
        for name in ("counts", "noise"):
            what = f"{name} of column {self.feature.name!r}"
            freeze(self, name, shape, what, largest=LARGEST_COUNT)
        if self.clipped is not None:
            what = f"clipped of column {self.feature.name!r}"
            clipped = frozen(self.clipped, (2,), what, largest=LARGEST_COUNT)
            object.__setattr__(self, "clipped", tuple(clipped.tolist()))
        if (self.noise < 0).any() or (self.noise[self.counted] < 1 / LARGEST_COUNT).any():
            what = f"noise of column {self.feature.name!r}"
            raise ValueError(f"{what} must be at least {1 / LARGEST_COUNT:g}.")
        spec, cuts = self.feature.spec, self.feature.cuts
        if isinstance(spec, Continuous) and cuts is not None and len(cuts):
            # Cuts may be those of bounds in single precision.
            slack = 1e-6 * max(abs(spec.lower), abs(spec.upper)) + 1e-44
            if cuts[0] < spec.lower - slack or cuts[-1] > spec.upper + slack:
                raise ValueError(f"A cut of column {self.feature.name!r} is beyond its bounds.")

    @property
    def counted(self) -> slice:
        """The cells that were counted: all, or for numbers all but the undeclared one."""
        return slice(0, len(self.counts) - isinstance(self.feature.spec, Continuous))

    @property
    def has_missing(self) -> bool:
        """Whether the count of missing cells stands out of its noise."""
        return bool(self.counts[0] > _MISSING_STANDS_OUT * self.noise[0])

    @property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Whether rows are drawn from each cell but the undeclared one, shape (n_codes - 1,)."""
        is_drawn = np.ones(len(self.counts) - 1, dtype=bool)
        is_drawn[0] = self.has_missing
        is_drawn[list(self.refused)] = False
        return is_drawn

    @property
    def signs(self) -> NDArray[np.int8]:
        """The half of the rows that each cell is in: -1, 1, or 0 for neither."""
        return half_signs(self.counts, is_ordered=self.is_ordered)

    @property
    def is_ordered(self) -> bool:
        """Whether the cells are those of a number, or of ordered levels."""
        spec = self.feature.spec
        return isinstance(spec, Continuous) or spec.ordered

    def posterior(self, n_rows: float) -> SharePosterior:
        """Return what the counts say about the shares of the counted cells."""
        return SharePosterior(self.counts[self.counted], self.noise[self.counted], n_rows)

    def drawable(self, shares: FloatArray) -> FloatArray:
        """Return the shares of the cells that rows are drawn from.

        Parameters
        ----------
        shares : ndarray of float64, shape (..., n_counted)
            Of the counted cells.

        Returns
        -------
        ndarray of float64, shape (..., n_codes - 1)
            Zero in cells that are not drawn (:attr:`is_drawn`). They add up to 1.
        """
        drawn = shares[..., : len(self.counts) - 1] * self.is_drawn
        # A column of which all is left out has no more to say than its declaration.
        empty = drawn.sum(axis=-1, keepdims=True) <= 0
        drawn[..., 1:] = np.where(empty, self.is_drawn[1:], drawn[..., 1:])
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))

    def values(self, cells: NDArray[np.int64], places: FloatArray) -> NDArray[Any]:
        """Return a value in each of some cells.

        Parameters
        ----------
        cells : ndarray of int64, shape (n,)
            0 is missing, 1 is the first one.
        places : ndarray of float64, shape (n,)
            Where in its cell a number lies, from 0 to below 1.
        """
        spec = self.feature.spec
        if not isinstance(spec, Continuous):
            levels = np.empty(len(spec.levels) + 1, dtype=np.object_)
            levels[:] = [None, *spec.levels]
            return levels[cells]
        cuts = np.asarray(self.feature.cuts)
        places = self._tail_places(cells, places)
        if isinstance(spec, Integer):
            # The integers of a cell are alike, and each has the same share of it.
            starts = np.concatenate(([spec.lower], np.ceil(cuts), [spec.upper + 1.0]))
            first, after = starts[np.maximum(cells - 1, 0)], starts[cells]
            numbers = np.minimum(first + np.floor(places * (after - first)), after - 1.0)
        else:
            borders = np.concatenate(([spec.lower], cuts, [spec.upper]))
            first, last = borders[np.maximum(cells - 1, 0)], borders[cells]
            numbers = first * (1.0 - places) + last * places
            numbers[np.abs(numbers) <= ZERO_ENDS] = 0.0
        return np.where(cells == 0, np.nan, numbers)

    def _tail_places(self, cells: NDArray[np.int64], places: FloatArray) -> FloatArray:
        """Return places of numbers in their cells, where those of a tail lie near other cells.

        The first and the last cell reach to the declared bounds, often far beyond the values. There
        the density falls exponentially, by the counts of the tail and of the cells beside it.
        """
        spec = self.feature.spec
        if not isinstance(spec, Continuous):
            raise TypeError(f"Column {self.feature.name!r} has levels; only numbers have tails.")
        borders = np.concatenate(([spec.lower], np.asarray(self.feature.cuts), [spec.upper]))
        # One declared value has no tails.
        shares = np.diff(borders / 2.0) / ((spec.upper / 2.0 - spec.lower / 2.0) or 1.0)
        counts = np.maximum(self.counts[1 : len(borders)], 0.0)
        places = places.copy()
        for cell, inward in ((1, 1), (len(shares), -1)):
            share, *others = shares[::inward]
            beside = np.cumsum(others)
            n_beside = int(np.searchsorted(beside, _BESIDE_TAIL)) + 1
            rows, rows_beside = counts[::inward][0], counts[::inward][1 : n_beside + 1].sum()
            if n_beside > len(beside) or rows == 0 or rows_beside == 0:
                continue
            decay = np.log(rows + rows_beside) - np.log(rows)
            if beside[n_beside - 1] < share * decay:  # otherwise the cell is no tail
                reach = beside[n_beside - 1] / decay
                in_tail = cells == cell
                distances = places[in_tail] if inward < 0 else 1.0 - places[in_tail]
                distances = -reach / share * np.log1p(distances * np.expm1(-share / reach))
                found = distances if inward < 0 else 1.0 - distances
                places[in_tail] = np.clip(found, 0.0, np.nextafter(1.0, 0.0))
        return places


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """Released histograms of the columns of a private table; rows drawn from them are public.

    Columns are drawn from a Gaussian copula, or independently where no dependence was released.

    Attributes
    ----------
    schema : Schema
        Declaration of the columns, in their order.
    columns : tuple of BackgroundColumn
    n_rows : float
        Released number of rows, above 0.
    guarantee : Guarantee
    dependence : ColumnDependence, default=None
        How the columns depend on each other.
    """

    schema: Schema
    columns: tuple[BackgroundColumn, ...]
    n_rows: float
    guarantee: Guarantee
    dependence: ColumnDependence | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        n_rows = frozen(self.n_rows, (), "n_rows", low=1 / LARGEST_COUNT, largest=LARGEST_COUNT)
        object.__setattr__(self, "n_rows", float(n_rows))
        if not self.columns:
            raise ValueError("A background needs at least one column.")
        places = () if self.dependence is None else self.dependence.places
        split = [k for k, column in enumerate(self.columns) if column.signs.any()]
        if self.dependence is not None and (len(places) < 2 or list(places) != split):
            raise ValueError(
                f"The dependence is of the columns {list(places)}; it must be of two or more, "
                f"and of those whose rows are split in two: {split}."
            )

    def __repr__(self) -> str:
        """Name what it is; the counts are in its columns."""
        return f"<Background: {len(self.columns)} columns, {self.guarantee.brief}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.feature.name for column in self.columns)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON document: the identity of the background."""
        return digest_of(self.to_dict())

    def shares(self) -> list[FloatArray]:
        """Return the share of each cell that rows are drawn from; one array a column.

        Returns
        -------
        list of ndarray of float64, shape (n_codes - 1,) each
            Posterior means under a sparse prior. The first cell is missing.
        """
        return [c.drawable(c.posterior(self.n_rows).mean()) for c in self.columns]

    def sample(self, n_rows: int, random_state: int | None = None) -> pd.DataFrame:
        """Draw rows; free, and public.

        Parameters
        ----------
        n_rows : int
            At least 1.
        random_state : int, default=None
            Seed; None: other rows in each call. No part of the promise depends on it.

        Returns
        -------
        DataFrame
            One column for each of the background's. Numbers are spread evenly within their cell; in
            a tail, they lie near the other cells.
        """
        n_rows = check_int("n_rows", n_rows, low=1)
        generator = public_generator(random_state)
        shares, drawn = self.shares(), []
        places = self.places(n_rows, shares, generator)
        for k, column in enumerate(self.columns):
            cells = cells_at(shares[k], places[:, k])
            drawn.append(column.values(cells, generator.random(n_rows)))
        return self.frame(drawn)

    def correlations(self) -> FloatArray:
        """Return the correlations of the Gaussian copula, shape (n_columns, n_columns).

        Those that were not released are zero.
        """
        matrix = np.eye(len(self.columns))
        if self.dependence is None:
            return matrix
        from scipy.special import ndtri

        known = [self.columns[k] for k in self.dependence.places]
        shares = [column.posterior(self.n_rows).mean() for column in known]
        signs = [column.signs[column.counted] for column in known]
        lower = np.array([part[own < 0].sum() for part, own in zip(shares, signs, strict=True)])
        upper = np.array([part[own > 0].sum() for part, own in zip(shares, signs, strict=True)])
        present = np.maximum(lower + upper, 1e-3)
        # Released shares may differ from the counts that a column was split by.
        thresholds = ndtri(np.clip(lower / present, _LEAST_SHARE / 2, 1.0 - _LEAST_SHARE / 2))
        densities = np.exp(-0.5 * thresholds**2) / np.sqrt(2.0 * np.pi)
        first, second = np.triu_indices(len(known), 1)
        in_both = self.n_rows * (present[first] * present[second])
        means = (upper - lower) / present
        covariances = self.dependence.products / in_both - means[first] * means[second]
        # Near independence the covariance of the signs grows by this with the correlation.
        slopes = 4.0 * densities[first] * densities[second]
        deviations = self.dependence.noise / (in_both * slopes)
        shrunk = slopes * _shrunk(covariances / slopes, deviations)
        own = np.eye(len(known))
        pairs = zip(shrunk, thresholds[first], thresholds[second], strict=True)
        own[first, second] = own[second, first] = [_tetrachoric(*pair) for pair in pairs]
        # The nearest matrix that is positive definite.
        values, vectors = np.linalg.eigh(own)
        nearest = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
        scales = np.sqrt(np.diagonal(nearest))
        places = self.dependence.places
        matrix[np.ix_(places, places)] = nearest / np.outer(scales, scales)
        return matrix

    def places(
        self, n_rows: int, shares: Sequence[FloatArray], generator: np.random.Generator
    ) -> FloatArray:
        """Draw where the values of rows lie in their columns, for :func:`cells_at`.

        Parameters
        ----------
        n_rows : int
        shares : sequence of ndarray of float64
            Of :meth:`shares`.
        generator : numpy.random.Generator

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            From 0 to 1.
        """
        places = generator.random((n_rows, len(self.columns)))
        if self.dependence is None:
            return places
        from scipy.special import ndtr

        known = list(self.dependence.places)
        normal = generator.standard_normal((n_rows, len(known)))
        factor = np.linalg.cholesky(self.correlations()[np.ix_(known, known)])
        ranks = np.asarray(ndtr(normal @ factor.T))
        for place, k in enumerate(known):
            part, signs, missing = shares[k], self.columns[k].signs[:-1], shares[k][0]
            if self.columns[k].is_ordered:
                places[:, k] = missing + (1.0 - missing) * ranks[:, place]
            else:
                is_lower = ranks[:, place] * part[signs != 0].sum() < part[signs < 0].sum()
                places[:, k] = _within(part, signs, is_lower, generator)
            # Missing cells depend on nothing.
            places[generator.random(n_rows) < missing, k] = 0.0
        return places

    def frame(self, values: Sequence[NDArray[Any]]) -> pd.DataFrame:
        """Return the values of all columns as a table, integers as integers."""
        import pandas as pd

        columns = {}
        for column, cells in zip(self.columns, values, strict=True):
            series = pd.Series(cells, dtype=cells.dtype)
            # Arrow's strings cannot hold every text of Python.
            with suppress(UnicodeEncodeError):
                series = series.infer_objects()
            is_whole = isinstance(column.feature.spec, Integer) and not series.hasnans
            columns[column.feature.name] = series.astype(np.int64) if is_whole else series
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return a document of plain JSON values; :meth:`from_dict` reads it."""
        return {
            "format": BACKGROUND_FORMAT,
            "version": _VERSION,
            "schema": self.schema.to_dict(),
            "columns": [
                {
                    "name": column.feature.name,
                    "cuts": None if (cuts := column.feature.cuts) is None else cuts.tolist(),
                    "counts": column.counts.tolist(),
                    "noise": column.noise.tolist(),
                    # Left out where older files have none.
                    **({} if column.clipped is None else {"clipped": list(column.clipped)}),
                }
                for column in self.columns
            ],
            "n_rows": self.n_rows,
            "dependence": None if self.dependence is None else self.dependence.to_dict(),
            "guarantee": self.guarantee.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Background:
        """Rebuild a background from its document.

        Raises
        ------
        ValueError
            If the document is of another format or version, was changed since it was sealed, or
            its parts do not fit together.
        """
        accepted = BACKGROUND_FORMAT, (_VERSION,), _KEYS, {SEAL: "text"}
        content = open_document("background", document, *accepted, writer="background.save(path)")
        with reading_parts("The background", "Release it again, or restore the file."):
            for number, entry in enumerate(content["columns"]):
                what = f"Column {number} of the background"
                check_keys(what, entry, _COLUMN_KEYS, optional={"clipped": "list"})
            dependence = content["dependence"]
            if dependence is not None:
                check_keys("The dependence of the background", dependence, _DEPENDENCE_KEYS)
            schema = Schema.from_dict(content["schema"])
            specs = schema.resolve([entry["name"] for entry in content["columns"]])
            columns = []
            for entry, spec in zip(content["columns"], specs, strict=True):
                feature = AdditiveFeature(entry["name"], spec, entry["cuts"])
                sums = entry["counts"], entry["noise"], entry.get("clipped")
                columns.append(BackgroundColumn(feature, *sums))
            guarantee = Guarantee.from_dict(content["guarantee"])
            copula = None if dependence is None else ColumnDependence(**dependence)
            return cls(schema, tuple(columns), content["n_rows"], guarantee, copula)


def public_generator(seed: int | None) -> np.random.Generator:
    """Return random numbers for what is computed from released numbers; nothing rests on them."""
    return np.random.default_rng(seed)


def cells_at(shares: FloatArray, places: FloatArray) -> NDArray[np.int64]:
    """Return the cell at each of some places from 0 to 1, if cells are as wide as their shares."""
    last = int(np.flatnonzero(shares)[-1])
    return np.minimum(np.searchsorted(shares.cumsum(), places, side="right"), last)


# ----------------------------------------------------------------- shares of a histogram


class SharePosterior:
    """Posterior of the shares of cells, given their noisy counts.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_cells,)
        Released counts, negative ones as they are.
    noise : ndarray of float64, shape (n_cells,)
        Standard deviation of the noise of each, above 0; the noise is independent.
    total : float
        Released number of rows, which is much less noisy than a sum of many counts.

    Notes
    -----
    To set negative counts to zero would invent rows: of forty levels that nobody has, half would
    get about as many rows as the noise is large. So each count has a sparse prior: it is zero, or
    comes from an exponential distribution of one of several scales. How common each scale is, is
    estimated from the counts of the same histogram (empirical Bayes).

    Sources: Stephens (2017), "False discovery rates: a new deal", for the mixture of many scales;
    Johnstone and Silverman (2004), "Needles and straw in haystacks", for zero beside a wide prior.
    """

    def __init__(self, counts: FloatArray, noise: FloatArray, total: float) -> None:
        variances = noise**2
        excess = counts.sum() - total
        self._noise = noise
        self._counts = (counts - excess * variances / variances.sum()) / noise
        likely = _log_likelihoods(self._counts)
        frequencies = _START
        for _ in range(_STEPS):
            posterior = softmax(likely + np.log(frequencies))
            frequencies = posterior.sum(axis=0) + _PRIOR_CELLS * _START
            frequencies /= frequencies.sum()
        self._components = softmax(likely + np.log(frequencies))

    def mean(self) -> FloatArray:
        """Return the share of each cell at the posterior means of the counts."""
        from scipy.special import log_ndtr

        # The mean of a normal distribution cut off below zero; far below, that of an exponential.
        centres = self._counts[:, np.newaxis] - _RATES
        near = np.maximum(centres, _FAR_BELOW)
        ratios = np.exp(-0.5 * near**2 - log_ndtr(near)) / np.sqrt(2.0 * np.pi)
        means = np.where(centres < _FAR_BELOW, 1.0 / np.maximum(-centres, 1.0), near + ratios)
        means[:, 0] = 0.0
        return _shares(self._noise * (self._components * means).sum(axis=1))

    def draws(self, uniforms: FloatArray) -> FloatArray:
        """Return draws of the shares.

        Parameters
        ----------
        uniforms : ndarray of float64, shape (2, n_draws, n_cells)
            Independent numbers between 0 and 1.

        Returns
        -------
        ndarray of float64, shape (n_draws, n_cells)
            Each draw adds up to 1.
        """
        from scipy.special import ndtr, ndtri

        ends = self._components.cumsum(axis=1)
        component = (uniforms[0][..., np.newaxis] > ends).sum(axis=-1)
        component = np.minimum(component, len(_RATES) - 1)
        centres = self._counts - _RATES[component]
        # The upper tail of a normal distribution, which is exact where zero is far away.
        tail = np.maximum(ndtr(centres) * uniforms[1], np.finfo(np.float64).tiny)
        drawn = np.where(component == 0, 0.0, np.maximum(centres - ndtri(tail), 0.0))
        return _shares(self._noise * drawn)


def _log_likelihoods(counts: FloatArray) -> FloatArray:
    """Return log densities of counts with unit noise, one column a component of the prior."""
    from scipy.special import log_ndtr

    at_zero = -0.5 * counts**2 - 0.5 * np.log(2.0 * np.pi)
    rates, column = 1.0 / _SCALES, counts[:, np.newaxis]
    wide = np.log(rates) - rates * column + 0.5 * rates**2 + log_ndtr(column - rates)
    return np.column_stack([at_zero, wide])


def _shares(counts: FloatArray) -> FloatArray:
    """Divide by the sum over the last axis; where it is zero all cells are alike."""
    totals = counts.sum(axis=-1, keepdims=True)
    alike = 1.0 / counts.shape[-1]
    return np.asarray(np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), alike))


@dataclass(frozen=True)
class Dependence:
    """Curves of a model; public.

    Attributes
    ----------
    intercept : ndarray of float64, shape (n_outputs,)
        Mean output over rows of the background.
    curves, variances : list of ndarray of float64, shape (n_codes, n_outputs) each
        Partial dependence on each column, with mean 0 under the shares of its cells, and its error
        variance; 0 in cells that no row is drawn from.
    fidelity : float
        Share of the variance of the outputs, over rows of the background, that the sum of all
        curves explains; 1 if they do not vary.
    """

    intercept: FloatArray
    curves: list[FloatArray]
    variances: list[FloatArray]
    fidelity: float
