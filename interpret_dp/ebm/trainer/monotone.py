"""Monotone constraints: which terms have one, and the projection of a curve.

After each update a constrained term is replaced by the nearest monotone curve, by the released bin
weights. That is post-processing of released numbers and costs nothing. The average of monotone
curves is monotone, and so are its multiples and shifts, so the released curve is monotone as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, describe_argument, did_you_mean
from interpret_dp.exceptions import SchemaError
from interpret_dp.released.isotonic import isotonic
from interpret_dp.schema import Categorical, FeatureSpec

FloatArray = NDArray[np.float64]

_ALLOWED = "1 (increasing), -1 (decreasing) or 0 (free)"


def constrained_directions(
    constraints: Any, names: Sequence[str], specs: Sequence[FeatureSpec], target: FeatureSpec | None
) -> tuple[int, ...]:
    """Return the direction of each column, shape (n_columns,): 1, -1 or 0.

    Parameters
    ----------
    constraints : sequence of int, mapping of str to int, or None
        One direction a column, as interpret takes them, or directions by name, as scikit-learn's
        histogram boosting does; columns that a mapping does not name are free.
    names, specs : sequence, shape (n_columns,)
        Columns of the table and their declarations.
    target : Continuous, Categorical or None
        None if the labels are not declared.

    Raises
    ------
    TypeError, ValueError
        If a direction or a name is none, or there is not one direction a column.
    SchemaError
        If a column has no order, or there are or could be more than two classes.
    """
    if constraints is None:
        return (0,) * len(names)
    directions = tuple(
        check_int(f"monotone_constraints[{name!r}]", direction, low=-1, high=1, mend=f"{_ALLOWED}.")
        for name, direction in _by_name(constraints, names).items()
    )
    if not any(directions):
        return directions
    if target is None or (isinstance(target, Categorical) and len(target.levels) > 2):
        raise SchemaError(
            "monotone_constraints was given for a classifier whose classes are "
            + ("not declared" if target is None else f"{list(target.levels)}")
            + "; one class' score says nothing of its probability where there are more than two. "
            "Declare two labels, Schema(..., target=Categorical([label, label])), or leave "
            "monotone_constraints out."
        )
    for name, spec, direction in zip(names, specs, directions, strict=True):
        if direction and isinstance(spec, Categorical) and not spec.ordered:
            raise SchemaError(
                f"monotone_constraints[{name!r}] is {direction}, and the levels of {name!r} have "
                "no order; it must be 0. Declare Categorical([level, ...], ordered=True) if they "
                "have one."
            )
    return directions


def _by_name(constraints: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the given direction of each column, in the table's order."""
    if isinstance(constraints, Mapping):
        unknown = [name for name in constraints if name not in names]
        if unknown:
            raise ValueError(
                f"monotone_constraints names {unknown!r}; its keys must be among the columns "
                f"{list(names)!r}.{did_you_mean(unknown[0], names)}"
            )
        return {name: constraints.get(name, 0) for name in names}
    is_list = isinstance(constraints, Sequence | np.ndarray) and not isinstance(constraints, str)
    if not is_list or (isinstance(constraints, np.ndarray) and constraints.ndim == 0):
        raise TypeError(
            f"{describe_argument('monotone_constraints', constraints)}; it must be a "
            f"list with {_ALLOWED} for each column, or a mapping of names to these."
        )
    if len(constraints) != len(names):
        raise ValueError(
            f"monotone_constraints has {len(constraints)} entries; it must have one for each of "
            f"the {len(names)} columns {list(names)!r}. A mapping of names to directions need not "
            "name them all."
        )
    return dict(zip(names, constraints, strict=True))


def monotone_change(
    scores: FloatArray, change: FloatArray, weights: FloatArray, direction: int
) -> FloatArray:
    """Return the change that takes a monotone curve to the projection of its update.

    Parameters
    ----------
    scores, change : ndarray of float64, shape (n_codes, 1)
        Integers on the lattice: a monotone curve, and what an update adds to it.
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights, above 0 between the missing and the unseen bin, which have no place in
        the order and move freely.
    direction : {1, -1}

    Returns
    -------
    ndarray of float64, shape (n_codes, 1)
        Integers, no larger in size than the largest of ``change``: the projection of the curve
        itself is the curve, and no score of a projection moves farther than the farthest of those
        that are projected. The weighted mean stays, but for rounding.
    """
    moved = scores + change
    moved[1:-1, 0] = isotonic(moved[1:-1, 0], weights[1:-1], increasing=direction > 0)
    # Rounding keeps an order.
    return np.asarray(np.rint(moved) - scores)
