"""Masks hide, messages are checked, and the noise of all sites is what was stated."""

import contextlib
import json

import numpy as np
import pytest

import interpret_dp as dp
from interpret_dp.accounting.gaussian import log10_excess_of_sum, noise_share
from interpret_dp.datasets import make_cohort
from interpret_dp.exceptions import SitesError
from interpret_dp.mechanisms import SystemRandomness, use_randomness
from interpret_dp.mechanisms.additive import shared_gaussian_mechanism
from interpret_dp.sites import Coordinator, SigningKey, Site, masks, simulate
from interpret_dp.sites.masks import unpacked, words_of
from tests.sites.together import NAMES

TERMS = {"schema": "a", "plan": "b", "privacy unit": "one row"}
FACTS = {"release": "bins", "sensitivity": 1, "noise": 1024.0}
ZEROS = np.zeros(4_000, dtype=np.int64)


class Wire:
    """A transport of which the tests see, change or lose messages."""

    def __init__(self, coordinator):
        self.coordinator, self.sent, self.kind, self.losses = coordinator, [], "", 0

    def exchange(self, header, payload):
        self.sent.append((json.loads(json.dumps(header)), payload))
        if header["kind"] == self.kind:
            header, payload = self.change(dict(header), payload)
        reply = self.coordinator.exchange(header, payload)
        if self.losses:
            self.losses -= 1
            raise ConnectionError
        return reply


def together(act, n_sites=2, terms=None, begin=True):
    """Run ``act(site, wire)`` at each site; return results and wires by name."""
    wires = {}

    def of_site(site):
        wires[site.name] = site.transport = Wire(site.transport)
        if begin:
            site.open(TERMS | (terms or {}).get(site.name, {}))
        return act(site, wires[site.name])

    return simulate(NAMES[:n_sites], of_site, timeout=20), wires


def two_equal_rounds(site, wire):
    return [site.total(ZEROS - 5, FACTS) for _ in range(2)]


def looks_uniform(words):
    """Whether 64-bit numbers, and their share of bits, are those of uniform ones: level 1e-8."""
    bits = np.unpackbits(words.view(np.uint8)).mean() - 0.5
    places, n_words = np.sort(words / 2.0**64), len(words)
    distance = np.abs(places - (np.arange(n_words) + 0.5) / n_words).max()
    return bool(abs(bits) < 3 / np.sqrt(64 * n_words) and distance < 3.2 / np.sqrt(n_words))


@pytest.mark.parametrize("n_sites", [2, 3])
def test_masks_hide_and_cancel_and_no_two_rounds_have_the_same(n_sites):
    """The coordinator gets uniform numbers of each site, and learns their sum and public facts."""
    results, wires = together(two_equal_rounds, n_sites)
    for totals in results.values():
        assert all((total == ZEROS - 5 * n_sites).all() for total in totals)
    for wire in wires.values():
        first, second = (words_of(payload) for _, payload in wire.sent[1:3])
        assert looks_uniform(first)
        assert looks_uniform(second)
        assert looks_uniform(first - second)
        assert not set(first) & set(second)
        assert set(wire.sent[1][0]["facts"]) == {"release", "sensitivity", "noise", "shape"}
    assert not looks_uniform(SystemRandomness().noise(2.0**50, len(ZEROS)).view(np.uint64))


def test_control_a_mask_that_is_used_twice_is_found(monkeypatch):
    real = masks.mask
    monkeypatch.setattr(masks, "mask", lambda secret, pair, _, size: real(secret, pair, {}, size))
    _, wires = together(two_equal_rounds)
    first, second = (words_of(payload) for _, payload in wires["north"].sent[1:3])
    assert not looks_uniform(first - second)


def test_a_lost_answer_is_asked_for_by_the_very_same_bytes():
    def act(site, wire):
        wire.losses = 2 * (site.name == "north")
        first = site.total(ZEROS, FACTS)
        return first, site.total(ZEROS + 1, FACTS)

    results, wires = together(act)
    sent = wires["north"].sent
    assert sent[1] == sent[2] == sent[3] != sent[4]
    assert all(np.array_equal(second, ZEROS + 2) for _, second in results.values())


def test_a_round_has_one_mask_and_a_second_message_is_refused():
    def act(site, wire):
        if site.name == "north":
            wire.losses, site._patience = 1, 0
            with pytest.raises(SitesError, match="cannot be reached"):
                site.total(ZEROS, FACTS)
            with pytest.raises(SitesError, match="masks already"):
                site._secrets.masked(ZEROS, site._common("sum", FACTS))
        return site.total(ZEROS + 1, FACTS)

    results, wires = together(act)
    assert wires["north"].sent[1] == wires["north"].sent[2]
    assert all(np.array_equal(total, ZEROS + 1) for total in results.values())


CHANGES = {
    "unsigned": lambda header, payload: (header | {"signature": "00"}, payload),
    "altered payload": lambda header, payload: (header, bytes(8) + payload[8:]),
    "altered facts": lambda header, payload: (header | {"facts": {}}, payload),
    "altered round": lambda header, payload: (header | {"round": 7}, payload),
    "another's name": lambda header, payload: (header | {"site": "south"}, payload),
    "a stranger": lambda header, payload: (header | {"site": "east"}, payload),
    "no header": lambda header, payload: ({}, payload),
}


@pytest.mark.parametrize("kind", ["open", "sum"])
@pytest.mark.parametrize("change", CHANGES)
def test_messages_that_no_site_signed_are_refused(change, kind):
    def act(site, wire):
        if site.name == "north":
            wire.change, wire.kind = CHANGES[change], kind
        site.open(TERMS)
        return site.total(ZEROS, FACTS)

    with pytest.raises(SitesError, match="no site's key has signed it"):
        together(act, begin=False)


def test_an_answer_with_an_earlier_opening_of_a_site_is_refused():
    """Its key signed that one too, and the terms are the same."""

    def act(site, wire):
        def earlier(header, payload):
            reply, total = unpacked(real(header, payload))
            other = {key: header[key] for key in header if key != "signature"}
            reply["messages"]["north"] = site._key.signed(other | {"own": {"key": "0" * 64}}, b"")
            return masks.packed(reply, total)

        real = wire.exchange
        wire.exchange = earlier if site.name == "north" else real
        site.open(TERMS)

    with pytest.raises(SitesError, match="has another message of site 'north'"):
        together(act, begin=False)


def test_an_old_message_is_refused_and_so_is_a_second_one_of_a_round():
    def act(site, wire):
        site.total(ZEROS, FACTS)
        site.total(ZEROS, FACTS)
        return [unpacked(wire.coordinator.exchange(*wire.sent[k]))[0] for k in (0, 1, 2)]

    results, _ = together(act)
    for first, second, third in results.values():
        assert "sent a message of round 0; it is round 3" in first["stop"]
        assert "round 1" in second["stop"]
        assert third["round"] == 2  # the last one may have been lost
    key = SigningKey.generate()
    participants = {"north": key.public, "south": SigningKey.generate().public}
    coordinator = Coordinator(participants, timeout=0.01)
    for name in ("first", "second"):
        site = Site("north", key, participants, coordinator)
        with pytest.raises(SitesError, match=r"south|different message"):
            site.open({"plan": name})


@pytest.mark.parametrize("name", TERMS)
def test_other_terms_are_refused_by_name(name):
    with pytest.raises(SitesError, match=f"differ in '{name}'"):
        together(lambda site, wire: None, terms={"south": {name: "another"}})


def test_another_release_or_number_of_colluding_sites_is_refused():
    def act(site, wire):
        return site.total(ZEROS, FACTS | {"release": site.name})

    with pytest.raises(SitesError, match="differ in 'release'"):
        together(act)
    keys = {name: SigningKey.generate() for name in NAMES}
    public = {name: key.public for name, key in keys.items()}
    for wrong in (0, 3):
        with pytest.raises(ValueError, match="n_colluding"):
            Site("north", keys["north"], public, Coordinator(public), n_colluding=wrong)
    with pytest.raises(ValueError, match="two or more"):
        Site("north", keys["south"], public, Coordinator(public))


class Watched(SystemRandomness):
    def perturb(self, *arguments):
        raise AssertionError("a row was read")


def test_a_site_whose_ledger_refuses_stops_all_before_a_row_is_read(tmp_path):
    cohort, caught = make_cohort(100), {}
    ledgers = {name: dp.PrivacyLedger(f"sqlite:///{tmp_path}/{name}.db") for name in NAMES}
    for name, ledger in ledgers.items():
        ledger.create_budget("ward", epsilon=0.1 if name == "west" else 9.0, delta=1e-5)

    def fit(site):
        account = {"ledger": ledgers[site.name], "dataset": "ward", "delta": 1e-6}
        model = dp.DPExplainableBoostingClassifier(schema=cohort.schema, **account)
        try:
            with use_randomness(Watched()):
                model.fit(cohort.X, cohort.y, site=site)
        except (dp.BudgetExceededError, SitesError) as error:
            caught[site.name] = str(error)
            site.stop()

    simulate(NAMES, fit)
    assert "epsilon" in caught["west"]
    for name in ("north", "south"):
        assert "'west' does not go on" in caught[name]
        assert ledgers[name].spent("ward").mu == 0


def test_a_lost_site_stops_the_others_which_say_so_and_are_charged():
    cohort = make_cohort(300)
    ledgers = {name: dp.PrivacyLedger.in_memory() for name in NAMES[:2]}

    def fit(site):
        if site.name == "south":
            real = site.total

            def total(noisy, facts):
                if facts["release"] == "boosting":
                    raise KeyboardInterrupt
                return real(noisy, facts)

            site.total = total
        account = {"ledger": ledgers[site.name], "dataset": "ward"}
        with contextlib.suppress(KeyboardInterrupt):
            model = dp.DPExplainableBoostingClassifier(schema=cohort.schema, **account)
            return model.fit(cohort.X, cohort.y, site=site)

    with pytest.raises(SitesError, match=r"'south' does not go on.*charged in full"):
        simulate(NAMES[:2], fit)
    spent = {name: ledger.spent("ward").mu for name, ledger in ledgers.items()}
    assert spent["north"] == spent["south"] > 0


def noise_of_all(n_sites, n_colluding):
    """Return the noise of a release of zeros, and the scale that is planned for one place."""

    def of_site(site):
        site.open(TERMS)
        account = {"sensitivities": [2**20], "mu": 0.5, "n_shares": site.n_shares}
        draws = {"randomness": SystemRandomness(), "total": site.total}
        return shared_gaussian_mechanism("bins", [ZEROS], **account, **draws)[0][0]

    totals = simulate(NAMES[:n_sites], of_site, n_colluding=n_colluding, timeout=20)
    return totals["north"], 2.0**21


def has_scale(noise, sigma):
    """Whether the noise has the scale: level 1e-8, and power 1 - 1e-8 against 13 % of it."""
    return abs(noise.std() / sigma - 1) < 5.7 / np.sqrt(2 * len(noise))


@pytest.mark.parametrize(("n_sites", "n_colluding"), [(2, 1), (3, 1), (3, 2)])
def test_all_noise_together_has_the_stated_scale(n_sites, n_colluding):
    noise, sigma = noise_of_all(n_sites, n_colluding)
    assert has_scale(noise, sigma * np.sqrt(n_sites / (n_sites - n_colluding)))


@pytest.mark.parametrize("n_sites", [2, 3])
def test_who_knows_the_last_site_s_secrets_finds_the_noise_of_the_others_alone(n_sites):
    """Together it has the scale of one place; of two others each one's message stays uniform."""
    *honest, colluding = NAMES[:n_sites]
    secrets, sigma = {}, 2.0**21

    def act(site, wire):
        secrets.update(site._secrets._shared if site.name == colluding else {})
        share = noise_share(sigma, n_sites - 1)
        return site.total(SystemRandomness().noise(share, len(ZEROS)), FACTS)

    _, wires = together(act, n_sites)
    found = []
    for name in honest:
        header, payload = wires[name].sent[1]
        context = {key: header[key] for key in masks.COMMON}
        known = masks.mask(secrets[name], sorted((name, colluding)), context, len(ZEROS))
        found.append(words_of(payload) + (-known if name < colluding else known))
    assert has_scale(sum(found).view(np.int64), sigma)
    assert [looks_uniform(own) for own in found] == [n_sites > 2] * len(honest)


def late(name, exact, *, total, sensitivities, mu, n_shares, randomness):
    """Add masks first, and noise afterwards: a planted fault."""
    scale = noise_share(sensitivities[0] / mu, n_shares)
    return randomness.perturb(name, total(exact[0], {}), sensitivities[0], scale), scale


def lazy(name, exact, *, total, **given):
    """Add no noise: a planted fault."""
    return total(exact[0], {}), 0.0


@pytest.mark.parametrize("mechanism", [shared_gaussian_mechanism, late, lazy])
def test_noise_comes_before_the_masks_and_controls_are_found(mechanism):
    given = []
    account = {"sensitivities": [2**20], "mu": 0.5, "n_shares": 1}
    draws = {"randomness": SystemRandomness(), "total": lambda own, _: given.append(own) or own}
    mechanism("bins", [ZEROS], **account, **draws)
    assert has_scale(given[0], 2**21) == (mechanism is shared_gaussian_mechanism)


def test_shares_add_up_to_the_noise_of_one_place_and_the_excess_is_rounded_up():
    assert noise_share(3.0e6, 4) == 1.5e6
    assert noise_share(1.0, 4) == 2.0**10
    for sigma, n in ((1.0, 2), (1.0, 3), (1.5, 5)):
        exact = 10 * sum(np.exp(-2 * np.pi**2 * sigma**2 * k / (k + 1)) for k in range(1, n))
        assert log10_excess_of_sum(sigma, n) >= np.log10(exact)
    k = np.arange(-30, 31)
    one, wide = np.exp(-(k**2) / 2.0), np.exp(-(k**2) / 4.0)
    both = np.convolve(one / one.sum(), one / one.sum())[30:91]
    ratio = np.abs(np.log(both / (wide / wide.sum())))[20:41].max()
    assert 0 < ratio < 10 ** log10_excess_of_sum(1.0, 2)
    assert log10_excess_of_sum(2.0**10, 2) < -4e6
