"""Groups of tests that one worker of pytest-xdist runs, and the order in which groups start.

A file is a group, as with ``--dist loadfile``, so that the fixtures of a module are made once. Two
exceptions: long tests that share no fixture are groups of their own, or one core would be idle at
the end; tests of several files that share something costly are one group.
"""

import re
from collections import Counter

# Files of long tests without a common fixture.
_SPLIT = (
    "tests/contract/test_additive_rows.py",
    "tests/statistical/test_noise_bands.py",
    "tests/statistical/test_pair_bands.py",
    "tests/statistical/test_regression_attack.py",
)

# What begins with one of these names is one group, for what its files share: an environment with
# the wheel, and the library shap, which takes ten seconds to compile in each process.
_SHARED = (
    ("tests/packaging/",),
    (
        "tests/contract/explainers/test_charging.py",
        "tests/docs/test_blocks.py",
        "tests/lime/test_global_and_shap.py",
        "interpret_dp/lime/explainer.py",
    ),
)

# About how many seconds a test with a marker takes; others take a tenth.
_COST = {
    "slow": 60.0,
    "notebook": 20.0,
    "browser": 5.0,
    "thorough": 5.0,
    "statistical": 3.0,
    "lengthy": 1.0,
}


def group_of(name):
    """Return the group of a test, from its name alone: the controller knows nothing else."""
    file = name.partition("::")[0]
    if file in _SPLIT:
        return name
    # Several files run the same notebook; each worker runs it once.
    if notebook := re.search(r"\[([\w.]+\.ipynb)\]$", name):
        return notebook[1]
    return next((names[0] for names in _SHARED if file.startswith(names)), file)


def longest_first(tests):
    """Return tests group by group, the longest group first: what is short fills the end."""
    tests, cost = list(tests), Counter[str]()
    for test in tests:
        markers = {mark.name for mark in test.iter_markers()}
        cost[group_of(test.nodeid)] += max((_COST.get(name, 0.1) for name in markers), default=0.1)
    return sorted(tests, key=lambda test: (-cost[group_of(test.nodeid)], group_of(test.nodeid)))


def scheduler(config, log):
    """Return a scheduler of pytest-xdist that hands out the groups in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    # By default groups are sorted by the number of their tests.
    config.option.loadscopereorder = False
    return GroupScheduling(config, log)
