"""Sites that fit together release, bit for bit, what one place does with the same noise."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone

import interpret_dp as dp
from interpret_dp.audit import replay
from interpret_dp.ebm.trainer.partitions import LeafRelease
from interpret_dp.exceptions import SitesError
from interpret_dp.mechanisms import active_randomness
from tests.ebm.tasks import machine
from tests.fitting.test_survival import SCHEMA as TIMES, patients
from tests.golden.kinds import FEATURES, rows, score
from tests.sites.together import at_one_place, at_sites, one_place

pytestmark = pytest.mark.filterwarnings("ignore::interpret_dp.DeclarationWarning")

X = rows(600)
LATENT = score(X)
SIGNS = np.where(LATENT > 0, "yes", "no")
TWO, COUNTS = dp.Categorical(["no", "yes"]), dp.Continuous(0, 20)
PEOPLE = X.assign(patient=np.arange(len(X)) // 3)
QUICK = {"max_rounds": 6, "max_bins": 8, "epsilon": 20.0, "delta": 1e-6, "n_jobs": 1}


def case(target, y, X=X, unit=None, given=(), **settings):
    schema = dp.Schema(FEATURES, target=target, unit=unit)
    return schema, X, np.asarray(y), dict(given), settings


TIMED, DIED, _ = patients(600)
CASES = {
    "background": case(None, LATENT),
    "two classes, weights": case(
        TWO, SIGNS, given={"sample_weight": 1 + (X["dose"] > 10)}, privacy_weight_max=2.0
    ),
    "classes, pairs chosen": case(
        dp.Categorical([0, 1, 2]), np.digitize(LATENT, [-0.3, 0.6]), interactions=2
    ),
    "numbers, pairs given, monotone": case(
        dp.Continuous(-4, 6),
        LATENT,
        interactions=[("age", "stage")],
        monotone_constraints=[0, 1, 0, 0],
    ),
    "numbers, more rounds": case(dp.Continuous(-4, 6), LATENT, max_rounds=None),
    "counts, exposure": case(
        COUNTS,
        np.floor(np.exp(LATENT)),
        given={"exposure": np.linspace(0.1, 1, len(X))},
        objective="poisson_deviance",
        privacy_exposure_max=1.0,
    ),
    "scores to start from": case(TWO, SIGNS, given={"init_score": LATENT / 2}),
    "people": case(TWO, SIGNS, PEOPLE, dp.PrivacyUnit("patient", max_rows=2, total_rows=3)),
    "weights of people": case(
        TWO, SIGNS, PEOPLE, dp.PrivacyUnit("patient", max_rows=2), population="people"
    ),
    "times": (TIMES, TIMED, DIED, {}, {"objective": "survival_cox", "interactions": 1}),
}


def fit_of(name):
    schema, X, y, given, settings = CASES[name]
    model = machine(schema, **QUICK | settings) if schema.target else dp.PrivateBackground(schema)

    def fit(site, own):
        parts = {role: np.asarray(cells)[own] for role, cells in given.items()}
        return clone(model).fit(X.iloc[own], y[own], site=site, **parts)

    return fit


def numbers(model):
    document = model.to_released().to_dict()
    del document["guarantee"]
    return document


@pytest.mark.parametrize("n_sites", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_sites_release_what_one_place_does(name, n_sites):
    """Units are at one site each; with two sites, a third one's rows are at the second."""
    whole = at_one_place(fit_of(name), n_sites)
    places = np.random.default_rng(0).integers(n_sites, size=200).repeat(3)
    models = at_sites(fit_of(name), places, n_sites)
    for model in models.values():
        assert numbers(model) == numbers(whole)
        assert [line.split(" ")[0] for line in model.guarantee_.sites] == list(models)
        assert "unknown" not in str(model.guarantee_.sites)


@pytest.mark.parametrize("name", CASES)
def test_sums_of_a_site_move_by_no_more_than_is_declared(name):
    """Of two sites one has the noise of one place: its share suffices alone."""
    unit = CASES[name][0].unit
    neighbour = np.arange(len(X) - (1 if unit is None else 3))
    report = replay(lambda own: fit_of(name)(one_place(2), own), np.arange(len(X)), neighbour)
    assert report.violations == ()
    assert 0.1 < report.worst_ratio <= 1


def test_control_a_norm_of_leaf_sums_without_their_multiples_is_found(monkeypatch):
    monkeypatch.setattr(
        LeafRelease, "row_norm", lambda self, residual_norm, n_scores: residual_norm
    )
    fit = fit_of("two classes, weights")
    report = replay(lambda own: fit(one_place(2), own), np.arange(len(X)), np.arange(len(X) - 1))
    assert {fault.kind for fault in report.violations} == {"sensitivity"}


def test_a_site_without_rows_takes_part():
    name = "two classes, weights"
    models = at_sites(fit_of(name), np.zeros(len(X), dtype=int), 3, n_colluding=2)
    assert numbers(models["west"]) == numbers(models["north"])
    promise = models["north"].guarantee_
    assert "while at most 2 of the sites" in promise.scope
    assert not [clause for clause in promise.assumptions if "the curator" in clause]
    assert promise.registry_sections()["deployment_model"]["model_name"] == "Federated"
    assert dp.Guarantee.from_dict(promise.to_dict()) == promise


def test_people_at_two_sites_have_twice_the_noise():
    def scale_of(site, own):
        fit_of("people")(site, own)
        return active_randomness().exact[0][3]

    one, two = (at_sites(scale_of, np.arange(len(X)) % 2, 2, max_sites=n) for n in (1, 2))
    assert two["north"] == pytest.approx(2 * one["north"])


def test_what_sites_cannot_do_is_refused_before_anything_is_spent():
    account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "ward"}
    undeclared = dp.DPExplainableBoostingClassifier(schema=dp.Schema({}), **account)
    maps = dp.DPLocallyLinearClassifier(**account)
    for model, message in ((undeclared, "sites release no bounds or levels"), (maps, "DP-LLM")):
        with pytest.raises(ValueError, match=message):
            model.fit(X, SIGNS, site=one_place(2))
    assert account["ledger"].datasets() == []


def test_a_plan_shows_the_noise_of_sites():
    given = {"epsilon": [1.0], "delta": 1e-6, "rate": 0.4, "n_fits": 1}
    schema = dp.Schema(FEATURES, target=TWO)
    alone, together = (dp.plan(schema, 500, n_sites=n, **given) for n in (1, 2))
    assert "Noise of 2 sites: 1.41 times" in together.source
    ratio = together.fits[0].level_rows / alone.fits[0].level_rows
    assert ratio == pytest.approx(2**0.5, rel=1e-3)
    with pytest.raises(ValueError, match="n_colluding"):
        dp.plan(schema, 500, n_sites=2, n_colluding=2, **given)


def test_a_copy_of_a_journal_is_refused_once_its_fit_is_charged():
    account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "ward"}
    model = dp.DPExplainableBoostingClassifier(schema=dp.Schema(FEATURES, target=TWO), **account)
    site, spent = one_place(2), []
    site.token = "a" * 32
    for refuses in (False, True):
        with pytest.raises(SitesError, match="copy from before") if refuses else nullcontext():
            model.fit(X, SIGNS, site=site)
        spent.append(account["ledger"].spent("ward").mu)
    assert spent[0] == spent[1] > 0
    site.has_released = True
    assert model.fit(X, SIGNS, site=site).guarantee_.ledger_head
    assert account["ledger"].spent("ward").mu == spent[0]
