"""Noise bands against repeated fits.

What is known of the noise is conditional on the released bins, so the histograms' noise is drawn
once and the noise of the rounds anew in each of R = 60 fits of the simulated cohort (20,000 rows;
10,000 of several classes and of monotone terms, of which R = 40).

- Before the curves are denoised, the claim is the deviation of the noise. A bin is honest if
  claimed over observed lies within 0.8 and 1.25, and 85 % of the bins that ever moved must be. With
  R = 60 an exact claim misses that interval in 2 % of bins (the observed deviation has a relative
  standard error of 9 %), so that some 200 bins fail the test by chance with probability below 1e-6.
- The released bands must hold the curve without noise, each bin by itself: the same fit with the
  noise of the rounds switched off, not denoised. Over all bins and fits, bands of 68.3 and 95 %
  must hold in 63.3 to 72.8 and in 92.5 to 97.5 % (errors of one fit are correlated: an average over
  60 fits has a standard error of at most 2.6 points), and of 78 % of the bins each must be held in
  55.3 to 81.3 % and in 88 to 100 % of the fits, which an exact band misses with probability 4 and
  1 %. Curves that were scaled or smoothed in the editor must be held as well.
- ``standard_deviations_`` are right on average over bins: 64 to 75 % and 92.5 to 97.5 %. What is
  unknown mixes scales, and so has more near zero than a normal variable of its deviation.

Claims that are a third too small or half too large must fail the first; bands of two thirds or one
and a half times the width the second, and so must bands of ``standard_deviations_``, bin by bin.

Terms that are kept monotone are not denoised, and their variances are simulated, which takes the
released curve for the truth. At a bend of the curve they are up to a third off, so that 75 % of
their bins must be honest (an exact claim misses in 5 % of bins with R = 40).
"""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from benchmarks.bands import coverage_of_truth
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
)
from interpret_dp.datasets import make_cohort
from interpret_dp.ebm import training
from interpret_dp.ebm.noise import boosted
from interpret_dp.editor.operations import edited_term, plan
from interpret_dp.exceptions import ReleaseError
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.released import Band

pytestmark = pytest.mark.statistical

ESTIMATORS = {
    "classification": DPExplainableBoostingClassifier,
    "regression": DPExplainableBoostingRegressor,
}
FITS = 60
# Levels, and so many deviations of a normal variable.
LEVELS = {0.6827: 1.0, 0.95: 1.96}
# What the editor does to curves, with what it leaves to the scores.
EDITS = ({"kind": "scale", "factor": 0.5}, {"kind": "smooth", "length": 0.1})


class FixedHistograms(SeededRandomness):
    """Noise of the histograms is the same for every seed."""

    def __init__(self, seed):
        super().__init__(seed)
        self._fixed = np.random.default_rng(0)

    def perturb(self, name, exact, sensitivity, sigma):
        if name == "boosting":
            return super().perturb(name, exact, sensitivity, sigma)
        return exact + np.rint(self._fixed.normal(scale=sigma, size=exact.shape)).astype(np.int64)


class WithoutNoise(FixedHistograms):
    """Rounds have no noise; the histograms have theirs."""

    def perturb(self, name, exact, sensitivity, sigma):
        if name == "boosting":
            return exact.copy()
        return super().perturb(name, exact, sensitivity, sigma)


class Seen:
    """Repeated fits, with scores and claims before the curves are denoised.

    The truth of each is the same fit without the noise of its rounds. Half-way it goes on as the
    noisy one did: by itself it would go on with other terms. Fits go through the features in one of
    ``n_orders`` orders, and those that went on alike share their truth.
    """

    def __init__(self, monkeypatch, fit, n_fits=FITS, n_orders=6):
        self._fit = fit
        real_scores, real_boost = boosted.expected_terms, training.boost

        def watched(terms):
            deviations = np.sqrt(_flat([one.diagonal for one in terms.noise]))
            self._before = (_flat(terms.scores), deviations)
            return real_scores(terms)

        def remembered(significant):
            def decide(early):
                if self._has_noise:
                    self._decided = significant(early)
                return self._decided

            return decide

        def boost(*rest, significant, **options):
            decide = significant and remembered(significant)
            result = real_boost(*rest, significant=decide, **options)
            if not self._has_noise:
                unit = result.start.loss.score_unit
                self._truth = _flat(unit * scores for scores in result.scores)
                raise EOFError("nothing more is wanted of this fit")
            return result

        monkeypatch.setattr(training, "boost", boost)
        monkeypatch.setattr(boosted, "expected_terms", watched)
        self.models, noisy, quiet, truths = [], [], [], {}
        for seed in range(n_fits):
            self._order, self._decided = seed % n_orders, ()
            self.models.append(self.fit(FixedHistograms(seed)).released_)
            noisy.append(self._before)
            alike = (self._order, frozenset(self._decided))
            if alike not in truths:
                with pytest.raises(ReleaseError):
                    self.fit(WithoutNoise(seed))
                truths[alike] = self._truth
            quiet.append(truths[alike])
        self.noisy = tuple(np.array(part) for part in zip(*noisy, strict=True))
        self.truths = np.array(quiet)
        # Bins without rows never move but for rounding.
        claimed = self.noisy[1].mean(axis=0)
        self.moved = claimed > 1e-3 * claimed.max()

    def fit(self, randomness):
        randomness.public = np.random.default_rng(self._order)
        self._has_noise = not isinstance(randomness, WithoutNoise)
        with use_randomness(randomness):
            return self._fit()

    def ratios(self):
        """Claimed over observed deviation of the noise of each bin that ever moved."""
        scores, claims = (part[:, self.moved] for part in self.noisy)
        return claims.mean(axis=0) / np.std(scores, axis=0, ddof=1)

    def held(self, widened=1.0):
        """Whether bands of 68 and 95 % hold the curve without noise, by fit and bin."""
        return self._held(lambda term, level: widened_band(term.band(level), widened))

    def held_by_deviations(self):
        """Return the same of ``standard_deviations`` to both sides of the released scores."""

        def band(term, level):
            half = LEVELS[level] * term.standard_deviations
            return Band(term.scores - half, term.scores + half)

        return self._held(band)

    def _held(self, band):
        found = []
        for level in LEVELS:
            ends = [[band(term, level) for term in model.terms] for model in self.models]
            lower, upper = (
                np.array([_flat(b[side] for b in fit)[self.moved] for fit in ends])
                for side in (0, 1)
            )
            truth = self.truths[:, self.moved]
            found.append((lower <= truth) & (truth <= upper))
        return found

    def held_after(self, kind, **arguments):
        """Return it of all numbers' terms after an edit of each fit's own curve."""
        held = []
        for model, truth in zip(self.models, self.truths, strict=True):
            starts, own = np.cumsum([0, *(len(term.scores) for term in model.terms)]), []
            for index, term in enumerate(model.terms):
                feature = model.subject(term)
                if feature.kind != "continuous":
                    continue
                part = slice(starts[index], starts[index + 1])
                known = dataclasses.replace(term, scores=truth[part])
                operation = plan(model, kind, index, arguments)
                edited, true = (edited_term(feature, one, operation) for one in (term, known))
                bands = [edited.band(level) for level in LEVELS]
                held_ = [(b.lower <= true.scores) & (true.scores <= b.upper) for b in bands]
                own.append(np.array(held_)[:, self.moved[part]])
            held.append(np.concatenate(own, axis=1))
        return list(np.moveaxis(held, 1, 0))


def widened_band(band, by):
    middle, half = (band.lower + band.upper) / 2, (band.upper - band.lower) / 2
    return Band(middle - by * half, middle + by * half)


def _flat(parts):
    return np.concatenate([np.ravel(part) for part in parts])


def claimed_over_observed(fit, names, noise=FixedHistograms, n_fits=FITS):
    """Return the ratio of each bin that ever moved, of the named terms."""
    scores, claims = [], []
    for seed in range(n_fits):
        with use_randomness(noise(seed)):
            model = fit()
        chosen = [model.term_names_.index(name) for name in names]
        scores.append(_flat(model.term_scores_[k] for k in chosen))
        terms = [model.released_.terms[k] for k in chosen]
        # Bins with too few rows never move, and their deviation is no claim about noise.
        claims.append(
            _flat(np.where(t.too_few_rows, 0.0, t.standard_deviations.T).T for t in terms)
        )
    claimed = np.mean(claims, axis=0)
    # Bins without rows never move but for rounding.
    moved = claimed > 1e-3 * claimed.max()
    return claimed[moved] / np.std(scores, axis=0, ddof=1)[moved]


def honest(ratio, lowest=0.8, highest=1.25):
    return float(np.mean((ratio > lowest) & (ratio < highest)))


def check_ratios(ratio, *, n_bins, share):
    """Check that so many bins are honest; claims that are too small or too large must not be."""
    assert len(ratio) > n_bins
    assert honest(ratio) >= share
    assert honest(ratio * 2 / 3) < 0.5
    assert honest(ratio * 3 / 2) < 0.5


def is_nominal(held, *, wider=0.0):
    """Whether bands hold as often as they claim, on average; those of 68 % may more often.

    They reach to the drawn curve, which adds up to a point.
    """
    shares = [float(np.mean(part)) for part in held]
    return -0.05 <= shares[0] - 0.683 <= 0.055 + wider and abs(shares[1] - 0.95) <= 0.025


def honest_bins(held):
    """Share of bins of which each is held about as often as both bands claim."""
    one, two = (np.mean(part, axis=0) for part in held)
    return float(np.mean((np.abs(one - 0.683) <= 0.13) & (two >= 0.88)))


@pytest.mark.slow
@pytest.mark.parametrize(("task", "epsilon"), [("classification", 1.0), ("regression", 4.0)])
def test_bands_are_honest(monkeypatch, task, epsilon):
    cohort = make_cohort(20_000, seed=3, task=task)
    model = ESTIMATORS[task](epsilon=epsilon, delta=1e-6, schema=cohort.schema)
    seen = Seen(monkeypatch, lambda: model.fit(cohort.X, cohort.y))
    check_ratios(seen.ratios(), n_bins=100, share=0.85)
    for held in (seen.held(), *(seen.held_after(**edit) for edit in EDITS)):
        assert is_nominal(held), np.mean(held, axis=(1, 2))
        # 83 % in regressions: the noise of the histograms, which bands leave out, is the same here.
        assert honest_bins(held) >= 0.78, honest_bins(held)
    assert is_nominal(seen.held_by_deviations(), wider=0.03)
    # Controls: the same checks must fail for bands that are too narrow or too wide.
    assert not is_nominal(seen.held(2 / 3))
    assert not is_nominal(seen.held(3 / 2))
    assert honest_bins(seen.held_by_deviations()) < 0.75


@pytest.mark.slow
@pytest.mark.parametrize("task", list(ESTIMATORS))
def test_bands_hold_the_true_curve(task):
    """Of ten terms in 6 fits of 8,000 rows at epsilon 1; without sampling error they do not."""
    of_rows, of_bins = coverage_of_truth(task, 8_000, 1.0, 6)
    assert of_rows > 0.95
    assert of_bins > 0.93
    assert coverage_of_truth(task, 8_000, 1.0, 6, sampling=False)[0] < 0.93


@pytest.mark.slow
def test_bands_of_several_classes_are_honest(monkeypatch):
    """They hold a little too often: 75 and 97 % were measured.

    100 fits: that is nearer to the limit of an honest bin, which more of them would miss by chance.
    """
    cohort = make_cohort(10_000, seed=3)
    score = cohort.score(cohort.X) + np.random.default_rng(0).logistic(size=10_000)
    y = np.array(["high", "low", "middle"])[np.digitize(-score, np.quantile(-score, [0.3, 0.7]))]
    schema = Schema(cohort.schema.features, target=Categorical(["high", "low", "middle"]))
    model = DPExplainableBoostingClassifier(epsilon=2.0, delta=1e-6, schema=schema)
    seen = Seen(monkeypatch, lambda: model.fit(cohort.X, y), n_fits=100, n_orders=10)
    assert is_nominal(seen.held(), wider=0.03), np.mean(seen.held(), axis=(1, 2))
    assert honest_bins(seen.held()) >= 0.78
    assert not is_nominal(seen.held(2 / 3), wider=0.03)


RISING = {"age": 1, "length_of_stay": 1, "prior_admissions": 1}


@pytest.mark.slow
def test_bands_of_monotone_terms_are_honest():
    cohort = make_cohort(10_000, seed=3)
    parameters = {"schema": cohort.schema, "monotone_constraints": RISING}
    model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, **parameters)
    ratio = claimed_over_observed(lambda: model.fit(cohort.X, cohort.y), RISING, n_fits=40)
    check_ratios(ratio, n_bins=50, share=0.75)
    assert 0.85 < np.median(ratio) < 1.15


@pytest.mark.slow
def test_bands_under_a_log_link_are_honest(monkeypatch):
    """Amounts are clipped, by which the loss bends a little less than is taken for granted.

    Bands of counts are in test_pair_bands.py, of pairs.
    """
    cohort = make_cohort(20_000, seed=3)
    mean, rng = np.exp(0.5 * cohort.score(cohort.X) + 1.0), np.random.default_rng(0)
    y = rng.gamma(2.0, 50.0 * mean)
    model = DPExplainableBoostingRegressor(
        epsilon=1.0,
        delta=1e-6,
        objective="gamma_deviance",
        schema=Schema(cohort.schema.features, target=Continuous(1, 2_000)),
    )
    seen = Seen(monkeypatch, lambda: model.fit(cohort.X, y))
    check_ratios(seen.ratios(), n_bins=100, share=0.85)
    assert is_nominal(seen.held()), np.mean(seen.held(), axis=(1, 2))
    # 0.84 to 0.90 with three draws of the histograms' noise.
    assert honest_bins(seen.held()) >= 0.78


@pytest.mark.slow
def test_bands_of_quantiles_are_honest(monkeypatch):
    """The spread of the target differs, and the density with which bands reckon is a mean; 40 fits.

    Bands hold a little too seldom for that: of the tenth from above 64.6 and 92.2 % were measured.
    """
    cohort = make_cohort(20_000, seed=3)
    score, rng = cohort.score(cohort.X), np.random.default_rng(0)
    y = 10.0 + score + np.exp(0.5 * score) * rng.normal(size=len(score))
    model = DPExplainableBoostingRegressor(
        epsilon=1.0,
        delta=1e-6,
        objective="quantile:alpha=0.9",
        schema=Schema(cohort.schema.features, target=Continuous(-10, 40)),
    )
    seen = Seen(monkeypatch, lambda: model.fit(cohort.X, y), n_fits=40)
    check_ratios(seen.ratios(), n_bins=100, share=0.75)
    shares = np.mean(seen.held(), axis=(1, 2))
    assert 0.61 <= shares[0] <= 0.75
    assert 0.90 <= shares[1] <= 0.975


@pytest.mark.slow
def test_bands_of_columns_that_hang_together_know_of_it(monkeypatch):
    """Eight columns of which any two have a correlation of 0.8; 40 fits.

    What they have in common is estimated, in its linear part above all, so that bands hold a little
    too seldom: 64 to 65 and 93 % were measured, and 58 and 88 % without what was released.
    """
    rng = np.random.default_rng(3)
    common = rng.normal(size=(8_000, 1))
    X = np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(8_000, 8))
    y = X @ np.linspace(-1, 1, 8) + np.sin(3 * X[:, 0]) + rng.normal(size=8_000)
    names = [f"x{k}" for k in range(8)]
    table = pd.DataFrame(X, columns=names)
    schema = Schema(dict.fromkeys(names, Continuous(-4, 4)), target=Continuous(-6, 6))
    model = DPExplainableBoostingRegressor(epsilon=2.0, delta=1e-6, schema=schema)

    def shares():
        with monkeypatch.context() as patch:
            seen = Seen(patch, lambda: model.fit(table, y), n_fits=40)
        return np.mean(seen.held(), axis=(1, 2))

    known = shares()
    assert known[0] >= 0.62
    assert known[1] >= 0.915
    # Control: the same bands without what was released.
    monkeypatch.setattr(boosted, "with_coupling", lambda noise, *rest, **steps: noise)
    assert (shares() <= known - [0.04, 0.025]).all()
