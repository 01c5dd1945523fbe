"""DPShapTabular: SHAP values of one black box from a private background."""

from __future__ import annotations

from interpret_dp.lime.explainer import BackgroundExplainer
from interpret_dp.lime.local_effects import ShapValues, load_shap

__all__ = ["DPShapTabular"]


class DPShapTabular(BackgroundExplainer):
    """SHAP values of a black box whose background data are private.

    Replaces ``interpret.blackbox.ShapKernel``. Making it releases one :class:`PrivateBackground`;
    every explanation after that is free. The library shap computes the values
    (``pip install 'interpret-dp[shap]'``).

    Parameters
    ----------
    model, data, feature_names, feature_types, trained_on_same_people, background, schema
        As :class:`DPLimeTabular` takes them, and so the others.
    epsilon, delta, ledger, dataset, model_guarantee, neighboring, unit, random_state, verbose
        The background is charged once: epsilon is the price of all explanations together.

    Attributes
    ----------
    background : PrivateBackground
    guarantee_ : Guarantee
        Of everything that is computed from the background; says whom it is about.
    feature_names_in_ : list of str

    Raises
    ------
    ModuleNotFoundError
        If shap is not installed. Nothing was spent.
    TypeError, ValueError, SchemaError, LedgerError, BudgetExceededError
        As :class:`DPLimeTabular` raises them. Nothing was spent.

    Notes
    -----
    The values of a row add up to its prediction minus the baseline, which is the mean prediction
    over 1,024 rows of the background. The model is asked about each of them ``2 * n_columns + 1``
    times. Error bars hold 95 % of the noise of the background and the sampling of rows and
    permutations together.

    Examples
    --------
    >>> from interpret_dp import DPShapTabular
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(1_000)
    >>> explainer = DPShapTabular(
    ...     lambda X: X["age"].to_numpy() / 100,  # any model, or a function of rows
    ...     patients.X, schema=patients.schema, epsilon=0.5, trained_on_same_people=False)
    >>> row = explainer.explain_local(explainer.background.sample(1, random_state=0)).data(0)
    >>> round(sum(row["scores"]) + row["extra"]["scores"][0] - row["predicted"], 9) + 0.0
    0.0
    """

    def _load_libraries(self) -> None:
        load_shap()

    def _row_method(self) -> ShapValues:
        return ShapValues(self.background.to_released())
