"""Small tables of awkward cells, and the fits that the audits replay on them."""

import numpy as np
import pandas as pd

import interpret_dp as dp
from interpret_dp.audit import replay

FEATURES = {
    "age": dp.Continuous(0, 100),
    "income": dp.Continuous(0, 1e6, scale="log"),
    "site": dp.Categorical(["a", "b", "rare"]),
    "grade": dp.Categorical([1, 2, 3], ordered=True),
    "same": dp.Continuous(5, 5),
}
LABELS = dp.Schema(FEATURES, target=dp.Categorical(["no", "yes"]))
COSTS = dp.Schema(FEATURES, target=dp.Continuous(-10, 30))


# An epsilon at which leaves of forty rows move: at less, their total is released alone.
_SETTINGS = {"epsilon": 100.0, "max_rounds": 2, "max_bins": 12, "n_jobs": 1}


def classifier(table, **parameters):
    settings = {"schema": LABELS} | _settings(parameters)
    return dp.DPExplainableBoostingClassifier(**settings).fit(*table)


def regressor(table, **parameters):
    settings = {"schema": COSTS} | _settings(parameters)
    return dp.DPExplainableBoostingRegressor(**settings).fit(*table)


def _settings(parameters):
    account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "audit"}
    return _SETTINGS | account | parameters | {"feature_names": list(FEATURES)}


def check_both_ways(fit, table, neighbour, **options):
    """Replay a fit on neighbouring tables in both orders; nothing may break the promise."""
    reports = replay(fit, table, neighbour, **options), replay(fit, neighbour, table, **options)
    for report in reports:
        assert report.ok, str(report)
        assert report.worst_ratio <= 1.0
    return reports


def kinds(report):
    """Return what kinds of violations a control has."""
    assert not report.ok
    return {violation.kind for violation in report.violations}


def releases_broken(report):
    """Return the names of the releases that violations are in."""
    return {violation.where.split()[0] for violation in report.violations}


def watched(monkeypatch, owner, name):
    """Return a list of all that a function returns from now on."""
    results, real = [], getattr(owner, name)

    def watching(*arguments, **options):
        results.append(real(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(owner, name, watching)
    return results


def frame(records):
    """Let pandas choose every dtype by the cells, so that one row can promote a column."""
    columns = {
        name: _inferred([record[at] for record in records])
        for at, name in enumerate([*FEATURES, "target"])
    }
    target = columns.pop("target")
    return pd.DataFrame(columns), target


def _inferred(cells):
    """Return a series whose dtype pandas chose; pandas 2 cannot choose one for huge integers."""
    try:
        return pd.Series(cells)
    except OverflowError:
        return pd.Series(cells, dtype=object)


def cells_of(records, n_columns):
    """Return an array of objects, whatever the cells are."""
    cells = np.empty((len(records), n_columns), dtype=object)
    for row, record in enumerate(records):
        cells[row] = record
    return cells


def objects(records):
    """Return NumPy arrays of objects."""
    cells = cells_of(records, len(FEATURES) + 1)
    return cells[:, :-1], cells[:, -1]


def lists(records):
    """Return an array of rows and a plain list of targets."""
    features, target = objects(records)
    return features, target.tolist()


def base_records(task):
    """Return forty ordinary rows; no row has the level "rare"."""
    rng = np.random.default_rng(5)
    is_number = task == "regression"
    return [
        (
            int(rng.integers(0, 100)),
            float(rng.uniform(0, 1e6)),
            str(rng.choice(["a", "b"])),
            int(rng.integers(1, 4)),
            5,
            float(rng.uniform(-10, 30)) if is_number else str(rng.choice(["no", "yes"])),
        )
        for _ in range(40)
    ]
