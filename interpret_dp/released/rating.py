"""Rating tables: what each level multiplies a prediction by, as a DataFrame, CSV or Excel file."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING

import numpy as np

from interpret_dp._documents import ending_of, printable, replaced_file, write_file
from interpret_dp._optional import import_optional
from interpret_dp.released.additive_model import AdditiveModel, intercept_key, lookup_tables

if TYPE_CHECKING:
    import pandas as pd

_NAME = "rating table"
# Columns of factors, and those of the tables whose exponentials they are.
_SOURCES = {"relativity": "score", "lower": "band_lower", "upper": "band_upper"}


def rating_table(model: AdditiveModel) -> pd.DataFrame:
    """Return the factors whose product is a prediction, one row a level, interval or cell.

    Parameters
    ----------
    model : AdditiveModel
        A regression with a log link, or a classification of two classes.

    Returns
    -------
    DataFrame
        First the row ``base``, of which the relativity is the exponential of the intercept. Then
        the rows of each term, in the order of ``to_tables``:

        ``feature``
            Name of the term: of a pair ``"first & second"``.
        ``level``
            ``missing``, an interval (to six digits; ``to_tables`` has the exact ends), a level, or
            ``unseen`` for what is undeclared; of a pair both, with ``&`` between them; "" for the
            base.
        ``relativity``
            Exponential of the score. A prediction is the base times one relativity a term: under a
            log link the mean, of two classes the odds of the second one. As fitted, scores of a
            term have mean 0 over the released weights, so their relativities have geometric mean 1.
        ``lower``, ``upper``
            Exponentials of the ends of the 95 % band of noise and sampling
            (:meth:`AdditiveTerm.band`). NaN where the noise is not known, as of the base.
        ``share``
            Share of the released weight of the term; 1 for the base. Of fits with exposures it is
            a share of the exposure, but for gamma deviance.

        ``attrs["privacy_guarantee"]`` holds the guarantee's sentence.

    Raises
    ------
    ValueError
        If the link is another: terms then multiply nothing.
    """
    import pandas as pd

    if model.link not in ("log", "logit"):
        raise ValueError(
            f"The model's link is {model.link!r}; a rating table needs 'log' or 'logit', under "
            "which terms multiply. Fit a regression with objective='poisson_deviance', "
            "'gamma_deviance' or 'tweedie_deviance', or two classes. to_tables() has the scores of "
            "any model."
        )
    tables = lookup_tables(model)
    base = np.exp(tables.pop(intercept_key(model))["score"])
    first = {"feature": "base", "level": "", "relativity": base, "lower": np.nan, "upper": np.nan}
    parts = [pd.DataFrame({**first, "share": 1.0})]
    for name, table in tables.items():
        bins = [table[key] for key in ("bin", "bin_first", "bin_second") if key in table]
        level = bins[0] if len(bins) == 1 else bins[0] + " & " + bins[1]
        columns = {"feature": name, "level": level}
        # An end of a wide band may be too large a logarithm: infinity is right.
        with np.errstate(over="ignore"):
            for column, own in _SOURCES.items():
                columns[column] = np.exp(table[own])
        columns["share"] = table["weight"] / max(float(table["weight"].sum()), 1e-300)
        parts.append(pd.DataFrame(columns))
    whole = pd.concat(parts, ignore_index=True)
    whole.attrs["privacy_guarantee"] = model.guarantee.sentence
    return whole


def save_rating_table(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write :func:`rating_table` with the guarantee, as CSV or Excel by the file's ending.

    Parameters
    ----------
    model : AdditiveModel
    path : str or path-like
        Ends in ``.csv``: UTF-8, of which the first line is the guarantee's sentence (read the rest
        with ``pandas.read_csv(path, skiprows=1)``); or in ``.xlsx``, with the sentence on a second
        sheet, which needs the extra ``excel``. A file that is there is replaced.

    Raises
    ------
    ValueError
        If it ends in anything else, or the model has no rating table.
    ModuleNotFoundError
        If openpyxl is not installed.
    OSError
        If the file cannot be written; one that is there then stays as it is.
    """
    import pandas as pd

    ending = ending_of("The rating table's path", path, (".csv", ".xlsx"))
    table, sentence = rating_table(model), model.guarantee.sentence
    if ending == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([sentence])
        table.to_csv(text, index=False, lineterminator="\n")
        write_file(path, text.getvalue())
        return
    import_optional("openpyxl", extra="excel", purpose="Writing an Excel file")
    # Excel's files hold no control characters.
    for column in ("feature", "level"):
        table[column] = table[column].map(printable)
    with replaced_file(path) as pending, pd.ExcelWriter(pending, engine="openpyxl") as writer:
        table.to_excel(writer, sheet_name=_NAME, index=False)
        note = pd.DataFrame({"privacy guarantee": [printable(sentence)]})
        note.to_excel(writer, sheet_name="privacy", index=False)
        # A level such as "=A1" is text; openpyxl would make a formula of it.
        for row in writer.sheets[_NAME].iter_rows(max_col=2):
            for cell in row:
                cell.data_type = "s"
