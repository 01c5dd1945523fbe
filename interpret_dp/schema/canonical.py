"""Rows for interpret's own predict, which then finds the codes of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.schema.cells import in_chunks, numbers_of
from interpret_dp.schema.declarations import Categorical, FeatureSpec, level_labels
from interpret_dp.schema.encode import encode_column
from interpret_dp.schema.fine_bins import unseen_label
from interpret_dp.schema.kinds import warn_of_mismatches
from interpret_dp.schema.schema import Schema
from interpret_dp.schema.tables import Values, open_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["canonical_frame"]


def canonical_frame(
    X: Any,
    schema: Schema,
    names: Sequence[str],
) -> pd.DataFrame:
    """Return rows in the form from which interpret's own predict finds the codes of this module.

    interpret reads columns by their dtype, so that ``[1, 2]`` and ``[1.0, nan]``, ``True`` and
    ``1`` may go to different bins. Here each cell is first read by the rule of the schema.

    Parameters
    ----------
    X : DataFrame, Table, array or list of rows, shape (n_rows, n_columns)
        Rows to predict.
    schema : Schema
        The schema of the fit.
    names : sequence of str, shape (n_features,)
        The columns of the fit, in its order.

    Returns
    -------
    pandas.DataFrame, shape (n_rows, n_features)
        Continuous columns as float64, NaN if missing, not clipped. Categorical ones as pandas
        categoricals of the levels' names (:func:`level_labels`): missing if missing, and
        :func:`unseen_label` for an undeclared level, which interpret sends to the last bin.

    Raises
    ------
    SchemaError
        If the rows do not have the columns of the fit.

    Warns
    -----
    DeclarationWarning
        If the type of a column rules out all of its levels.
    """
    import pandas as pd

    table = open_table(X, names)
    specs = schema.resolve(table.names)
    warn_of_mismatches(table, specs)
    columns = {
        name: _canonical_column(table.column(index), spec)
        for index, (name, spec) in enumerate(zip(table.names, specs, strict=True))
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(table.n_rows), copy=False)


def _canonical_column(values: Values, spec: FeatureSpec) -> Any:
    if isinstance(spec, Categorical):
        import pandas as pd

        # Codes of pandas start at 0 for the first category and are -1 for a missing cell.
        codes = encode_column(values, spec, n_bins=1).astype(np.int32) - 1
        labels = pd.Index([*level_labels(spec), unseen_label(spec)])
        return pd.Categorical.from_codes(codes, categories=labels)
    numbers = np.empty(len(values), dtype=np.float64)
    for rows, found in in_chunks(values, numbers_of):
        numbers[rows] = found
    return numbers
