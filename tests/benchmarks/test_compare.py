"""Two commits are timed in turns, each with its own package, and their ratios keep the pairs."""

import subprocess
import sys

import pytest

from benchmarks.compare import checked_out, compared, environment


def test_ratios_are_of_the_same_turn():
    """A machine that takes three times as long in the second turn changes no ratio."""
    turns = {
        "base": [{"fit": 1.0}, {"fit": 3.0}, {"fit": 1.0}],
        "now": [{"fit": 1.2}, {"fit": 3.3}, {"fit": 1.1}],
    }
    (ratio,) = compared(turns)
    assert (ratio.base, ratio.now) == (1.0, 1.2)
    assert ratio.ratios == pytest.approx((1.2, 1.1, 1.1))
    assert ratio.verdict == "slower"
    assert ratio.cells == ["fit", "1,000.0", "1,200.0", "1.10 (1.10 to 1.20)", "slower"]


def _git(folder, *words):
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """Two commits, of which a later one changed the package."""
    folder = tmp_path / "repository"
    package = folder / "interpret_dp"
    package.mkdir(parents=True)
    _git(folder, "init", "--quiet")
    for version in ("old", "new"):
        (package / "__init__.py").write_text(f"version = {version!r}\n", encoding="utf-8")
        _git(folder, "add", ".")
        _git(folder, "commit", "--quiet", "--message", version)
    return folder


def test_another_commit_is_checked_out_beside_the_first_and_its_package_imported(repository):
    command = [sys.executable, "-c", "import interpret_dp; print(interpret_dp.version)"]
    with checked_out(repository, "HEAD~1") as base:
        for root, expected in ((base, "old"), (repository, "new")):
            # In front of this project, which is installed in this environment.
            finished = subprocess.run(
                command,
                cwd=repository.parent,
                env=environment(root),
                capture_output=True,
                text=True,
                check=True,
            )
            assert finished.stdout.strip() == expected
    assert not base.exists()
    assert len(_git(repository, "worktree", "list").splitlines()) == 1
