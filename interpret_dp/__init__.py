"""Differentially private explainers for InterpretML.

Importing the package is light: each name is loaded at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from interpret_dp._version import __version__

if TYPE_CHECKING:
    from interpret_dp.accounting.guarantee import Guarantee
    from interpret_dp.ebm.estimators import (
        DPExplainableBoostingClassifier,
        DPExplainableBoostingRegressor,
    )
    from interpret_dp.ebm.files import load_model
    from interpret_dp.exceptions import (
        BudgetExceededError,
        LedgerError,
        PrivacyWarning,
        ReleaseError,
        SchemaError,
        UndeclaredWarning,
    )
    from interpret_dp.explanation.spend import PrivacySpend
    from interpret_dp.ledger import PrivacyLedger
    from interpret_dp.schema import Categorical, Continuous, Schema

__all__ = [
    "BudgetExceededError",
    "Categorical",
    "Continuous",
    "DPExplainableBoostingClassifier",
    "DPExplainableBoostingRegressor",
    "Guarantee",
    "LedgerError",
    "PrivacyLedger",
    "PrivacySpend",
    "PrivacyWarning",
    "ReleaseError",
    "Schema",
    "SchemaError",
    "UndeclaredWarning",
    "__version__",
    "load_model",
]

_HOMES = {
    "BudgetExceededError": "exceptions",
    "Categorical": "schema",
    "Continuous": "schema",
    "DPExplainableBoostingClassifier": "ebm.estimators",
    "DPExplainableBoostingRegressor": "ebm.estimators",
    "Guarantee": "accounting.guarantee",
    "LedgerError": "exceptions",
    "PrivacyLedger": "ledger",
    "PrivacySpend": "explanation.spend",
    "PrivacyWarning": "exceptions",
    "ReleaseError": "exceptions",
    "Schema": "schema",
    "SchemaError": "exceptions",
    "UndeclaredWarning": "exceptions",
    "load_model": "ebm.files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
