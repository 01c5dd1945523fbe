"""Private rows as bytes: what a row is rounded to before training, by itself alone.

A row (x, 1) becomes t (u, v / 2**7): u are integers up to 127, v is one up to 127 * 2**7, and the
step is t = 2**7 / v, so that the input of the bias is exactly 1. Products of such integers with
others as small are exact in every order of summation (``integers``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from interpret_dp.llm.config import GRID_BITS
from interpret_dp.llm.integers import LARGEST_BYTE

__all__ = ["BIAS_COLUMNS", "RoundedRows", "TrainingRows", "joined_bias", "rounded_rows"]

BIAS_COLUMNS = 2
"""Columns that hold the bias's input, GRID_BITS each, high ones first."""

# Matrix products are fastest where rows begin at multiples of so many bytes.
_ALIGNED = 16
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows on the device. Private, and so left out of the representation.

    Attributes
    ----------
    inputs : Tensor of float32, shape (n_rows, n_inputs)
    classes : Tensor of int64, shape (n_rows,)
        -1 for a label that is missing or undeclared: the row adds nothing.
    """

    inputs: torch.Tensor = field(repr=False)
    classes: torch.Tensor = field(repr=False)


@dataclass(frozen=True)
class RoundedRows:
    """Rows as bytes. Private.

    Attributes
    ----------
    columns : Tensor of int8, shape (n_rows, width)
        Integers of the inputs, then ``BIAS_COLUMNS`` of the bias; zeros fill up the width.
    steps : Tensor of float32, shape (n_rows,)
        What one unit of the inputs' integers is.
    n_inputs : int
    """

    columns: torch.Tensor = field(repr=False)
    steps: torch.Tensor = field(repr=False)
    n_inputs: int

    def inputs(self, positions: torch.Tensor) -> torch.Tensor:
        """Return rounded inputs of some rows, float64, shape (n_sampled, n_inputs)."""
        units = self.columns[positions, : self.n_inputs].to(torch.float64)
        return units * self.steps[positions, None]

    def bias_units(self) -> torch.Tensor:
        """Return the integers of the bias's input, int64, shape (n_rows,)."""
        end = self.n_inputs + BIAS_COLUMNS
        return joined_bias(self.columns[:, self.n_inputs : end].T.to(torch.int64))


def joined_bias(columns: torch.Tensor) -> torch.Tensor:
    """Return the integers whose columns are given, shape (BIAS_COLUMNS, n)."""
    found = columns[0].clone()
    for column in columns[1:]:
        found.mul_(2**GRID_BITS).add_(column)
    return found


def rounded_rows(inputs: torch.Tensor) -> RoundedRows:
    """Round rows to bytes of their own unit, the largest of an entry and 1 over 127.

    Parameters
    ----------
    inputs : Tensor of float32, shape (n_rows, n_inputs)
        Entries beyond 127 * 2**7 are cut.

    Notes
    -----
    Elementwise, but for the largest entry, which is exact: a row decides its own bytes.
    """
    n_rows, n_inputs = inputs.shape
    width = -(-(n_inputs + BIAS_COLUMNS) // _ALIGNED) * _ALIGNED
    columns = torch.zeros((n_rows, width), dtype=torch.int8, device=inputs.device)
    steps = inputs.new_empty(n_rows, dtype=torch.float32)
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        rows = inputs[start : start + _ROWS_AT_ONCE].to(torch.float64)
        part = columns[start : start + _ROWS_AT_ONCE]
        largest = rows.abs().amax(dim=1).clamp_(min=1.0)
        bias = (LARGEST_BYTE * 2**GRID_BITS / largest).floor_().clamp_(min=1.0)
        step = (2**GRID_BITS / bias).to(torch.float32)
        units = (rows / step[:, None]).round_().clamp_(-LARGEST_BYTE, LARGEST_BYTE)
        part[:, :n_inputs] = units.to(torch.int8)
        steps[start : start + _ROWS_AT_ONCE] = step
        left = bias.to(torch.int64)
        for column in range(n_inputs + BIAS_COLUMNS - 1, n_inputs - 1, -1):
            part[:, column] = (left & (2**GRID_BITS - 1)).to(torch.int8)
            left >>= GRID_BITS
    return RoundedRows(columns, steps, n_inputs)
