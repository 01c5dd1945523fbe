"""The sampler, step by step and without chance: every short string of bits, every decision.

What draws look like together is in test_vectorised_draws.py.
"""

import dataclasses
import itertools
import json
import ssl
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp.mechanisms import vectorised
from interpret_dp.mechanisms.proposals import _LAYER, LOW_BITS, propose
from interpret_dp.mechanisms.vectorised import N_LAYERS, Layers, discrete_gaussian, layers_of
from tests.memory import peak_of
from tests.processes import output_of

sigmas = st.floats(2.0**-10, 2.0**56)


def no_more_words(count):
    raise AssertionError("the decision needed more bits")


def times_power_of_two(value, bits):
    """Return the integer part of value * 2**bits."""
    with mpmath.workprec(400):
        return int(mpmath.floor(mpmath.ldexp(value, bits)))


# Layers and proposals


def exact_curve(sigma, magnitude):
    """Return exp(-magnitude**2 / (2 sigma**2)) with 400 bits."""
    with mpmath.workprec(400):
        return mpmath.exp(-((mpmath.mpf(magnitude) / mpmath.mpf(sigma)) ** 2) / 2)


def as_mpf(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator


@given(sigma=sigmas)
@settings(max_examples=60, deadline=None)
def test_layers_cover_the_curve(sigma):
    """Layers hold every point below the curve, and their inner steps hold no other.

    Their floats are close to what they stand for.
    """
    layers = layers_of(sigma)
    widths = layers.widths.tolist()
    # As many as a word can name, so that each is drawn as often.
    assert len(widths) == N_LAYERS == int(_LAYER) + 1
    assert min(widths) >= 1
    assert max(widths) < 2**19
    assert widths[0] * 2**layers.shift >= 64 * Fraction(sigma)
    assert layers.exact[0][0] == 0
    assert sum(layers.exact[-1]) >= 1
    for number, (bottom, height) in enumerate(layers.exact):
        assert abs(Fraction(float(layers.bottoms[number])) - bottom) <= Fraction(1, 2**44)
        assert abs(Fraction(float(layers.heights[number])) - height) <= Fraction(1, 2**44)
        inner, width = int(layers.inner[number]), widths[number]
        assert inner <= width
        with mpmath.workprec(400):
            # From where a layer ends on, the curve is below its bottom.
            if number:
                assert exact_curve(sigma, width << layers.shift) <= as_mpf(bottom)
            if inner:
                last = (inner << layers.shift) - 1
                assert exact_curve(sigma, last) >= as_mpf(bottom + height)


@pytest.mark.parametrize("sigma", [2.0**10, 3e6, 2.0**33 * 1.7, 2.0**56])
def test_most_points_are_kept_unseen(sigma):
    """A figure of speed: 97 % lie below the curve surely, and 98 % of all are kept."""
    layers = layers_of(sigma)
    assert np.mean(layers.inner / layers.widths) > 0.97
    scale = sigma / 2.0**layers.shift
    assert np.sqrt(np.pi / 2) * scale / (layers.area * N_LAYERS) > 0.98


def law_of(layers, magnitude):
    """Return, but for a factor, the probability that a proposal is this one and kept.

    Of 2^32 words floor(2^32 / width) say one step of a layer:
    test_steps_are_uniform_over_all_numbers_of_32_bits.
    """
    total = mpmath.mpf(0)
    curve = exact_curve(layers.sigma, magnitude)
    for (bottom, height), width in zip(layers.exact, layers.widths.tolist(), strict=True):
        if magnitude < width << layers.shift:
            share = (curve - as_mpf(bottom)) / as_mpf(height)
            total += min(max(share, mpmath.mpf(0)), mpmath.mpf(1)) * (2**32 // width)
    return total


@pytest.mark.parametrize("sigma", [2.0**-10, 0.3, 1.0, 17.9, 1000.0, 2.0**14 + 0.5, 2.0**56])
def test_the_law_is_the_curve(sigma):
    """Added up over all layers, in 400 bits: what is kept of each integer is as the curve.

    Controls: without the highest layers the top of the curve is cut off; with heights as if each
    word said a step, wide layers have too few points.
    """
    layers = layers_of(sigma)
    rng = np.random.default_rng(5)
    places = {0, 1, 2, int(sigma)} | {int(sigma * f) for f in rng.uniform(0, 10, 40)}
    places |= {
        (width << layers.shift) + d for width in layers.widths.tolist()[::17] for d in (-1, 0)
    }
    with mpmath.workprec(400):
        whole = law_of(layers, 0)
        for place in places:
            if place >= int(layers.widths[0]) << layers.shift:
                continue
            expected = exact_curve(sigma, place)
            assert abs(law_of(layers, place) / whole - expected) < mpmath.mpf(2) ** -300
    widths = layers.widths[:-40]
    lower = Layers(sigma, layers.shift, layers.area, widths, *([layers.inner] * 3))
    careless = dataclasses.replace(layers)
    heights = [Fraction(layers.area) / width for width in layers.widths.tolist()]
    bottoms = itertools.accumulate(heights, initial=Fraction(0))
    careless.__dict__["exact"] = list(zip(bottoms, heights, strict=False))
    with mpmath.workprec(400):
        assert law_of(lower, 0) < 0.99 * whole
        if sigma >= 0.3:
            far = int(layers.widths[1]) << layers.shift
            expected = exact_curve(sigma, far) * law_of(careless, 0)
            assert abs(law_of(careless, far) - expected) > mpmath.mpf(2) ** -40 * expected


@pytest.mark.parametrize("width", [1, 2, 3, 1000, 2**12 - 1, 2**18, 2**18 + 77, 2**19 - 1])
def test_steps_are_uniform_over_all_numbers_of_32_bits(width):
    """Of 2^32 numbers each step has as many, floor(2^32 / width), and the others make no point.

    The numbers that say a step are consecutive, so that the first two and the last are tried: only
    the first may make no point.
    """
    layers = dataclasses.replace(layers_of(1.0), widths=np.full(N_LAYERS, width, dtype=np.uint64))
    for step in {0, 1, width // 2, width - 1} & set(range(width)):
        first, end = -(-(step << 32) // width), -(-((step + 1) << 32) // width)
        words = np.array([n << 32 for n in (first, first + 1, end - 1)], dtype=np.uint64)
        said = propose(words, words[:0], layers.shift, layers.widths, layers.inner)[0]
        assert set(said.tolist()) == {step}
        assert end - first - (3 - len(said)) == 2**32 // width


def odds_of(layers, magnitude):
    """Return, but for a factor, the probability that a proposal is this one and kept.

    In whole numbers, from what the code does with each of 2^32 words for a step, and with each of
    2^53 heights: the number of heights that are kept is found by bisection, in all layers at once.
    """
    widths = layers.widths.astype(np.int64)
    layer = np.flatnonzero(magnitude < widths)
    kept = np.zeros(len(layer), dtype=np.uint64)
    for bit in reversed(range(53)):
        tried = kept + np.uint64(2**bit)
        below = vectorised._is_below(
            layers, np.full(len(layer), magnitude), layer, tried - np.uint64(1), words_from(0)
        )
        kept = np.where(below, tried, kept)
    # The points of inner steps are kept whatever their height; all ones stand for all of 2^53.
    kept[magnitude < layers.inner[layer]] = 2**53
    words = [2**32 // int(width) for width in widths[layer]]
    return Fraction(sum(n * int(k) for n, k in zip(words, kept, strict=True)))


@pytest.mark.parametrize("sigma", [0.3, 0.7, 1.0, 3.3, 17.9])
def test_the_law_of_the_code_is_the_curve_at_every_integer(sigma):
    """Every word and every height counted, against bounds of exp in integers.

    A layer's height is known to 53 bits, so that a probability is right to about 2^-52.
    """
    layers = layers_of(sigma)
    whole = odds_of(layers, 0)
    for magnitude in range(1, min(int(layers.widths[0]), int(8 * sigma) + 4)):
        low, high = vectorised._exp_bounds(Fraction(magnitude**2) / (2 * Fraction(sigma) ** 2), 64)
        odds = odds_of(layers, magnitude) / whole
        assert Fraction(low, 2**64) - Fraction(1, 2**50) <= odds
        assert odds <= Fraction(high, 2**64) + Fraction(1, 2**50)


def test_points_are_what_words_say():
    """20,000 words at narrow and at wide scales, one by one, with words for low bits or without.

    Also the first word of each layer, which makes no point if its width does not divide 2^32.
    """
    rng = np.random.default_rng(2)
    for sigma in (0.7, 1000.0, 2.0**34 * 1.9, 2.0**35, 2.0**56):
        layers = layers_of(sigma)
        words, low = rng.integers(0, 2**64, (2, 20_000), dtype=np.uint64)
        words[:N_LAYERS] = np.arange(N_LAYERS)
        is_wide = layers.shift > LOW_BITS
        assert is_wide == (sigma >= 2.0**35)
        expected, expected_open = [], []
        for word, more in zip(words.tolist(), low.tolist(), strict=True):
            layer = word & 255
            width = int(layers.widths[layer])
            product = (word >> 32) * width
            if product % 2**32 < 2**32 % width:
                continue
            bits = more if is_wide else word >> 9
            step = product >> 32
            magnitude = (step << layers.shift) + bits % 2**layers.shift
            if magnitude or not word & 256:
                if step >= int(layers.inner[layer]):
                    expected_open.append((len(expected), layer))
                expected.append(-magnitude if word & 256 else magnitude)
        found, *open_ones = propose(
            words, low if is_wide else low[:0], layers.shift, layers.widths, layers.inner
        )
        assert found.tolist() == expected
        assert list(zip(*(part.tolist() for part in open_ones), strict=True)) == expected_open


def words_of(layer, step, width, *, negative=False):
    """Return the first word that says this."""
    first = -(-(step << 32) // width)
    while (first * width) % 2**32 < 2**32 % width:
        first += 1
    assert first * width >> 32 == step
    return first << 32 | int(negative) << 8 | layer


def test_place_low_bits_and_height_of_a_proposal_are_words_of_their_own():
    layers = layers_of(2.0**56)
    width = int(layers.widths[200])
    step = int(layers.inner[200])

    def kept(word, low, height):
        given = iter([word, low, height])
        return vectorised._kept_proposals(
            layers, 1, lambda count: np.array([next(given) for _ in range(count)], dtype=np.uint64)
        ).tolist()

    place = (step << layers.shift) + 12345
    assert kept(words_of(200, step, width), 12345, 0) == [place]
    assert kept(words_of(200, step, width, negative=True), 12345, 0) == [-place]
    assert kept(words_of(200, step, width), 12346, 0) == [place + 1]
    assert kept(words_of(200, width - 1, width), 0, 2**64 - 1) == []


def test_the_farthest_proposal_fits_into_64_bits():
    layers = layers_of(2.0**56)
    assert int(layers.widths[0]) << layers.shift < 2**63
    layers = layers_of(float(np.nextafter(2.0**56, 0)))
    assert int(layers.widths[0]) << layers.shift < 2**63


# Bounds and decisions


def contains(exponent, bits):
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
def test_bounds_of_exp_hold_and_are_close(exponent, bits):
    assert contains(exponent, bits)
    low, high = vectorised._exp_bounds(exponent, bits)
    assert high - low < 2**20


def test_control_bounds_that_round_down_throughout_are_caught(monkeypatch):
    monkeypatch.setattr(vectorised, "_divide_up", lambda dividend, divisor: dividend // divisor)
    assert not all(contains(Fraction(n, 7), 64) for n in range(1, 50))


def random_points(count):
    """Return scales, layers, and magnitudes in them where the curve may cross the layer."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        layers = layers_of(float(2.0 ** rng.integers(-2, 57) * rng.choice([1.0, 0.7, 0.9])))
        layer = int(rng.integers(N_LAYERS))
        low, high = int(layers.inner[layer]), int(layers.widths[layer])
        place = int(rng.integers(low << layers.shift, high << layers.shift))
        yield layers, layer, place


def curve(sigma, magnitude):
    return float(vectorised._curve(sigma, np.array([magnitude], dtype=np.int64))[0])


@pytest.mark.thorough
def test_floating_point_is_far_better_than_the_proof_needs():
    """The proof needs 2^-41; 400 points stay below 2^-50."""
    errors = [
        abs(float(curve(layers.sigma, place) - exact_curve(layers.sigma, place)))
        for layers, _, place in random_points(400)
    ]
    assert max(errors) < 2.0**-50


def test_exp_is_as_good_as_assumed():
    """Relative error below 2^-50 at 20,000 arguments; the proof assumes 2^-42."""
    arguments = -((np.arange(20_000) + 0.5) ** 2) * 1.7e-6
    values = np.exp(arguments)
    with mpmath.workprec(100):
        for argument, value in zip(arguments.tolist(), values.tolist(), strict=True):
            exact = mpmath.exp(mpmath.mpf(argument))
            assert abs(mpmath.mpf(value) / exact - 1) < 2.0**-50


NEAR = [0, 1, 2, 3, 5, 2**12, 2**13 - 9, 2**13 + 9, 2**14, 2**15, 2**16, 2**17, 2**30]


def share_below(layers, layer, place):
    """Return which share of a layer's height lies below the curve, with 400 bits; any number."""
    bottom, height = layers.exact[layer]
    with mpmath.workprec(400):
        return (exact_curve(layers.sigma, place) - as_mpf(bottom)) / as_mpf(height)


def wrong_decisions():
    """Compare decisions for heights close to the curve, on both sides, with exact ones, 150 times.

    A uniform has 53 bits. The one that starts like the share itself is left out: it needs more
    bits.
    """
    for layers, layer, place in random_points(150):
        threshold = times_power_of_two(share_below(layers, layer, place), 53)
        uniforms = {threshold - near for near in NEAR[1:]} | {threshold + near for near in NEAR[1:]}
        uniforms |= {0, 2**53 - 1} - {threshold}
        prefix = np.array([u for u in sorted(uniforms) if 0 <= u < 2**53], dtype=np.uint64)
        decisions = vectorised._is_below(
            layers, np.full(len(prefix), place), np.full(len(prefix), layer), prefix, no_more_words
        )
        yield bool((decisions != (prefix.astype(object) < threshold)).any())


def test_heights_close_to_the_curve_are_decided_rightly():
    assert not any(wrong_decisions())


@pytest.mark.parametrize("error", [2.0**-36, -(2.0**-36)])
def test_control_a_wrong_exp_is_caught(error, monkeypatch):
    """An error of 2^-36 is above what the margin allows, by a factor of thirty."""
    right = vectorised._curve
    monkeypatch.setattr(vectorised, "_curve", lambda *args: right(*args) * (1 + error))
    assert any(wrong_decisions())


def test_control_a_margin_below_the_rounding_is_caught(monkeypatch):
    monkeypatch.setattr(vectorised, "_MARGIN", 2.0**-70)
    assert any(wrong_decisions())


def test_only_heights_within_the_margin_are_decided_exactly(monkeypatch):
    """A layer of height h: those within 2^-40 / h of its height."""
    asked = []
    monkeypatch.setattr(
        vectorised, "_is_below_exactly", lambda *args: asked.append(args[3]) or False
    )
    layers, layer, place = next(
        point for point in random_points(1_000) if 0.2 < share_below(*point) < 0.8
    )
    threshold = times_power_of_two(share_below(layers, layer, place), 53)
    reach = int(2.0**13 / layers.heights[layer])
    near = {0, 1, reach // 2, reach - 9_999, reach + 9_999, 2 * reach}
    prefix = np.array([threshold + sign * step for step in near for sign in (-1, 1)])
    vectorised._is_below(
        layers,
        np.full(len(prefix), place),
        np.full(len(prefix), layer),
        prefix.astype(np.uint64),
        no_more_words,
    )
    assert {abs(u - threshold) for u in asked} == {step for step in near if step < reach}


DECISIONS = [
    (1.0, 3, 2),
    (3.3, 20, 6),
    (2.0**20, 150, 1_100_000),
    (0.7, 0, 1),
    (2.0**56, 60, 2**57),
]


@pytest.mark.parametrize(("sigma", "layer", "place"), DECISIONS)
def test_exact_decisions_over_all_strings_of_ten_bits(sigma, layer, place):
    """Of the 1,024 strings as many are below as the share says, one needs more, the rest are not.

    That one reads a word, and its decision changes at the right word of 2^64; the very word where
    it changes reads another one, and so on.
    """
    layers = layers_of(sigma)
    # A layer of our own, whose height the curve crosses, with bounds that are no short numbers.
    exponent = Fraction(place) ** 2 / (2 * Fraction(sigma) ** 2)
    _, height = layers.exact[layer]
    bottom = Fraction(float(exact_curve(sigma, place))) - height * Fraction(layer + 1, 300)
    with mpmath.workprec(400):
        p = (exact_curve(sigma, place) - as_mpf(bottom)) / as_mpf(height)
    threshold = times_power_of_two(p, 10)
    assert 0 < threshold < 1023
    for prefix in set(range(1024)) - {threshold}:
        below = vectorised._is_below_exactly(
            exponent, bottom, height, prefix, no_more_words, bits=10
        )
        assert below == (prefix < threshold)
    words = [times_power_of_two(p, 10 + 64 * n) % 2**64 for n in (1, 2, 3)]
    for depth, change in itertools.product(range(3), (-1, 1)):
        last = words[depth] + change
        assert 0 <= last < 2**64
        script = iter([*words[:depth], last])
        below = vectorised._is_below_exactly(
            exponent,
            bottom,
            height,
            threshold,
            lambda count, script=script: np.array([next(script)], dtype=np.uint64),
            bits=10,
        )
        assert below == (change < 0)
        assert next(script, None) is None


def words_from(seed):
    rng = np.random.default_rng(seed)
    return lambda count: rng.integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.0**10, 165_241_405.99904764, 2.0**56])
def test_deciding_everything_exactly_gives_the_same_draws(sigma, monkeypatch):
    """The same bits, once with floating point and once with integers alone, draw by draw."""
    layers = layers_of(sigma)
    quick = vectorised._draw(layers, 2_000, words_from(5))
    exact_decisions = []
    right = vectorised._is_below_exactly

    def counted(*args):
        exact_decisions.append(args)
        return right(*args)

    monkeypatch.setattr(vectorised, "_MARGIN", 3.0)
    monkeypatch.setattr(vectorised, "_is_below_exactly", counted)
    assert np.array_equal(vectorised._draw(layers, 2_000, words_from(5)), quick)
    assert len(exact_decisions) > 10


# Words, memory and limits


def test_every_bit_comes_from_openssl(monkeypatch):
    given = []

    def random_bytes(count):
        given.append(np.random.default_rng(len(given)).bytes(count))
        return given[-1]

    monkeypatch.setattr(ssl, "RAND_bytes", random_bytes)
    draws = discrete_gaussian(2.0**20, 1_000)
    words = np.frombuffer(b"".join(given), dtype=np.uint64)
    places = iter(words)
    replayed = vectorised._draw(
        layers_of(2.0**20),
        1_000,
        lambda count: np.array(list(itertools.islice(places, count)), dtype=np.uint64),
    )
    assert np.array_equal(draws, replayed)
    assert next(places, None) is None


def test_long_vectors_are_drawn_a_batch_at_a_time_from_new_words(monkeypatch):
    """Level below 1e-12: draws of this scale coincide with a probability below 1e-16 a pair."""
    monkeypatch.setattr(vectorised, "_BATCH", 64)
    asked = []

    def source(count):
        asked.append(count)
        return vectorised._system_words(count)

    draws = vectorised._draw(layers_of(2.0**56), 3_000, source)
    assert max(asked) == 64
    assert len(asked) > 3 * 45
    assert len(set(draws.tolist())) == 3_000


def test_a_call_holds_its_result_and_a_few_megabytes():
    discrete_gaussian(2.0**20, 10)
    draws, peak = peak_of(lambda: discrete_gaussian(2.0**20, 1_000_000))
    assert peak - draws.nbytes < 6 * 2**20


@pytest.mark.parametrize("sigma", [0.0, -1024.0, 2.0**-11, 2.0**57, 1e19, float("inf"), np.nan])
def test_scales_that_nothing_is_proved_for_are_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma is .* must be a finite number at least"):
        discrete_gaussian(sigma, 5)


def test_calls_and_forked_processes_draw_different_noise():
    """A generator that is copied by a fork would give both processes the same noise."""
    script = """
import json, os
from interpret_dp.mechanisms import SystemRandomness
randomness = SystemRandomness()
def some():
    return randomness.noise(2.0**50, 20).tolist()
draws = [some() for _ in range(2)]
for _ in range(2):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.write(theirs, json.dumps(some()).encode())
        os._exit(0)
    os.wait()
    draws.append(json.loads(os.read(ours, 10_000)))
draws.append(some())
print(json.dumps(draws))
"""
    if sys.platform == "win32":
        pytest.skip("there is no fork on Windows")
    draws = json.loads(output_of("-c", script))
    assert len(draws) == 5
    # Two draws of this scale coincide with a probability below 1e-15.
    assert len({value for values in draws for value in values}) == 100


def test_types_and_sizes_are_checked():
    draws = discrete_gaussian(2.0**10, 0)
    assert (draws.shape, draws.dtype) == ((0,), np.int64)
    with pytest.raises(TypeError, match="sigma is '1'"):
        discrete_gaussian("1", 5)
    with pytest.raises(TypeError, match=r"size is 5\.0"):
        discrete_gaussian(2.0**10, 5.0)
    with pytest.raises(ValueError, match="size is -1"):
        discrete_gaussian(2.0**10, -1)
