"""Plants faults in the code that carries the guarantee, one by one, and counts what tests notice.

``make mutants`` samples 500 mutants of the modules below with a fixed seed: a comparison that is
off by one, a sum with the wrong sign, a condition that is negated, a statement that is gone. Each
runs in a process of its own, against the tests that execute the mutated line, quickest first, for
at most ``--seconds``. A mutant that no test notices has survived. Some survivors are no faults
(a bound that is never met with equality); what counts is that the share of the others stays.

A mutant is chosen by the hash of its function, its operator and its code, so that changes elsewhere
do not draw other mutants. Modules that numba compiles run as plain Python.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import hashlib
import importlib.abc
import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TARGETS = (
    *("interpret_dp/mechanisms", "interpret_dp/accounting", "interpret_dp/release.py"),
    *("interpret_dp/ledger/account.py", "interpret_dp/backends"),
    "interpret_dp/schema/encode.py",
)
SEED = "interpret_dp mutants 1"
CACHE = ROOT / ".mutants"
# Tests whose compiled loops are small enough to run as plain Python.
WITHOUT_COMPILER = (
    *("tests/backends", "tests/mechanisms", "tests/ebm/trainer", "tests/contract", "tests/schema"),
    *("tests/audit/test_row_purity.py", "tests/audit/test_neighbours.py", "tests/fitting"),
)
LONGEST_TEST = 20
"""Seconds: a longer test is not run against mutants."""

# ------------------------------------------------------------------------------------- mutants

_SWAPPED = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
    **{
        ast.LShift: ast.RShift,
        ast.RShift: ast.LShift,
        ast.BitAnd: ast.BitOr,
        ast.BitOr: ast.BitAnd,
    },
}
_OTHER_NAME = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], ast.AST]]]:
    """Yield what can be done to a node: the operator's name, and the change on a copy of it."""

    def swap(field: str, at: int | None = None) -> Callable[[Any], ast.AST]:
        def change(target: Any) -> ast.AST:
            if at is None:
                setattr(target, field, _SWAPPED[type(getattr(target, field))]())
            else:
                getattr(target, field)[at] = _SWAPPED[type(getattr(target, field)[at])]()
            return target  # type: ignore[no-any-return]

        return change

    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if type(op) in _SWAPPED:
                yield f"compare {at}", swap("ops", at)
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in _SWAPPED:
        yield "operator", swap("op")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "unary", lambda target: target.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "flag", lambda target: ast.Constant(not target.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number", lambda target: ast.Constant(target.value + 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition", _negated
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return", lambda target: ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "statement", lambda target: ast.Pass()
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        field = "id" if isinstance(node, ast.Name) else "attr"
        if getattr(node, field) in _OTHER_NAME:
            yield "name", lambda target: _renamed(target, field)


def _negated(target: Any) -> ast.AST:
    target.test = ast.UnaryOp(ast.Not(), target.test)
    return target  # type: ignore[no-any-return]


def _renamed(target: Any, field: str) -> ast.AST:
    setattr(target, field, _OTHER_NAME[getattr(target, field)])
    return target  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Mutant:
    """One planted fault: the node that a walk through the tree meets as number ``node``."""

    path: str
    place: str
    operator: str
    line: int
    node: int
    before: str
    key: str

    @property
    def module(self) -> str:
        """Return the dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def code(self) -> Any:
        """Compile the module with the fault in it; lines keep their numbers."""
        tree = ast.parse((ROOT / self.path).read_text(encoding="utf-8"))
        target, parent, field, at = next(found for found in _walk(tree) if found[0] == self.node)[
            1:
        ]
        change = dict(_changes(target))[self.operator]
        new = ast.copy_location(change(copy.deepcopy(target)), target)
        if at is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[at] = new
        return compile(ast.fix_missing_locations(tree), str(ROOT / self.path), "exec")


_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "bases"}


def _walk(tree: ast.AST) -> Iterator[tuple[int, Any, Any, str, int | None]]:
    """Yield all nodes that may be mutated, with their parents: no annotation, no docstring."""
    number = 0
    stack: list[tuple[Any, Any, str, int | None]] = [(tree, None, "", None)]
    while stack:
        node, parent, field, at = stack.pop()
        if parent is not None:
            yield number, node, parent, field, at
            number += 1
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            continue
        for name, value in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS:
                continue
            if isinstance(value, list):
                stack += [(v, node, name, i) for i, v in enumerate(value) if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append((value, node, name, None))


def _scopes(tree: ast.Module) -> dict[int, str]:
    """Return the qualified name of the function or class that each line belongs to."""
    found: dict[int, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".strip(".")
                lines = range(child.lineno, (child.end_lineno or child.lineno) + 1)
                found.update(dict.fromkeys(lines, inner))
            visit(child, inner)

    visit(tree, "")
    return found


def mutants_of(path: str) -> list[Mutant]:
    """Return every mutant of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    scopes = _scopes(tree)
    repeated: collections.Counter[str] = collections.Counter()
    found = []
    for number, node, _parent, _field, _at in _walk(tree):
        for operator, _ in _changes(node):
            place, before = scopes.get(node.lineno, ""), ast.unparse(node)
            name = "|".join([path, place, operator, before])
            repeated[name] += 1
            key = hashlib.sha256(f"{SEED}|{name}|{repeated[name]}".encode()).hexdigest()
            found.append(Mutant(path, place, operator, node.lineno, number, before[:90], key))
    return found


def target_files() -> list[str]:
    """Return the paths of the modules that are mutated, relative to the checkout."""
    paths: list[str] = []
    for target in TARGETS:
        where = ROOT / target
        files = [where] if where.is_file() else sorted(where.rglob("*.py"))
        paths += [file.relative_to(ROOT).as_posix() for file in files]
    return paths


def sample(size: int) -> list[Mutant]:
    """Return the sample; it depends on the mutated functions alone."""
    paths = target_files()
    everything = [mutant for path in paths for mutant in mutants_of(path)]
    print(f"{len(everything)} mutants in {len(paths)} modules")
    return sorted(everything, key=lambda mutant: mutant.key)[:size]


def _is_compiled(path: str) -> bool:
    text = (ROOT / path).read_text(encoding="utf-8")
    return "import numba" in text or "import compiled" in text


# ----------------------------------------------------------------------- which tests run which line


class _Recorder:
    """A pytest plugin that notes the lines of the targets that each test executes."""

    def __init__(self, folder: Path, longest: int) -> None:
        import coverage

        self.folder, self.longest = folder, longest
        # By name: a pattern's star does not reach into folders.
        files = [str(ROOT / path) for path in target_files()]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.coverage.start()
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.coverage.switch_context(item.nodeid)
        start = time.monotonic()
        if self.longest:
            signal.signal(signal.SIGALRM, _too_long)
            signal.alarm(self.longest)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            self.seconds[item.nodeid] = round(time.monotonic() - start, 3)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            path = Path(file).relative_to(ROOT).as_posix()
            lines[path] = dict(data.contexts_by_lineno(file))
        seconds = {test: s for test, s in self.seconds.items() if test not in self.failed}
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        document = {"seconds": seconds, "lines": lines}
        (self.folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def _too_long(*_: Any) -> None:
    raise TimeoutError("longer than a mutant may take")


def pytest_configure(config: pytest.Config) -> None:
    """Record, where this module is given to pytest as a plugin (in the workers under xdist)."""
    folder = os.environ.get("MUTANTS_RECORD")
    is_controller = bool(config.getoption("numprocesses", None))
    if folder and not is_controller:
        longest = int(os.environ.get("MUTANTS_LONGEST", "0"))
        config.pluginmanager.register(_Recorder(Path(folder), longest))


def _record(name: str, tests: list[str], workers: int, environment: dict[str, str]) -> None:
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.json"):
        file.unlink()
    command = [sys.executable, "-m", "pytest", "-p", "scripts.mutants", "-n", str(workers), "-q"]
    command += ["--dist", "loadfile", "-m", "not slow and not browser and not notebook", *tests]
    # A test that fails under the tracer, or as plain Python, is not run against mutants.
    subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment | {"MUTANTS_RECORD": str(folder), "OMP_NUM_THREADS": "1"},
        check=False,
    )


def _read(name: str) -> tuple[dict[str, float], dict[str, dict[int, set[str]]]]:
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = collections.defaultdict(
        lambda: collections.defaultdict(set)
    )
    for file in sorted((CACHE / name).glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        seconds |= document["seconds"]
        for path, found in document["lines"].items():
            for line, tests in found.items():
                lines[path][int(line)] |= set(tests)
    return seconds, lines


# -------------------------------------------------------------------------------------- running


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module with the fault in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.mutant.module:
            return None
        file = ROOT / self.mutant.path
        spec = importlib.util.spec_from_file_location(
            name,
            file,
            loader=self,
            submodule_search_locations=[str(file.parent)] if file.name == "__init__.py" else None,
        )
        return spec

    def create_module(self, spec: Any) -> Any:
        return None

    def exec_module(self, module: Any) -> None:
        exec(self.mutant.code(), module.__dict__)


def _in_child(mutant: Mutant, tests: list[str], log: Path, limit: int) -> int:
    """Run tests against a mutant in a forked process that has loaded all libraries but ours."""
    # Processor time: on a busy machine a mutant must not look like an endless loop.
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if _is_compiled(mutant.path):
        import numba

        numba.config.DISABLE_JIT = True
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    sys.meta_path.insert(0, _Planted(mutant))
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    # Libraries were loaded before pytest could rewrite their assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *tests]))


def _killer(log: Path) -> str | None:
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return None


def run_mutant(mutant: Mutant, tests: list[str], limit: int) -> dict[str, Any]:
    """Return whether the tests notice a mutant within some seconds, and which one does."""
    log = CACHE / f"{mutant.key[:16]}.log"
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        status = 70
        try:
            status = _in_child(mutant, tests, log, limit)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    while True:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            break
        # A deadlock uses no processor time.
        if time.monotonic() - start > 10 * limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"outcome": "timeout", "killer": None}
        time.sleep(0.05)
    status = os.waitstatus_to_exitcode(code)
    if status == 0:
        log.unlink(missing_ok=True)
        return {"outcome": "survived", "killer": None}
    if status == -signal.SIGXCPU:
        return {"outcome": "timeout", "killer": None}
    # A module that cannot be imported ends the collection of its tests, with 2 or 4; compiled code
    # that reads outside its arrays ends the process.
    pattern = r"\d+ errors? in |while loading conftest"
    is_import = status == 4 and re.search(pattern, log.read_text(errors="replace"))
    outcome = "killed" if status in (1, 2) or status < 0 or is_import else "error"
    return {"outcome": outcome, "killer": _killer(log), "status": status}


def _chosen(
    mutant: Mutant,
    seconds: dict[str, float],
    lines: dict[str, dict[int, set[str]]],
    budget: float,
    first: str | None,
) -> list[str]:
    """Return tests of the mutated line, quickest first, as many as fit into the budget."""
    at = lines.get(mutant.path, {})
    # A statement of several lines counts under its first one, and imports under no test.
    tests = at.get(mutant.line) or next(
        (at[line] for line in range(mutant.line, mutant.line - 12, -1) if at.get(line)), set()
    )
    if tests <= {""}:
        tests = {test for found in at.values() for test in found}
    ordered = sorted(tests & set(seconds), key=lambda test: (seconds[test], test))
    chosen, total = [], 0.0
    for test in ordered:
        if seconds[test] <= LONGEST_TEST and total + seconds[test] <= budget:
            chosen.append(test)
            total += seconds[test]
    # Of many quick cases of one test, 40 are enough.
    counts: collections.Counter[str] = collections.Counter()
    few = []
    for test in chosen:
        counts[test.split("[")[0]] += 1
        if counts[test.split("[")[0]] <= 40:
            few.append(test)
    if first in seconds:
        few = [first, *(test for test in few if test != first)]
    return few


def main() -> None:
    """Sample, run and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=500, help="mutants to sample (default: 500)")
    parser.add_argument("--seconds", type=float, default=15, help="of tests for each (default: 15)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep-map", action="store_true", help="do not run the suite again")
    parser.add_argument("--out", type=Path, default=CACHE / "mutants.json")
    parser.add_argument("--first", type=Path, help="a result: tests that killed then run first")
    options = parser.parse_args()
    chosen = sample(options.size)
    if not options.keep_map:
        _record("compiled", ["tests"], options.workers, {})
        plain = {"NUMBA_DISABLE_JIT": "1", "MUTANTS_LONGEST": str(LONGEST_TEST)}
        _record("plain", list(WITHOUT_COMPILER), options.workers, plain)
    maps = {False: _read("compiled"), True: _read("plain")}
    known: dict[str, Any] = {}
    if options.first:
        known = {m["key"]: m for m in json.loads(options.first.read_text())["mutants"]}
    _load_libraries()
    os.environ["OMP_NUM_THREADS"] = "1"
    results: list[dict[str, Any]] = []

    def attempt(mutant: Mutant) -> None:
        seconds, lines = maps[_is_compiled(mutant.path)]
        first = known.get(mutant.key, {}).get("killer")
        tests = _chosen(mutant, seconds, lines, options.seconds, first)
        result: dict[str, Any] = {"outcome": "not covered", "killer": None}
        if tests:
            result = run_mutant(mutant, tests, round(6 * options.seconds) + 60)
        results.append({**vars(mutant), **result, "n_tests": len(tests)})
        print(f"{len(results):4d} {result['outcome']:12s} {_line(mutant)}", flush=True)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(attempt, chosen))
    _report(results, options.out)


def _load_libraries() -> None:
    """Import what the tests import, but not our package: forks then start at once."""
    for name in (
        *("numpy", "pandas", "scipy.stats", "scipy.optimize", "sklearn.ensemble", "pyarrow"),
        *("plotly.graph_objects", "interpret", "dp_accounting", "hypothesis"),
        *("hypothesis.extra.numpy", "sqlalchemy", "numba", "polars", "mpmath"),
    ):
        try:
            importlib.import_module(name)
        except ImportError:
            print(f"without {name}")
    assert not any(name.split(".")[0] == "interpret_dp" for name in sys.modules)


def _line(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line} {mutant.place} {mutant.operator}: {mutant.before}"


def _report(results: list[dict[str, Any]], out: Path) -> None:
    folders: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for result in results:
        parts = result["path"].split("/")
        folder = "/".join(parts[:2]) if parts[1] in {"mechanisms", "accounting", "backends"} else ""
        folders[folder or result["path"]][result["outcome"]] += 1
        folders["all"][result["outcome"]] += 1
    for folder, counts in folders.items():
        total = sum(counts.values())
        noticed = counts["killed"] + counts["timeout"]
        share = f"{noticed:4d} of {total:4d} noticed ({noticed / total:.1%})"
        print(f"{folder:34s} {share}  {dict(counts)}")
    out.write_text(json.dumps({"mutants": results}, indent=1) + "\n", encoding="utf-8")
    print(f"written to {out}")


if __name__ == "__main__":
    main()
