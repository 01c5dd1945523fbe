"""A replay of its own: what reaches the one door by which noisy numbers leave, digit for digit.

It takes nothing from ``interpret_dp.audit``, which was written with the code that it audits. Two
runs get the same answers, so that all that follows from them must be the same; and what they asked
may differ by what one unit adds, by the norm that the door was given.
"""

import contextlib
import io
import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from interpret_dp.accounting import composition, events
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.exceptions import ReleaseError
from interpret_dp.fitting import declaring
from interpret_dp.llm import request
from interpret_dp.mechanisms import Selection, SystemRandomness, additive
from interpret_dp.release import ReleaseSession

Sums = Mapping[Hashable, int]
_ASKED = ("gaussian", "select", "choose", "sampled_gaussian")
_NOT_COMPARED = {"ledger", "ledger_head", "account", "model", "token", "hash", "previous"}


@dataclass
class Call:
    """One request at the door: what is public of it, its exact integers, and the answer.

    ``square`` bounds the squared L2 norm of the change of each release, and ``total`` the sum of
    absolute changes of a selection.
    """

    public: tuple[Any, ...]
    exact: list[Sums]
    square: int
    total: int | None = None
    answer: Any = None

    @property
    def is_sum(self):
        """Whether each row adds something of its own: scores of choices are norms."""
        return not isinstance(self.answer, int)


@dataclass
class Run:
    """All that one fit asked and published, and all that it said."""

    calls: list[Call] = field(default_factory=list)
    published: dict[str, object] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Door:
    """Stands where noise is drawn; answers as the first run was answered."""

    def __init__(self, first, loudness):
        self.calls = []
        self._first, self._loudness = first, loudness
        self._noise = np.random.default_rng(0)
        self._session = None
        self._given = {}
        self.wrong = []

    def gaussian(self, name, exact, *, sensitivity, mu, **_):
        is_aligned, neighbourhood = self._given["aligned"], self._session.neighbourhood
        n_rows = neighbourhood.total_rows if name == "rate" else None
        square = self._square(sensitivity, self._given["row_norm"], is_aligned, n_rows)
        self._require(_is_exact(exact), f"{name}: no sums of int64")
        sigma = max(1024.0, math.sqrt((sensitivity / mu) ** 2 + 9.0))
        stacked = [dict(enumerate(one.ravel().tolist())) for one in exact]
        call = Call((name, exact.shape, sensitivity, mu), stacked, square)
        return self._answer(call, lambda: self._noisy(exact, sigma)).copy(), sigma

    def sampled(self, name, n_rows, sums, *, sensitivity, **given):
        neighbourhood = self._session.neighbourhood
        is_proved = (neighbourhood.relation, neighbourhood.max_rows) == ("add_or_remove_one", 1)
        self._require(is_proved and sensitivity == self._given["row_norm"], f"{name}: other norm")
        sigma = max(1024.0, math.hypot(sensitivity * given["noise_multiplier"], 3.0))
        exact = sums(np.arange(n_rows))
        self._require(_is_exact(exact), f"{name}: no sums of int64")
        if len(self.calls) < 3:
            # Rows by themselves: none is longer than was said, and none changes another.
            rows = [sums(np.array([row])) for row in range(n_rows)]
            lengths = [_square(one.ravel().tolist()) for one in rows]
            self._require(max(lengths, default=0) <= sensitivity**2, f"{name}: a row is longer")
            is_sum = np.array_equal(sum(rows, np.zeros_like(exact)), exact)
            self._require(is_sum, f"{name}: rows change each other")
        costs = given["noise_multiplier"], given["probability"]
        call = Call(
            (name, exact.shape, sensitivity, *costs),
            [dict(enumerate(exact.ravel().tolist()))],
            sensitivity**2,
        )
        return self._answer(call, lambda: self._noisy(exact, sigma)).copy(), sigma

    def select(self, name, counts, *, unit_rows, **given):
        square = self._square(given["sensitivity"], LATTICE, True)
        kept, relation = unit_rows * LATTICE, self._session.neighbourhood.relation
        is_proved = unit_rows == self._session.neighbourhood.max_rows
        is_proved &= all(type(key) in (str, float) and key == key for key in counts)
        is_proved &= all(type(count) is int for count in counts.values())
        self._require(is_proved, f"{name}: no counts of texts and numbers")
        total = kept if relation == "add_or_remove_one" else 2 * kept
        exact = {key: LATTICE * count for key, count in counts.items()}

        def found():
            # What both tables have for certain: the rest is what delta pays for.
            keys = sorted(
                (key for key, count in counts.items() if count > unit_rows),
                key=lambda key: (isinstance(key, str), key),
            )
            numbers = np.array([exact[key] for key in keys], dtype=np.int64)
            return Selection(tuple(keys), numbers, 1024.0, kept)

        public = name, unit_rows, given["sensitivity"], given["mu"], given["delta"]
        return self._answer(Call(public, [exact], square, total), found)

    def choose(self, name, scores, *, sensitivity, epsilon, **_):
        square = self._square(sensitivity, self._given["row_norm"], False)
        self._require(all(type(score) is int for score in scores), f"{name}: no integers")
        public = name, len(scores), sensitivity, epsilon
        return self._answer(
            Call(public, [{0: score} for score in scores], square), lambda: int(np.argmin(scores))
        )

    def _square(self, sensitivity, row_norm, is_aligned, n_rows=None):
        """Return the square of what one unit may change, by the definition of neighbours."""
        neighbourhood = self._session.neighbourhood
        factor = {"add_or_remove_one": 1, "replace_one": 2 if is_aligned else 4}
        n_rows = n_rows or (1 if neighbourhood.shares_weight else neighbourhood.max_rows)
        square = factor[neighbourhood.relation] * (n_rows * row_norm) ** 2
        self._require(square <= sensitivity**2, f"noise for {sensitivity} is too small")
        return square

    def _require(self, is_right, text):
        # An error within a session would become a message of the package's own.
        self.wrong += [] if is_right else [text]

    def _noisy(self, exact, sigma):
        noise = self._noise.normal(scale=self._loudness * sigma, size=exact.shape)
        return exact + noise.astype(np.int64)

    def _answer(self, call, fresh):
        place = len(self.calls)
        self.calls.append(call)
        given = sorted(self._given.items())
        coins = repr(self._session.public_choices.bit_generator.state)
        call.public = (*call.public, *given, coins)
        earlier = self._first.calls[place : place + 1] if self._first else []
        is_same = bool(earlier) and earlier[0].public == call.public
        call.answer = earlier[0].answer if is_same else fresh()
        return call.answer

    @contextlib.contextmanager
    def open(self):
        """Stand at the door; nothing else can draw noise or sample rows."""

        def noting(method):
            def noted(session, *arguments, **given):
                self._session = session
                self._given = {key: given[key] for key in ("row_norm", "aligned") if key in given}
                return method(session, *arguments, **given)

            return noted

        def seeded(source):
            source.public = np.random.default_rng(7)

        methods = {name: noting(getattr(ReleaseSession, name)) for name in _ASKED}

        def drawn(*_):
            self._require(False, "noise was drawn elsewhere")

        closed = dict.fromkeys(("noise", "sample", "below"), drawn)
        with (
            mock.patch.multiple(ReleaseSession, **methods),
            mock.patch.multiple(SystemRandomness, __init__=seeded, **closed),
            mock.patch.multiple(
                additive,
                gaussian_mechanism=self.gaussian,
                sampled_gaussian_mechanism=self.sampled,
                gaussian_thresholding=self.select,
                exponential_mechanism=self.choose,
            ),
            # What steps cost is a function of public numbers that takes seconds.
            mock.patch.multiple(events, calibrated_noise=_noise_of, covering_mu=_cost_of),
            mock.patch.object(request, "calibrated_noise", _noise_of),
            mock.patch.object(composition, "covering_mu", _cost_of),
        ):
            yield


def run(fit, first=None, loudness=1.0):
    """Run a fit with answers of its own, or with those of an earlier run."""
    door, found = Door(first, loudness), Run()
    declaring._said.clear()
    text = io.StringIO()
    with (
        door.open(),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(text),
    ):
        warnings.simplefilter("always")
        try:
            found.published = dict(_leaves(fit(), "", ()))
        except Exception as error:
            links = (error, error.__cause__, error.__context__)
            found.said += [f"{type(link).__name__}: {link}" for link in links]
            found.wrong += ["an error within"] if isinstance(error, ReleaseError) else []
    found.calls = door.calls
    found.wrong += door.wrong
    found.said += [text.getvalue(), *(f"{one.category.__name__}: {one.message}" for one in caught)]
    return found


def faults(one, other):
    """Return how two runs on neighbouring tables break the promise; empty if they do not."""
    found = [*one.wrong, *other.wrong]
    found += [] if one.said == other.said else [f"said {one.said} and {other.said}"]
    sequences = [[call.public for call in run.calls] for run in (one, other)]
    if sequences[0] != sequences[1]:
        found.append(f"asked {[[call[:4] for call in calls] for calls in sequences]}")
    for mine, its in zip(one.calls, other.calls, strict=False):
        for change in changes(mine, its):
            if _square(change.values()) > mine.square:
                ratio = math.sqrt(_square(change.values()) / max(mine.square, 1))
                found.append(f"{mine.public[0]}: a sum changed by {ratio:.4g} of its norm")
            if mine.total is not None and sum(map(abs, change.values())) > mine.total:
                found.append(f"{mine.public[0]}: more counts changed than a unit has rows")
    paths = one.published.keys() | other.published.keys()
    missing = object()
    found += [
        f"published{path} differs"
        for path in sorted(paths)
        if one.published.get(path, missing) != other.published.get(path, missing)
    ]
    return found


def changes(one, other):
    """Return the change of each release, as signed integers modulo 2**64."""
    return [
        {
            key: (its.get(key, 0) - mine.get(key, 0) + 2**63) % 2**64 - 2**63
            for key in mine.keys() | its.keys()
        }
        for mine, its in zip(one.exact, other.exact, strict=False)
    ]


def _noise_of(*_):
    return 2.0


def _cost_of(*_):
    return 0.5


def _is_exact(sums):
    return isinstance(sums, np.ndarray) and sums.dtype == np.int64


def _square(numbers):
    return sum(number * number for number in numbers)


def _leaves(value, path, above):
    """Yield all that can be read off what a fit published, each part under its path."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, (value.dtype.str, value.shape, value.tobytes())
        return
    if isinstance(value, pd.DataFrame | pd.Series):
        value = value.to_dict()
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        value = dict(enumerate(value))
    elif not isinstance(value, dict) and hasattr(value, "__dict__"):
        yield path, type(value).__name__
        value = vars(value)
    if not isinstance(value, dict):
        yield path, repr(value) if isinstance(value, str | float | int | None) else type(value)
        return
    yield f"{path} keys", repr(list(value))
    for key, part in value.items():
        if id(part) not in above and key not in _NOT_COMPARED:
            yield from _leaves(part, f"{path}.{key}", (*above, id(part)))
