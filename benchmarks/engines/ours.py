"""Our DP-EBM, through its public API, with its defaults."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import interpret_dp
from benchmarks.engines import Engine
from interpret_dp import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

if TYPE_CHECKING:
    from benchmarks.problems import Problem

__all__ = ["ENGINE"]


def _source_digest() -> str:
    """Identify the code that was measured: a version number stays while the code changes."""
    root = Path(interpret_dp.__file__).parent
    digest = hashlib.sha256()
    for package in ("accounting", "backends", "ebm", "fitting", "mechanisms", "schema"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _build(problem: Problem, epsilon: float, delta: float) -> Any:
    estimator = (
        DPExplainableBoostingClassifier
        if problem.task == "classification"
        else DPExplainableBoostingRegressor
    )
    return estimator(epsilon=epsilon, delta=delta, schema=problem.schema)


ENGINE = Engine("ours", True, f"interpret_dp {interpret_dp.__version__} {_source_digest()}", _build)
