"""The simplest backend, one row at a time in Python's integers: all others must agree with it."""

import math

import numpy as np

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.backends.kernels import exponential_table, sigmoid_table
from interpret_dp.backends.local import (
    gap_table,
    log_steps,
    lowest_log_step,
    mean_weights,
    poisson_table,
)


class SimplestRows:
    """Rows as lists of codes; subclasses say what a row's residuals are."""

    n_scores = 1

    def __init__(self, codes, targets, weights=None, offsets=None):
        n_rows = len(targets)
        weights = [LATTICE] * n_rows if weights is None else [int(weight) for weight in weights]
        starts = [[0] * self.n_scores] * n_rows if offsets is None else offsets.tolist()
        self.rows = [
            (list(map(int, row)), target, weight, start)
            for row, target, weight, start in zip(
                zip(*codes, strict=True), targets, weights, starts, strict=True
            )
            if self.has_target(target)
        ]
        self.begin([0] * self.n_scores)

    def has_target(self, target):
        raise NotImplementedError

    def residuals(self, target, scores):
        raise NotImplementedError

    def target_sums(self):
        labels = range(max(self.n_scores, 2))
        return [sum(w for _, target, w, _ in self.rows if int(target) == k) for k in labels]

    def bin_counts(self, n_bins):
        counts = [[0] * width for width in n_bins]
        for row, _, weight, _ in self.rows:
            for feature, code in enumerate(row):
                counts[feature][code] += weight
        return counts

    def merge_bins(self, maps):
        self.rows = [
            ([int(table[code]) for table, code in zip(maps, row, strict=True)], *others)
            for row, *others in self.rows
        ]

    def product_sums(self, wanted, functions):
        width = sum(table.shape[1] for table in functions)
        sums = [[0] * width for _ in range(width)]
        for row, _, weight, _ in self.rows:
            vector = [
                int(number)
                for feature, table in zip(wanted, functions, strict=True)
                for number in table[row[feature]]
            ]
            for i, j in np.ndindex(width, width):
                sums[i][j] += weight // 256 * vector[i] * vector[j]
        return sums

    def pair_sums(self, pairs, maps, widths):
        sums = [np.zeros((widths[a], widths[b], self.n_scores), dtype=object) for a, b in pairs]
        for (row, target, weight, _), scores in zip(self.rows, self.scores, strict=True):
            for (a, b), table in zip(pairs, sums, strict=True):
                for k, residual in enumerate(self.residuals(target, scores)):
                    table[maps[a][row[a]], maps[b][row[b]], k] += weighted(residual, weight)
        return sums

    def pair_up(self, pairs, maps, widths):
        self.rows = [
            ([int(maps[a][row[a]]) * widths[b] + int(maps[b][row[b]]) for a, b in pairs], *of, now)
            for (row, *of, _), now in zip(self.rows, self.scores, strict=True)
        ]

    def begin(self, scores):
        self.scores = [
            [
                _saturated(_saturated(int(score)) + own)
                for score, own in zip(scores, start, strict=True)
            ]
            for *_, start in self.rows
        ]

    def advance(self, updated, updates, wanted, n_bins):
        sums = [[[0] * self.n_scores for _ in range(n_bins)] for _ in wanted]
        for (row, target, weight, _), scores in zip(self.rows, self.scores, strict=True):
            for slot, feature in enumerate(updated):
                for k in range(self.n_scores):
                    scores[k] = _saturated(scores[k] + int(updates[slot][row[feature]][k]))
            for slot, feature in enumerate(wanted):
                for k, residual in enumerate(self.residuals(target, scores)):
                    sums[slot][row[feature]][k] += weighted(residual, weight)
        return sums


def weighted(number, weight):
    """Multiply by a share of LATTICE, towards zero."""
    size = abs(number) * weight // LATTICE
    return size if number > 0 else -size


def _saturated(score):
    return min(max(score, -MAX_SCORE), MAX_SCORE)


class SimplestBinaryRows(SimplestRows):
    """Labels 0 and 1; the probability is tabulated in steps of 1/256 of a logit."""

    table = sigmoid_table().tolist()

    def has_target(self, target):
        return int(target) in (0, 1)

    def residuals(self, target, scores):
        entry = min(max(scores[0] // 2**12 + 4096, 0), 8191)
        return [int(target) * LATTICE - int(self.table[entry])]


class SimplestMulticlassRows(SimplestRows):
    """Labels from 0; exp(score - highest score) is tabulated in steps of 1/256."""

    table = exponential_table().tolist()

    def __init__(self, codes, targets, *, n_classes, **extras):
        self.n_scores = n_classes
        super().__init__(codes, targets, **extras)

    def has_target(self, target):
        return int(target) >= 0

    def residuals(self, target, scores):
        gaps = [min((max(scores) - score) // 2**12, 4095) for score in scores]
        weights = [int(self.table[gap]) for gap in gaps]
        return [
            (k == int(target)) * LATTICE - weight * LATTICE // sum(weights)
            for k, weight in enumerate(weights)
        ]


class SimplestRegressionRows(SimplestRows):
    """Numeric targets between bounds; residuals are clipped."""

    bound = LATTICE

    def __init__(self, codes, targets, *, lower, upper, clip, **extras):
        super().__init__(codes, targets, **extras)
        self.middle, self.half, self.clip = (lower + upper) / 2, (upper - lower) / 2, clip

    def has_target(self, target):
        return not math.isnan(target)

    def clip_residuals(self, clip, exposure=1.0, mean=1.0):
        self.clip = clip

    def bound_residuals(self, norm, plain=False):
        self.bound = norm

    def bounded(self, residual):
        return [min(max(residual, -self.bound), self.bound)]

    def difference(self, target, scores):
        limit = int(self.half / self.clip * LATTICE)
        centred = math.trunc((float(target) - self.middle) / self.clip * LATTICE)
        return min(max(centred, -limit), limit) - scores[0]

    def residuals(self, target, scores):
        return self.bounded(self.difference(target, scores))

    def target_counts(self, edges):
        return self.counts(edges, [float(target) for _, target, _, _ in self.rows])

    def residual_counts(self, edges):
        rows = zip(self.rows, self.scores, strict=True)
        return self.counts(edges, [self.difference(row[1], scores) for row, scores in rows])

    def counts(self, edges, numbers):
        cells = [0] * (len(edges) + 1)
        for (_, _, weight, _), number in zip(self.rows, numbers, strict=True):
            cells[sum(edge <= number for edge in edges.tolist())] += weight
        return cells

    def target_sums(self):
        total = squares = 0
        for _, target, weight, _ in self.rows:
            centred = float(target) - self.middle
            fraction = centred / self.half if self.half > 0 else 0.0
            scaled = min(max(math.trunc(fraction * LATTICE), -LATTICE), LATTICE)
            total += weighted(scaled, weight)
            squares += weighted(scaled**2 // LATTICE, weight)
        return [sum(weight for _, _, weight, _ in self.rows), total, squares]


class SimplestPoissonRows(SimplestRegressionRows):
    """Counts; the mean exp(score) is tabulated in steps of 1/256."""

    def __init__(self, codes, targets, **facts):
        self.bounds = {name: facts[name] for name in ("lower", "upper")}
        super().__init__(codes, targets, **facts)
        self.clip_residuals(facts["clip"])
        self.lowest = lowest_log_step(facts["upper"])

    def clip_residuals(self, clip, exposure=1.0, mean=1.0):
        super().clip_residuals(clip)
        self.means = poisson_table(**self.bounds, clip=clip, most=self.bounds["upper"]).tolist()

    def entry(self, scores):
        return min(max(scores[0] // 2**12 - self.lowest, 0), len(self.means) - 1)

    def plain_residual(self, target, scores):
        limit = int(min(self.half / self.clip * LATTICE, MAX_SCORE))
        centred = math.trunc((float(target) - self.middle) / self.clip * LATTICE)
        return min(max(centred, -limit), limit) - int(self.means[self.entry(scores)])

    def residuals(self, target, scores):
        return self.bounded(self.plain_residual(target, scores))


class SimplestWeightedRows(SimplestPoissonRows):
    """Target minus mean, times a function of the mean until residuals are to be plain."""

    def __init__(self, codes, targets, *, residual, **settings):
        self.residual, self.is_plain = residual, False
        super().__init__(codes, targets, **settings)

    def clip_residuals(self, clip, exposure=1.0, mean=1.0):
        super().clip_residuals(clip)
        self.weights = mean_weights(self.residual, **self.bounds, clip=clip, mean=mean).tolist()

    def bound_residuals(self, norm, plain=False):
        super().bound_residuals(norm)
        self.is_plain = plain

    def residuals(self, target, scores):
        residual = self.plain_residual(target, scores)
        if not self.is_plain:
            # A Python integer: of any size.
            residual = weighted(residual, self.weights[self.entry(scores)])
        return self.bounded(residual)


class SimplestGapRows(SimplestRegressionRows):
    """A function of target minus score, or of log target minus score, tabulated.

    The latter are target minus mean while residuals are to be plain.
    """

    is_plain = False

    def __init__(self, codes, targets, *, residual, has_log_target, **settings):
        super().__init__(codes, targets, **settings)
        self.residual, self.has_log_target = residual, has_log_target
        self.bounds = {name: settings[name] for name in ("lower", "upper")}
        self.clip_residuals(settings["clip"])

    def clip_residuals(self, clip, exposure=1.0, mean=1.0):
        super().clip_residuals(clip)
        self.errors = gap_table(self.residual, clip).tolist()
        if self.has_log_target:
            facts = {"lower": self.bounds["lower"], "upper": self.bounds["upper"]}
            self.counts_rows = SimplestPoissonRows((), (), **facts, clip=clip * mean)

    def bound_residuals(self, norm, plain=False):
        super().bound_residuals(norm)
        self.is_plain = plain and self.has_log_target

    def residuals(self, target, scores):
        if self.is_plain:
            return self.bounded(self.counts_rows.plain_residual(target, scores))
        if self.has_log_target:
            own = int(log_steps(np.array([target]), **self.bounds)[0])
        else:
            own = math.trunc((float(target) - self.middle) / self.clip * LATTICE)
            limit = int(self.half / self.clip * LATTICE)
            own = min(max(own, -limit), limit)
        entry = min(max((own - scores[0]) // 2**12 + 4096, 0), len(self.errors) - 1)
        return self.bounded(int(self.errors[entry]))


def as_lists(sums):
    """Return sums of any backend as lists of Python's integers."""
    if isinstance(sums, np.ndarray):
        return sums.tolist()
    return [as_lists(part) if isinstance(part, np.ndarray) else part for part in sums]
