"""Our sampler, step by step and without chance: every short string of bits, every decision.

What draws look like together is in test_vectorised_draws.py.
"""

from __future__ import annotations

import itertools
import os
import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.mechanisms import vectorised
from interpret_dp.mechanisms.vectorised import vectorised_discrete_gaussian

BYTES = np.arange(256, dtype=np.uint64)
sigmas = st.floats(2.0**-10, 2.0**56)


def no_more_words(count: int) -> Any:
    raise AssertionError("the decision needed more bits")


def exact_probability(sigma: float, magnitude: int, power: int) -> Any:
    """Return power * exp(-magnitude**2 / (2 sigma**2)) with 400 bits."""
    with mpmath.workprec(400):
        return power * mpmath.exp(-((mpmath.mpf(magnitude) / mpmath.mpf(sigma)) ** 2) / 2)


def times_power_of_two(value: Any, bits: int) -> int:
    """Return the integer part of value * 2**bits."""
    with mpmath.workprec(400):
        return int(mpmath.floor(mpmath.ldexp(value, bits)))


# Proposals


def test_uniform_integers_are_uniform_over_all_bytes() -> None:
    """Control: all 256 bytes modulo n, none left out, are biased unless n divides 256."""
    for n in range(1, 257):
        values, used = vectorised._uniform_below(n, BYTES, bits=8)
        counts = np.bincount(values[used], minlength=n)
        assert len(counts) == n
        assert set(counts) == {256 // n}
        is_biased = len(set(np.bincount(values, minlength=n))) > 1
        assert is_biased == (256 % n > 0)


@given(n=st.integers(1, 2**57))
def test_uniform_integers_from_long_words_stop_at_the_last_full_run(n: int) -> None:
    last = 2**64 - 2**64 % n - 1
    words = [0, n - 1, n, last - n + 1, last, min(last + 1, 2**64 - 1)]
    values, used = vectorised._uniform_below(n, np.array(words, dtype=np.uint64), bits=64)
    assert values.tolist() == [word % n for word in words]
    assert used.tolist() == [word <= last for word in words]


def test_block_numbers_are_geometric_over_all_bytes() -> None:
    """Of 256 bytes, 128 say k = 0, 64 say k = 1, ..., one says k = 7, and one says nothing."""
    blocks, powers = vectorised._geometric(BYTES)
    counts = Counter(blocks[powers > 0].tolist())
    assert counts == {k: 2 ** (7 - k) for k in range(8)}
    assert powers[powers > 0].tolist() == (2.0 ** blocks[powers > 0]).tolist()
    assert np.flatnonzero(powers == 0).tolist() == [0]


def weights_of_all_proposals(width: int, *, drop: bool) -> dict[int, float]:
    """Return, over all pairs of bytes, how often each integer is proposed, times 2**k."""
    places, coins = (grid.ravel() for grid in np.meshgrid(BYTES, BYTES))
    magnitude, negative, power, valid = vectorised._propose(width, places, coins, bits=8)
    weights: Counter[int] = Counter()
    for z, minus, weight, counts in zip(magnitude, negative, power, valid, strict=True):
        if counts or not drop:
            weights[-int(z) if minus else int(z)] += float(weight)
    return dict(weights)


@pytest.mark.parametrize("width", [1, 2, 11, 100, 255, 256])
def test_before_the_last_step_every_integer_has_the_same_weight(width: int) -> None:
    """The last step multiplies it with exp(-z^2 / (2 sigma^2)): the law is exact.

    Bytes of coins have a sign and seven bits for the block, so that they reach below 7 w.
    Control: with the proposals that are dropped, zero would count twice, its two signs.
    """
    weights = weights_of_all_proposals(width, drop=True)
    assert sorted(weights) == list(range(-7 * width + 1, 7 * width))
    assert set(weights.values()) == {64.0 * (256 // width)}
    careless = weights_of_all_proposals(width, drop=False)
    assert careless[0] > 1.9 * weights[0]


def test_coins_without_heads_make_no_proposal() -> None:
    coins = np.array([0, 1, 2, 3], dtype=np.uint64)
    *_, valid = vectorised._propose(11, np.full(4, 5, dtype=np.uint64), coins)
    assert valid.tolist() == [False, False, True, True]


def test_place_coins_and_uniform_of_a_proposal_are_words_of_their_own() -> None:
    """Changing one of them changes what it decides and nothing else."""

    def kept(place: int, coins: int, uniform: int) -> Any:
        words = np.array([place, coins, uniform], dtype=np.uint64)
        return vectorised._kept_proposals(10.0, 12, 1, lambda count: words[:count]).tolist()

    assert kept(5, 0b10, 0) == [5]
    assert kept(6, 0b10, 0) == [6]
    assert kept(5, 0b11, 0) == [-5]
    assert kept(5, 0b100, 0) == [17]
    assert kept(5, 0b10, 2**64 - 1) == []


def test_the_farthest_proposal_fits_into_64_bits() -> None:
    sigma = 2.0**56
    width = vectorised._block_width(sigma)
    last = np.array([width - 1], dtype=np.uint64)
    coins = np.array([2**63], dtype=np.uint64)
    magnitude, _, power, valid = vectorised._propose(width, last, coins)
    assert valid.all()
    assert magnitude.tolist() == [63 * width - 1]
    assert power.tolist() == [2.0**62]
    assert 63 * width < 2**63
    assert vectorised._probability(sigma, magnitude, power)[0] < 2.0**-1000


@given(sigma=sigmas)
def test_blocks_are_the_smallest_that_are_wide_enough(sigma: float) -> None:
    width = vectorised._block_width(sigma)
    assert width - 1 < Fraction(471, 400) * Fraction(sigma) <= width


def test_no_proposal_is_kept_with_a_probability_above_one() -> None:
    """exp(-w^2 / (2 sigma^2)) <= 1/2 for the narrowest block; control: 1.177 is too narrow.

    Then 2^k exp(-(k w)^2 / (2 sigma^2)) <= 2^(k - k^2) <= 1.
    """
    _, high = vectorised._exp_bounds(Fraction(471, 400) ** 2 / 2, 100)
    assert high <= 2**99
    low, _ = vectorised._exp_bounds(Fraction(1177, 1000) ** 2 / 2, 100)
    assert low > 2**99


# Bounds and decisions


def contains(exponent: Fraction, bits: int) -> bool:
    low, high = vectorised._exp_bounds(exponent, bits)
    with mpmath.workprec(bits + 100):
        value = mpmath.ldexp(
            mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator), bits
        )
        return bool(low <= value <= high)


@settings(max_examples=300, deadline=None)
@given(
    exponent=st.one_of(
        st.fractions(0, 12),
        st.fractions(0, 3000),
        st.builds(Fraction, st.integers(0, 2**124), st.just(2**113 - 1)),
    ),
    bits=st.integers(8, 300),
)
def test_bounds_of_exp_hold_and_are_close(exponent: Fraction, bits: int) -> None:
    assert contains(exponent, bits)
    low, high = vectorised._exp_bounds(exponent, bits)
    assert high - low < 2**20


def test_bounds_of_exp_at_zero_are_one() -> None:
    assert vectorised._exp_bounds(Fraction(0), 64) == (2**64, 2**64)


def test_control_bounds_that_round_down_throughout_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectorised, "_divide_up", lambda dividend, divisor: dividend // divisor)
    assert not all(contains(Fraction(n, 7), 64) for n in range(1, 50))


def random_proposals(count: int) -> Any:
    """Return scales and proposals: half of them near zero, the others in any block."""
    rng = np.random.default_rng(11)
    for i in range(count):
        sigma = float(2.0 ** rng.uniform(-2, 56))
        width = vectorised._block_width(sigma)
        block = int(rng.integers(0, 4) if i % 2 else rng.integers(0, 63))
        yield sigma, block * width + int(rng.integers(width)), 2**block


def probability(sigma: float, magnitude: int, power: int) -> float:
    found = vectorised._probability(
        sigma, np.array([magnitude], dtype=np.int64), np.array([float(power)])
    )
    return float(found[0])


def test_floating_point_is_far_better_than_the_proof_needs() -> None:
    """The proof needs 2^-41; 4,000 proposals stay below 2^-50."""
    errors = [
        abs(float(probability(*proposal) - exact_probability(*proposal)))
        for proposal in random_proposals(4_000)
    ]
    assert max(errors) < 2.0**-50


def test_exp_is_as_good_as_assumed() -> None:
    """Relative error below 2^-50 at 20,000 arguments; the proof assumes 2^-42."""
    arguments = -((np.arange(20_000) + 0.5) ** 2) * 1.7e-6
    values = np.exp(arguments)
    with mpmath.workprec(100):
        for argument, value in zip(arguments.tolist(), values.tolist(), strict=True):
            exact = mpmath.exp(mpmath.mpf(argument))
            assert abs(mpmath.mpf(value) / exact - 1) < 2.0**-50


NEAR = [0, 1, 2, 3, 5, 2**12, 2**13 - 9, 2**13 + 9, 2**14, 2**15, 2**16, 2**17, 2**30]


def wrong_decisions(cases: int = 150) -> int:
    """Compare decisions for uniforms close to the probability, on both sides, with exact ones.

    A uniform has 53 bits. The one that starts like the probability itself is left out: it needs
    more bits.
    """
    wrong = 0
    for sigma, magnitude, power in random_proposals(cases):
        threshold = times_power_of_two(exact_probability(sigma, magnitude, power), 53)
        uniforms = {threshold - near for near in NEAR[1:]} | {threshold + near for near in NEAR[1:]}
        prefix = np.array([u for u in sorted(uniforms) if 0 <= u < 2**53], dtype=np.uint64)
        decisions = vectorised._accept(
            sigma,
            np.full(len(prefix), magnitude),
            np.full(len(prefix), float(power)),
            prefix,
            no_more_words,
        )
        wrong += int(np.count_nonzero(decisions != (prefix < np.uint64(threshold))))
    return wrong


def test_uniforms_close_to_the_probability_are_decided_rightly() -> None:
    assert wrong_decisions() == 0


@pytest.mark.parametrize("error", [2.0**-38, -(2.0**-38)])
def test_control_a_wrong_exp_is_caught(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of 2^-38 is above what the margin allows, by a factor of eight."""
    right = vectorised._probability
    monkeypatch.setattr(vectorised, "_probability", lambda *args: right(*args) * (1 + error))
    assert wrong_decisions() > 0


def test_control_a_margin_below_the_rounding_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorised, "_MARGIN", 2.0**-60)
    assert wrong_decisions() > 0


def test_only_uniforms_within_the_margin_are_decided_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the uniforms near a probability of about a half, those within 2^13 units of 2^-53."""
    asked = []
    monkeypatch.setattr(
        vectorised, "_accept_exactly", lambda *args: asked.append(args[3]) or args[3] < 2**52
    )
    sigma, magnitude = 1000.0, 1177
    threshold = times_power_of_two(exact_probability(sigma, magnitude, 1), 53)
    prefix = np.array([threshold + sign * near for near in NEAR for sign in (-1, 1)])
    vectorised._accept(
        sigma,
        np.full(len(prefix), magnitude),
        np.ones(len(prefix)),
        prefix.astype(np.uint64),
        no_more_words,
    )
    assert {abs(u - threshold) for u in asked} == {near for near in NEAR if near < 2**13}


@pytest.mark.parametrize(
    ("sigma", "magnitude", "power"),
    [(1.0, 1, 1), (3.3, 4, 2), (2.0**20, 10**6, 1), (0.7, 4, 16), (2.0**56, 2**57 + 1, 2)],
)
def test_exact_decisions_over_all_strings_of_ten_bits(
    sigma: float, magnitude: int, power: int
) -> None:
    """Exactly floor(1024 p) of the 1,024 strings accept, one needs more, the others reject.

    That one reads a word, and its decision changes at the right word of 2^64; the very word where
    it changes reads another one, and so on.
    """
    p = exact_probability(sigma, magnitude, power)
    threshold = times_power_of_two(p, 10)
    for prefix in set(range(1024)) - {threshold}:
        accepted = vectorised._accept_exactly(
            sigma, magnitude, power, prefix, no_more_words, bits=10
        )
        assert accepted == (prefix < threshold)
    words = [times_power_of_two(p, 10 + 64 * n) % 2**64 for n in (1, 2, 3)]
    for depth, change in itertools.product(range(3), (-1, 1)):
        last = words[depth] + change
        assert 0 <= last < 2**64
        script = iter([*words[:depth], last])
        accepted = vectorised._accept_exactly(
            sigma,
            magnitude,
            power,
            threshold,
            lambda count, script=script: np.array([next(script)], dtype=np.uint64),
            bits=10,
        )
        assert accepted == (change < 0)
        assert next(script, None) is None


def test_zero_is_always_kept() -> None:
    """Its probability is 1, and a uniform is below 1 whatever its first bits are."""
    prefix = np.array([0, 2**52, 2**53 - 1], dtype=np.uint64)
    accepted = vectorised._accept(
        5.0, np.zeros(3, dtype=np.int64), np.ones(3), prefix, no_more_words
    )
    assert accepted.all()


def words_from(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda count: rng.integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.0**10, 165_241_405.99904764, 2.0**56])
def test_deciding_everything_exactly_gives_the_same_draws(
    sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bits, once with floating point and once with integers alone, draw by draw."""
    quick = vectorised._draw(sigma, 2_000, words_from(5))
    exact_decisions = []
    right = vectorised._accept_exactly

    def counted(*args: Any) -> bool:
        exact_decisions.append(args)
        return right(*args)

    monkeypatch.setattr(vectorised, "_MARGIN", 1.5)
    monkeypatch.setattr(vectorised, "_accept_exactly", counted)
    assert np.array_equal(vectorised._draw(sigma, 2_000, words_from(5)), quick)
    assert len(exact_decisions) > 2_000


# Words, memory and limits


def test_every_bit_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def urandom(count: int) -> bytes:
        given.append(np.random.default_rng(len(given)).bytes(count))
        return given[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    draws = vectorised_discrete_gaussian(2.0**20, 1_000)
    words = np.frombuffer(b"".join(given), dtype=np.uint64)
    places = iter(words)
    replayed = vectorised._draw(
        2.0**20, 1_000, lambda count: np.array(list(itertools.islice(places, count)))
    )
    assert np.array_equal(draws, replayed)
    assert next(places, None) is None


def test_long_vectors_are_drawn_a_batch_at_a_time_from_new_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Level below 1e-12: draws of this scale coincide with a probability below 1e-16 a pair."""
    monkeypatch.setattr(vectorised, "_BATCH", 64)
    asked = []

    def source(count: int) -> Any:
        asked.append(count)
        return vectorised._system_words(count)

    draws = vectorised._draw(2.0**56, 3_000, source)
    assert max(asked) == 3 * 64
    assert len(asked) > 60
    assert len(set(draws.tolist())) == 3_000


def test_a_call_holds_its_result_and_a_few_megabytes() -> None:
    vectorised_discrete_gaussian(2.0**20, 10)
    tracemalloc.start()
    try:
        draws = vectorised_discrete_gaussian(2.0**20, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - draws.nbytes < 6 * 2**20


@pytest.mark.parametrize("size", [0, 1, 7, 100_003])
def test_exactly_as_many_draws_as_asked_for(size: int) -> None:
    draws = vectorised_discrete_gaussian(2.0**20, size)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("sigma", [0.0, -1024.0, 2.0**-11, 2.0**57, 1e19, float("inf"), np.nan])
def test_scales_that_nothing_is_proved_for_are_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match=r"sigma is .* must be a finite number at least"):
        vectorised_discrete_gaussian(sigma, 5)


def test_types_and_sizes_are_checked() -> None:
    with pytest.raises(TypeError, match="sigma is '1'"):
        vectorised_discrete_gaussian("1", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"size is 5\.0"):
        vectorised_discrete_gaussian(2.0**10, 5.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="size is -1"):
        vectorised_discrete_gaussian(2.0**10, -1)
