"""``make audit``: its small version, in a minute, and how its results are written."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from benchmarks.audit.__main__ import audit
from benchmarks.audit.results import AttackLine
from benchmarks.audit.subjects import REPLAYS, replay_explainer
from benchmarks.audit.suite import EFFORTS, AuditTask, Effort, tasks_of
from benchmarks.audit_page import BEGIN, END, from_json, put_into_page


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(EFFORTS, "quick", Effort(20, 20, 20, 0, 20, 300))


# ------------------------------------------------------------------- the small version, for CI


@pytest.mark.thorough
@pytest.mark.parametrize("name", REPLAYS)
def test_replays_of_every_explainer_find_nothing(name):
    """No level: noise is frozen. Three pairs of tables, both ways."""
    line = replay_explainer(name)
    assert line.is_as_expected, line.violations
    assert 0.3 < line.worst_ratio <= 1.0
    assert line.pairs == 3


@pytest.mark.statistical
@pytest.mark.parametrize("subject", ["its predictions", "its row count"])
def test_the_reference_is_refuted(subject, monkeypatch):
    """400 fits a side, 200 of which judge; confidence 95 %.

    Power: of 300 attacks by the prediction, resampled from 6,000 fits, all proved epsilon above
    1.6. The row count is exact, so that 25 of 25 prove 1.8.
    """
    if subject == "its row count":
        monkeypatch.setitem(EFFORTS, "quick", replace(EFFORTS["quick"], reference=50))
    line = AuditTask("reference", subject, 1.0, "quick").run()
    assert isinstance(line, AttackLine)
    assert line.is_refuted
    assert line.bound > 1.0
    assert line.gaussian_bound is None


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("subject", ["classifier", "regressor", "metrics", "background"])
def test_our_claims_stand_in_a_small_attack(subject):
    """40 to 60 fits a side, half of which judge; claim epsilon 4, confidence 95 %.

    Level: an honest fit is refuted with a probability of 5 % at most; in fact the interval takes
    1.1 of mu and more, of a loss of 0.92, so that the expected bound is below 0 and the claim five
    standard errors (0.3) above it. Power: small, of gross errors only: a loss of epsilon 19
    (column "finds"); the same attack finds half of the noise with 600 fits.
    """
    line = AuditTask("attack", subject, 4.0, "quick").run()
    assert isinstance(line, AttackLine)
    assert not line.is_refuted
    assert line.finds > 4.0


@pytest.mark.slow
@pytest.mark.statistical
def test_one_run_of_maps_stands_and_a_third_of_its_noise_does_not():
    """5,000 canaries, 629 guesses; claim epsilon 4, confidence 95 %.

    Level: 5 % by the theorem; in fact 560 right guesses are expected, and 619 would refute: ten
    standard errors (8). Power: with a third of the noise nearly all guesses are right (99.9 %),
    and 619 are needed.
    """
    honest = AuditTask("maps", "DPLocallyLinearClassifier", 4.0, "quick").run()
    assert isinstance(honest, AttackLine)
    assert not honest.is_refuted
    # Sharp enough to mean something: chance alone proves nothing.
    assert honest.bound > 0.8
    assert AuditTask("maps control", "DPLocallyLinearClassifier", 4.0, "quick").run().is_as_expected


# ------------------------------------------------------------------------------- how it is run


def test_the_full_audit_has_every_explainer_claim_and_control():
    tasks = tasks_of("full")
    attacks = {(task.subject, task.epsilon) for task in tasks if task.kind == "attack"}
    subjects = {"classifier", "regressor", "metrics", "background"}
    assert attacks == {(subject, claim) for subject in subjects for claim in (0.5, 1.0, 4.0)}
    assert {task.subject for task in tasks if task.kind == "replay"} == set(REPLAYS)
    assert [task.epsilon for task in tasks if task.kind == "control"] == [1.0, 4.0]
    assert [task.kind for task in tasks].count("reference") == 2
    assert len({task.title for task in tasks}) == len(tasks)
    with pytest.raises(ValueError, match="effort is 'huge'"):
        tasks_of("huge")


# ----------------------------------------------------------------------------- the command line


def test_the_command_writes_everything(small, tmp_path):
    out = tmp_path / "made" / "here"
    what = ("--quick", "--only", "private_metrics", "--jobs", "1")
    shown = CliRunner().invoke(audit, [*what, "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    assert shown.stderr.startswith("Attacks: 1. Free cores: 1. Time: about 6 seconds.")
    assert "| private_metrics | 3 | 12 | 1.0000 | none |" in shown.output
    assert "100%" in shown.output
    assert sorted(path.name for path in out.iterdir()) == ["audit.json", "audit.png"]
    (line,) = from_json((out / "audit.json").read_bytes())
    assert line.subject == "private_metrics"


def test_the_command_fails_where_a_control_is_not_found(small):
    """20 fits a side cannot find half of the noise: the intervals are too wide."""
    what = ("--quick", "--only", "control: regressor", "--jobs", "1")
    shown = CliRunner().invoke(audit, what)
    assert shown.exit_code == 1
    assert "NOT REFUTED" in shown.output
    assert "1 of 1 attacks did not end as expected" in shown.output


def test_a_page_keeps_all_but_what_is_between_its_marks():
    page = put_into_page(f"before\n{BEGIN}\nold\n{END}\nafter\n", "| new |\n")
    assert page == f"before\n{BEGIN}\n| new |\n{END}\nafter\n"
    for wrong in ("no marks", f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"):
        with pytest.raises(ValueError, match="each once and in this order"):
            put_into_page(wrong, "")
