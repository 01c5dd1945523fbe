"""DPShapTabular: SHAP values of one black box from a private background."""

from __future__ import annotations

from typing import Any

from interpret_dp.lime.background_explanation import explain_rows
from interpret_dp.lime.explainer import BackgroundExplainer
from interpret_dp.lime.shap_values import ShapValues, load_shap

__all__ = ["DPShapTabular"]


class DPShapTabular(BackgroundExplainer):
    """SHAP values of a black box whose background data are private.

    In the place of ``interpret.blackbox.ShapKernel``. When it is made it releases one
    :class:`PrivateBackground`; every explanation after that is free. The library shap computes the
    values (``pip install 'interpret-dp[shap]'``).

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

    def explain_local(
        self, X: Any, y: Any = None, name: str | None = None, *, explained_class: Any = None
    ) -> Any:
        """Return the SHAP values of rows; free, for as many rows as you like.

        The model is asked about 1,024 rows of the background, ``2 * n_columns + 1`` times each.

        Parameters
        ----------
        X, y, name, explained_class
            As :meth:`DPLimeTabular.explain_local` takes them.

        Returns
        -------
        interpret's explanation
            The values of a row add up to its prediction minus the baseline, which is the mean
            prediction over the rows of the background. Error bars hold 95 % of the noise of the
            background and the sampling of rows and permutations together.

        Raises
        ------
        TypeError, ValueError, SchemaError
            If an argument is of another form, or the model cannot read X.
        """
        background = self.background.to_released()
        return self._conditional(
            explain_rows(
                background,
                ShapValues(background),
                self.model,
                X,
                y,
                explained_class,
                privacy=self.background._spend(),
                name=name or type(self).__name__,
                verbose=self.verbose,
            )
        )
