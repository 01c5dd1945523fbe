"""FLARE's federated XGBoost, which ``benchmarks.sites`` runs with a Python that has FLARE.

``python benchmarks/sites_flare.py FOLDER``: the folder has ``test.npy``, and for each site a folder
``site-1`` and so on with ``train.npy`` and ``valid.npy``, whose first column is the target. The
last line of its output is JSON. Predictions go to ``predicted.npy``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from nvflare.app_opt.xgboost.data_loader import XGBDataLoader
from nvflare.app_opt.xgboost.histogram_based_v2.adaptors.xgb_adaptor import XGBClientAdaptor
from nvflare.app_opt.xgboost.histogram_based_v2.defs import Constant

_ROUNDS, _PATIENCE = 100, 10
# Those of the recipe, but one thread a site.
_PARAMETERS = {
    "max_depth": 8,
    "eta": 0.1,
    "objective": "binary:logistic",
    "eval_metric": "auc",
    "tree_method": "hist",
    "nthread": 1,
}


def rows_of(path: Path) -> Any:
    """Return the rows of a file."""
    cells = np.load(path)
    return xgboost.DMatrix(cells[:, 1:], label=cells[:, 0])


class Rows(XGBDataLoader):  # type: ignore[misc]
    """The rows of a site. FLARE asks for them in the site's process, where traffic is counted."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load_data(self) -> tuple[Any, Any]:
        """Return rows to fit, and rows on which FLARE watches when to stop."""
        place = Path(self.folder) / self.client_id
        count(place / "traffic.json")
        return rows_of(place / "train.npy"), rows_of(place / "valid.npy")


def count(path: Path) -> None:
    """Keep what this process asks FLARE's server from now on: how often, bytes and seconds."""
    traffic: dict[str, float] = {"exchanges": 0, "sent": 0, "received": 0}
    ask, began = XGBClientAdaptor._send_request, time.perf_counter()

    def counted(self: Any, op: str, request: Any) -> Any:
        traffic["exchanges"] += 1
        traffic["sent"] += len(request.get(Constant.PARAM_KEY_SEND_BUF) or b"")
        answer = ask(self, op, request)
        traffic["received"] += len(answer[0] or b"")
        traffic["seconds"] = time.perf_counter() - began
        path.write_text(json.dumps(traffic), encoding="utf-8")
        return answer

    XGBClientAdaptor._send_request = counted


def main(folder: Path) -> None:
    """Fit in FLARE's simulator, one process a site, and predict."""
    import nvflare
    from nvflare.app_opt.xgboost.recipes import XGBHorizontalRecipe
    from nvflare.recipe import SimEnv, set_per_site_config

    # Not the class of the module __main__, which a site's process would not find.
    from sites_flare import Rows as Loader

    sites = sorted(path.name for path in folder.glob("site-*"))
    recipe = XGBHorizontalRecipe(
        name="xgboost",
        min_clients=len(sites),
        num_rounds=_ROUNDS,
        early_stopping_rounds=_PATIENCE,
        xgb_params=_PARAMETERS,
    )
    set_per_site_config(recipe, {site: {"data_loader": Loader(str(folder))} for site in sites})
    began = time.perf_counter()
    recipe.execute(SimEnv(clients=sites, workspace_root=str(folder / "work")))
    whole = time.perf_counter() - began
    booster = xgboost.Booster(model_file=next((folder / "work").rglob("model.json")))
    np.save(folder / "predicted.npy", booster.predict(rows_of(folder / "test.npy")))
    found = json.loads((folder / sites[0] / "traffic.json").read_text(encoding="utf-8"))
    versions = f"nvflare {nvflare.__version__}, xgboost {xgboost.__version__}"
    trees = booster.num_boosted_rounds()
    print(json.dumps({**found, "whole": whole, "trees": trees, "versions": versions}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
