"""Rows as bytes, and products of bytes: exact, and of each row alone."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.llm import integers
from interpret_dp.llm.integers import byte_product, joined, rounded_rows, split


def drawn(n_rows, scale, seed=0):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=(n_rows, 11)) * scale, dtype=torch.float32)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 50.0, 3e3])
def test_rows_are_rounded_to_their_own_unit(scale):
    inputs = drawn(2_000, scale)
    rows = rounded_rows(inputs)
    largest = inputs.abs().amax(dim=1).clamp(min=1.0).to(torch.float64)
    found = rows.inputs(torch.arange(2_000))
    assert (found - inputs).abs().max(dim=1).values.le(0.5001 * rows.steps).all()
    # The unit is a little more than the largest entry's 127th, where bias units are few.
    assert (rows.steps >= 0.9999 * largest / 127).all()
    assert (rows.steps <= largest / 127 / (1 - largest / 127 / 2**7) * 1.000001).all()


def test_entries_beyond_the_largest_are_cut():
    inputs = torch.tensor([[1.0, 20_000.0, -3e38], [2.0, 10_000.0, 0.0]])
    found = rounded_rows(inputs).inputs(torch.arange(2))
    assert found[0].tolist() == [0.0, 127 * 2.0**7, -127 * 2.0**7]
    assert found[1].tolist() == [0.0, 78 * 2.0**7, 0.0]


@pytest.mark.parametrize("n_rows", [1, 7, 1_023, 2_049])
def test_a_row_is_the_same_bytes_in_any_company(n_rows):
    inputs = drawn(n_rows, 1.0) * 10 ** torch.linspace(-5, 5, n_rows)[:, None]
    together, order = rounded_rows(inputs), torch.randperm(n_rows)
    shuffled = rounded_rows(inputs[order])
    assert torch.equal(shuffled.columns, together.columns[order])
    assert torch.equal(shuffled.steps, together.steps[order])


@given(
    wholes=st.lists(st.integers(-(127 * 2**16), 127 * 2**16), min_size=1),
    n_limbs=st.sampled_from([3, 4]),
)
def test_limbs_join_to_what_was_split(wholes, n_limbs):
    given_ = torch.tensor(wholes, dtype=torch.int32)
    limbs = split(given_, n_limbs)
    assert limbs.dtype == torch.int8
    assert joined(limbs).tolist() == wholes


@given(
    seed=st.integers(0, 2**32 - 1),
    inner=st.sampled_from([1, 2, 16, 100, 1024, 1025, 5000]),
    is_extreme=st.booleans(),
)
@settings(max_examples=30)
@pytest.mark.parametrize("has_whole", [True, False])
def test_products_of_bytes_are_exact(seed, inner, is_extreme, has_whole):
    rng = np.random.default_rng(seed)
    low = 127 if is_extreme else -128

    def matrix(*shape):
        signs = rng.choice([-1, 1], size=(1, shape[1]) if is_extreme else shape)
        return torch.tensor(rng.integers(low, 128, size=shape) * signs).clamp(-128, 127)

    one, other = matrix(6, inner), matrix(5, inner).T
    with pytest.MonkeyPatch.context() as patch:
        if not has_whole:
            patch.setattr(integers, "_multiplies_bytes", lambda *_: False)
        found = byte_product(one.to(torch.int8), other.to(torch.int8))
    assert found.dtype == torch.int32
    assert torch.equal(found.to(torch.int64), one @ other)


@pytest.mark.parametrize("failing", ["saturates", "leaves unset", "no VNNI"])
def test_products_that_are_not_exact_are_not_used(failing, monkeypatch):
    """Without VNNI pairs were added up in 16 bits; some strides were refused without a word."""
    true_product = torch._int_mm

    def wrong(one, other):
        if failing == "saturates":
            # 127 * 255 * 2 is beyond 16 bits
            return true_product(one, other).clamp(max=127 * 127 * one.shape[1] - 1)
        return torch.zeros(len(one), other.shape[1], dtype=torch.int32)

    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: failing != "no VNNI")
    monkeypatch.setattr(torch, "_int_mm", wrong)
    integers._multiplies_bytes.cache_clear()
    one = torch.full((8, 64), 127, dtype=torch.int8)
    try:
        assert byte_product(one, one.T.contiguous()).unique().tolist() == [127 * 127 * 64]
        assert not integers._multiplies_bytes(8, 64, 64, 8, 8, 1)
    finally:
        integers._multiplies_bytes.cache_clear()
