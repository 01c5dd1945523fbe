"""Differentially private explainers for InterpretML.

Importing the package is light: each name is loaded at first use.
"""

from __future__ import annotations

from importlib import import_module  # noqa: TID251
from typing import TYPE_CHECKING, Any

from interpret_dp._version import __version__

if TYPE_CHECKING:
    from interpret_dp.accounting.guarantee import Guarantee
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ebm.planning import plan
    from interpret_dp.editor import EditSession
    from interpret_dp.evaluation import PrivateMetrics, private_metrics
    from interpret_dp.exceptions import (
        BackendError,
        BudgetExceededError,
        DeclarationWarning,
        LedgerError,
        PrivacyWarning,
        ReleaseError,
        SchemaError,
        UndeclaredWarning,
    )
    from interpret_dp.explanation.plan import FitPlan
    from interpret_dp.explanation.spend import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.lime.background import PrivateBackground
    from interpret_dp.lime.explainer import DPLimeTabular, DPShapTabular
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier, load_model
    from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema

__all__ = [
    "BackendError",
    "BudgetExceededError",
    "Categorical",
    "Continuous",
    "DPExplainableBoostingClassifier",
    "DPExplainableBoostingRegressor",
    "DPLimeTabular",
    "DPLocallyLinearClassifier",
    "DPShapTabular",
    "DeclarationWarning",
    "EditSession",
    "FitPlan",
    "Guarantee",
    "Integer",
    "LedgerError",
    "PrivacyLedger",
    "PrivacySpend",
    "PrivacyUnit",
    "PrivacyWarning",
    "PrivateBackground",
    "PrivateMetrics",
    "ReleaseError",
    "Schema",
    "SchemaError",
    "UndeclaredWarning",
    "__version__",
    "load_model",
    "plan",
    "private_metrics",
]

_HOMES = {
    **dict.fromkeys(("BackendError", "BudgetExceededError", "LedgerError"), "exceptions"),
    **dict.fromkeys(("ReleaseError", "SchemaError", "DeclarationWarning"), "exceptions"),
    **dict.fromkeys(("PrivacyWarning", "UndeclaredWarning"), "exceptions"),
    **dict.fromkeys(("Categorical", "Continuous", "Integer", "PrivacyUnit", "Schema"), "schema"),
    "DPExplainableBoostingClassifier": "ebm.estimators",
    "DPExplainableBoostingRegressor": "ebm.estimators",
    **dict.fromkeys(("DPLimeTabular", "DPShapTabular"), "lime.explainer"),
    **dict.fromkeys(("DPLocallyLinearClassifier", "load_model"), "llm.estimator"),
    **dict.fromkeys(("PrivateMetrics", "private_metrics"), "evaluation"),
    "EditSession": "editor",
    "FitPlan": "explanation.plan",
    "Guarantee": "accounting.guarantee",
    "PrivacyLedger": "ledger",
    "PrivacySpend": "explanation.spend",
    "PrivateBackground": "lime.background",
    "plan": "ebm.planning",
}


def __getattr__(name: str) -> Any:
    if name == "PrivateSurrogate":
        raise ImportError(
            "PrivateSurrogate was removed. Fit an additive model to the black box's predictions "
            "of rows that a PrivateBackground draws: docs/surrogate.md shows how."
        )
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
