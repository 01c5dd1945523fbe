"""``interpret-dp audit``: its small version, in a minute, and how its results are written."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from interpret_dp.audit import suite, tables
from interpret_dp.audit.replays import REPLAYS, replay_explainer
from interpret_dp.audit.results import REFUTED, STANDS, AttackLine, ReplayLine
from interpret_dp.audit.suite import EFFORTS, AuditTask, Effort, run_tasks, tasks_of

ROOT = Path(__file__).parents[2]

LINE = AttackLine(
    subject="ours",
    attack="membership",
    epsilon=1.0,
    delta=1e-5,
    bound=0.12349,
    gaussian_bound=0.6789,
    confidence=0.95,
    runs=1000,
    evidence="count",
    finds=math.inf,
    is_refuted=False,
    expected=STANDS,
    seconds=70.0,
)
REPLAY = ReplayLine("ours", 3, 1234, 0.99991, (), 1.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS, "quick", Effort(20, 20, 20, 0, 20, 300))


# ------------------------------------------------------------------- the small version, for CI


@pytest.mark.thorough
@pytest.mark.parametrize("name", REPLAYS)
def test_replays_of_every_explainer_find_nothing(name: str) -> None:
    """No level: noise is frozen. Three pairs of tables, both ways."""
    line = replay_explainer(name)
    assert line.is_as_expected, line.violations
    assert 0.3 < line.worst_ratio <= 1.0
    assert line.pairs == 3


@pytest.mark.statistical
@pytest.mark.parametrize("subject", ["its predictions", "its row count"])
def test_the_reference_is_refuted(subject: str) -> None:
    """400 fits a side, 200 of which judge; confidence 95 %.

    Power: of 300 attacks by the prediction, resampled from 6,000 fits, all proved epsilon above
    1.6 (tests/statistical/test_regression_attack.py). The row count is exact: 200 of 200.
    """
    line = AuditTask("reference", subject, 1.0, "quick").run()
    assert isinstance(line, AttackLine)
    assert line.is_refuted
    assert line.bound > 1.0
    assert line.gaussian_bound is None


@pytest.mark.statistical
def test_half_the_noise_is_found() -> None:
    """600 fits a side, 300 of which judge; claim epsilon 4 (mu 0.92), confidence 95 %.

    Power: of 17 such attacks the lowest bound was 4.8, their mean 6.7 and their standard deviation
    0.9: three standard deviations above the claim.
    """
    line = AuditTask("control", "regressor", 4.0, "quick").run()
    assert isinstance(line, AttackLine)
    assert line.is_refuted
    assert line.expected == REFUTED


@pytest.mark.statistical
@pytest.mark.parametrize("subject", ["classifier", "regressor", "metrics", "explainer"])
def test_our_claims_stand_in_a_small_attack(subject: str) -> None:
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


@pytest.mark.statistical
def test_one_run_of_maps_stands_and_a_third_of_its_noise_does_not() -> None:
    """5,000 canaries, 629 guesses; claim epsilon 4, confidence 95 %.

    Level: 5 % by the theorem; in fact 560 right guesses are expected, and 619 would refute: ten
    standard errors (8). Power: with a third of the noise nearly all guesses are right (99.9 %),
    and 619 are needed.
    """
    pytest.importorskip("torch")
    honest = AuditTask("maps", "DPLocallyLinearClassifier", 4.0, "quick").run()
    assert isinstance(honest, AttackLine)
    assert not honest.is_refuted
    # Sharp enough to mean something: chance alone proves nothing.
    assert honest.bound > 0.8
    assert AuditTask("maps control", "DPLocallyLinearClassifier", 4.0, "quick").run().is_as_expected


# ------------------------------------------------------------------------------- how it is run


def test_the_full_audit_has_every_explainer_claim_and_control() -> None:
    tasks = tasks_of("full")
    attacks = {(task.subject, task.epsilon) for task in tasks if task.kind == "attack"}
    subjects = {"classifier", "regressor", "metrics", "explainer"}
    assert attacks == {(subject, claim) for subject in subjects for claim in (0.5, 1.0, 4.0)}
    assert {task.subject for task in tasks if task.kind == "replay"} == set(REPLAYS)
    assert [task.epsilon for task in tasks if task.kind == "control"] == [1.0, 4.0]
    assert [task.kind for task in tasks].count("reference") == 2
    assert len({task.title for task in tasks}) == len(tasks)
    with pytest.raises(ValueError, match="effort is 'huge'"):
        tasks_of("huge")


@pytest.mark.thorough
def test_processes_give_the_lines_of_one(small: None) -> None:
    tasks = [AuditTask("replay", name, 0.0, "quick") for name in list(REPLAYS)[2:4]]
    alone = list(run_tasks(tasks))
    together = list(run_tasks(tasks, jobs=2))
    names = [line.subject for line in alone]
    assert sorted(line.subject for line in together) == sorted(names)
    assert all(line.is_as_expected for line in (*alone, *together))
    with pytest.raises(ValueError, match="jobs is 0"):
        next(run_tasks(tasks, jobs=0))


def test_progress_sees_every_run(small: None) -> None:
    seen: list[int] = []

    def progress(task: AuditTask) -> Any:
        def shown(runs: Any) -> Any:
            for number in runs:
                seen.append(number)
                yield number

        return shown

    (line,) = run_tasks([AuditTask("attack", "classifier", 4.0, "quick")], progress=progress)
    assert seen == list(range(20))
    assert isinstance(line, AttackLine)
    assert line.runs == 20


# --------------------------------------------------------------------------------- how it is shown


def test_tables_round_bounds_down() -> None:
    shown = tables.to_markdown([LINE, REPLAY])
    assert "| ours | 1 | 0.123 | 0.678 | membership, 1,000 fits a side: count | nothing |" in shown
    assert "| ours | 3 | 1,234 | 1.0000 | none |" in shown
    assert "minutes of one processor: 2" in shown


@pytest.mark.parametrize(
    ("is_refuted", "expected", "verdict"),
    [
        (False, STANDS, "| stands |"),
        (True, STANDS, "| **REFUTED** |"),
        (True, REFUTED, "| **refuted, as it must be** |"),
        (False, REFUTED, "| **NOT REFUTED, though it must be** |"),
    ],
)
def test_verdicts(is_refuted: bool, expected: str, verdict: str) -> None:
    line = dataclasses.replace(LINE, is_refuted=is_refuted, expected=expected)
    assert verdict in tables.to_markdown([line])
    assert line.is_as_expected == (is_refuted == (expected == REFUTED))


def test_json_brings_every_line_back() -> None:
    broken = dataclasses.replace(REPLAY, violations=("a", "b"))
    lines = [LINE, dataclasses.replace(LINE, finds=3.0), REPLAY, broken]
    assert tables.from_json(tables.to_json(lines)) == lines
    assert not broken.is_as_expected
    for text in ("{", "[]", '{"attacks": [{}], "replays": []}'):
        with pytest.raises(ValueError, match="not one that"):
            tables.from_json(text)


def test_a_page_gets_the_tables_between_its_marks() -> None:
    page = f"# Title\n\n{tables.BEGIN}\nold\n{tables.END}\n\nend\n"
    new = tables.put_into_page(page, "new\n")
    assert new == f"# Title\n\n{tables.BEGIN}\nnew\n{tables.END}\n\nend\n"
    assert tables.put_into_page(new, "new") == new
    for wrong in ("", tables.BEGIN, f"{tables.END}{tables.BEGIN}", page + page):
        with pytest.raises(ValueError, match="each once and in this order"):
            tables.put_into_page(wrong, "new")


def test_the_figure_is_a_picture(tmp_path: Path) -> None:
    from PIL import Image

    refuted = dataclasses.replace(LINE, is_refuted=True, bound=3.0, expected=REFUTED)
    tables.draw_figure([LINE, refuted, refuted, REPLAY], tmp_path / "audit.png")
    picture = Image.open(tmp_path / "audit.png")
    assert picture.width > 800
    colours = picture.convert("RGB").getcolors(2**20)
    shown = {"#" + bytes(pixel).hex() for _, pixel in colours}
    assert {tables._BELOW, tables._ABOVE} <= shown


def test_the_page_shows_the_results_that_are_kept() -> None:
    """docs/audit.md and its figure come from one run, whose results lie beside the figure."""
    pytest.importorskip("torch", reason="the kept results are of all explainers")
    document = (ROOT / "docs/figures/audit.json").read_text(encoding="utf-8")
    lines = tables.from_json(document)
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    rows = tables.to_markdown(lines).split("\n\n", 1)[1]
    assert rows.strip() in page
    assert all(line.is_as_expected for line in lines)
    assert len(lines) == len(tasks_of("full"))
    assert (ROOT / "docs/figures/audit.png").exists()


# ----------------------------------------------------------------------------- the command line


def test_the_command_writes_everything(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from interpret_dp.cli import main

    page = tmp_path / "page.md"
    page.write_text(f"{tables.BEGIN}\n{tables.END}\n", encoding="utf-8")
    out = tmp_path / "made" / "here"
    what = ("--quick", "--only", "private_metrics", "--jobs", "1")
    code = main(["audit", *what, "--out", str(out), "--page", str(page)])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert "| private_metrics | 3 | 6 | 1.0000 | none |" in shown.out
    assert "100%" in shown.err
    assert sorted(path.name for path in out.iterdir()) == ["audit.json", "audit.md", "audit.png"]
    assert "private_metrics" in page.read_text(encoding="utf-8")
    assert json.loads((out / "audit.json").read_text())["attacks"] == []


def test_the_command_fails_where_a_control_is_not_found(
    small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """20 fits a side cannot find half of the noise: the intervals are too wide."""
    from interpret_dp.cli import main

    assert main(["audit", "--quick", "--only", "control: regressor", "--jobs", "1"]) == 1
    shown = capsys.readouterr()
    assert "NOT REFUTED" in shown.out
    assert "1 of 1 attacks did not end as they must" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "0"], "--jobs is 0"),
        (["--only", "nonsense"], "no attack has that in its name"),
        (["--page", "missing.md"], "missing.md"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from interpret_dp.cli import main

    assert main(["audit", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_page_without_marks_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from interpret_dp.cli import main

    def must_not_run(*arguments: Any, **keywords: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(suite, "run_tasks", must_not_run)
    page = tmp_path / "page.md"
    page.write_text("no marks", encoding="utf-8")
    assert main(["audit", "--page", str(page)]) == 2
    assert "each once and in this order" in capsys.readouterr().err
