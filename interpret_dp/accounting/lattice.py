"""The integer lattice of released sums, directed rounding, and the neighbouring relation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from interpret_dp._validate import check_choice, check_int

#: Lattice points per unit. A count of one row, a residual at its clipping bound and a centred
#: target at the end of its range are each this many lattice units. Fine enough that sigma is
#: above 2**10 for every mu below 1000, coarse enough that 8.8e12 rows fit into an int64 sum.
LATTICE = 2**20
#: Size of a vector of integers whose square, times the largest weight, is ``LATTICE``.
PRODUCT_UNIT = 2**4


# Directed rounding of floats: a promise is only ever rounded to a weaker one.


def sqrt_up(square: Fraction) -> float:
    """Return the smallest float whose exact square is at least ``square``.

    Parameters
    ----------
    square : Fraction
        A number of at least 0, exact; its root must lie within the range of floats.
    """
    if square < 0:
        raise ValueError(f"square is {float(square)!r}; it must be at least 0.")
    if square == 0:
        return 0.0
    # Scaled by a power of four, so that neither the square nor its float under- or overflows.
    shift = (square.denominator.bit_length() - square.numerator.bit_length()) // 2
    root = math.ldexp(math.sqrt(float(square * Fraction(4) ** shift)), -shift)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while Fraction(below := math.nextafter(root, 0.0)) ** 2 >= square:
        root = below
    return root


def reciprocal_up(value: float) -> float:
    """Return a float that is at least 1 / ``value`` and at most one step above it."""
    nearest = 1.0 / value
    is_above = Fraction(nearest) * Fraction(value) >= 1
    return nearest if is_above else math.nextafter(nearest, math.inf)


def reciprocal_down(value: float) -> float:
    """Return a float that is at most 1 / ``value`` and at most one step below it."""
    nearest = 1.0 / value
    return nearest if Fraction(nearest) * Fraction(value) <= 1 else math.nextafter(nearest, 0.0)


# The neighbouring relation, and the sensitivity of sums under it.

ADD_OR_REMOVE_ONE = "add_or_remove_one"
REPLACE_ONE = "replace_one"
RELATIONS = (ADD_OR_REMOVE_ONE, REPLACE_ONE)


@dataclass(frozen=True, kw_only=True)
class Neighbourhood:
    """The neighbouring relation of a request: what the guarantee protects; public.

    Parameters
    ----------
    relation : {"add_or_remove_one", "replace_one"}, default="add_or_remove_one"
        Whether neighbours differ by the presence of one unit or by its content.
    unit : str, default=None
        Name of the identifier that rows of one unit share; None: every row is a unit.
    max_rows : int, default=1
        Most rows of one unit that are used.
    total_rows : int, default=None
        The same in the release of the total; None: ``max_rows``.
    shares_weight : bool, default=False
        Whether the rows of a unit have a weight of 1 together, and not each.
    drops_missing : bool, default=False
        Whether rows without an identifier are left out; otherwise each is a unit.

    Raises
    ------
    TypeError, ValueError
        If the relation is another one, ``max_rows`` is below 1, or is above 1 where every row is
        a unit.

    Notes
    -----
    The factors are proved in docs/proofs/neighbouring_tables.md.
    """

    relation: str = ADD_OR_REMOVE_ONE
    unit: str | None = None
    max_rows: int = 1
    total_rows: int | None = None
    shares_weight: bool = False
    drops_missing: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        mend = f"{ADD_OR_REMOVE_ONE!r} is the stronger promise and the usual one."
        check_choice("neighboring", self.relation, RELATIONS, mend=mend)
        check_int("max_rows", self.max_rows, low=1)
        if self.unit is None and self.max_rows > 1:
            raise ValueError(
                f"max_rows is {self.max_rows} where every row is a unit; it must be 1. Name the "
                "identifier that rows of one unit share."
            )

    def sensitivity(self, row_norm: int, *, aligned: bool, of_total: bool = False) -> int:
        """Bound the L2 norm of the change of a sum over rows between two neighbours.

        Parameters
        ----------
        row_norm : int
            Bound on the L2 norm of what one row adds to the sum, in lattice units.
        aligned : bool
            Whether what any two rows add has a non-negative inner product, as counts have: what is
            taken away and what comes instead cannot point in opposite directions.
        of_total : bool, default=False
            Whether up to ``total_rows`` rows of a unit are in the sum.

        Returns
        -------
        int
            In lattice units, rounded up.
        """
        n_rows = 1 if self.shares_weight else self.max_rows
        of_unit = row_norm * (self.total_rows if of_total and self.total_rows else n_rows)
        if self.relation == ADD_OR_REMOVE_ONE:
            return of_unit
        if of_unit == 0:
            return 0
        return math.isqrt(2 * of_unit**2 - 1) + 1 if aligned else 2 * of_unit

    @property
    def unit_text(self) -> str:
        """The unit that is added, removed or replaced, in words."""
        if self.unit is None:
            return "one row"
        used = "one of them is" if self.max_rows == 1 else f"at most {self.max_rows} of them are"
        total = "" if self.total_rows is None else f", and up to {self.total_rows} in the total"
        weight = ", with a weight of 1 together" if self.shares_weight and self.max_rows > 1 else ""
        return f"all rows of one {self.unit!r} ({used} used{total}{weight})"

    @property
    def protected(self) -> str:
        """The protected unit: losses of two requests compose only if this is the same."""
        what = "row" if self.unit is None else f"{self.unit!r}"
        return f"{self.relation}: one {what}"
