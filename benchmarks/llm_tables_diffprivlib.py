"""What another interpreter runs for ``benchmarks.llm_tables``: diffprivlib's logistic regression.

It imports numpy and diffprivlib alone, so that they may be of other versions than the package's.
Run: ``PYTHON benchmarks/llm_tables_diffprivlib.py IN.npz OUT.npz``.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

__all__ = ["main"]

_STEPS = 1_000


def main(source: str, target: str) -> None:
    """Fit one model for each epsilon and regularisation, and write its probabilities.

    Parameters
    ----------
    source : str
        Arrays ``train`` (n_rows, n_inputs), ``classes`` (n_rows,), ``test``, ``epsilons``,
        ``strengths`` and the numbers ``norm`` (public bound on a row's length) and ``n_classes``.
    target : str
        Gets ``probabilities``, shape (n_epsilons, n_strengths, n_test, n_classes).
    """
    from diffprivlib.models import LogisticRegression

    # A noisy objective may have no minimum near by; the weights at the last step are as private.
    warnings.filterwarnings("ignore", message="lbfgs failed to converge")
    with np.load(source) as arrays:
        given = {name: arrays[name] for name in arrays}
    found = np.zeros(
        (
            len(given["epsilons"]),
            len(given["strengths"]),
            len(given["test"]),
            int(given["n_classes"]),
        )
    )
    for i, epsilon in enumerate(given["epsilons"]):
        for j, strength in enumerate(given["strengths"]):
            model = LogisticRegression(
                epsilon=float(epsilon),
                data_norm=float(given["norm"]),
                C=float(strength),
                max_iter=_STEPS,
            ).fit(given["train"], given["classes"])
            # A class without rows has no column: its probability stays 0.
            found[i, j][:, model.classes_] = model.predict_proba(given["test"])
    np.savez(target, probabilities=found)


if __name__ == "__main__":
    main(*sys.argv[1:])
