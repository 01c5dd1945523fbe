"""Additive rows on Dask workers: one round trip for each sum, and the log of score updates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.backends.base import AdditiveRows, RegressionRows
from interpret_dp.backends.dask.parts import Command, added, answered, changed_part, table_facts
from interpret_dp.backends.dask.scheduling import Workers


class DaskRows:
    """Rows of which each worker holds some; see :class:`interpret_dp.backends.base.AdditiveRows`.

    Parameters
    ----------
    workers : Workers
    parts : sequence of handles
        Of :class:`~interpret_dp.backends.dask.parts.Part`.
    form : AdditiveRows
        The same kind of rows, without any: its norms are those of all parts. Public.

    Notes
    -----
    All changes of scores since ``begin`` are public, and kept here. A worker that lost its scores,
    or never had them, is sent all of them once more; every sum is therefore the same, bit for bit,
    whatever is lost. Codes are recomputed by Dask, from the collections.
    """

    def __init__(self, workers: Workers, parts: Sequence[Any], form: AdditiveRows) -> None:
        self._workers = workers
        self._parts = list(parts)
        self.n_scores = form.n_scores
        self.residual_norm = form.residual_norm
        self.target_norm = form.target_norm
        self._form = form
        self._commands: list[Command] = []
        self._first = 0  # number of the first of these commands, over all
        self._sent = 0  # how many of them all parts have followed
        self.begin(np.zeros(self.n_scores, dtype=np.int64))

    def bin_counts(self, n_bins: Sequence[int]) -> list[NDArray[np.int64]]:
        """Add the weights per fine bin; one array a feature."""
        counts: list[NDArray[np.int64]] = self._ask("bin_counts", list(n_bins))
        return counts

    def target_sums(self) -> NDArray[np.int64]:
        """Sum the target."""
        sums: NDArray[np.int64] = self._ask("target_sums")
        return sums

    def target_counts(self, edges: NDArray[np.float64]) -> NDArray[np.int64]:
        """Add the weights of the rows in cells of a regression's target."""
        counts: NDArray[np.int64] = self._ask("target_counts", edges)
        return counts

    def residual_counts(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add the weights of the rows in cells of target minus score."""
        counts: NDArray[np.int64] = self._ask("residual_counts", edges)
        return counts

    def bound_residuals(self, norm: int) -> None:
        """Clip residuals at another bound from now on."""
        self.residual_norm = norm
        self._commands.append(("bound_residuals", (norm,)))

    def clip_residuals(self, clip: float) -> None:
        """Choose the bound of a regression's residuals, before the first round."""
        # The form's tables are the ones that all parts take over.
        if isinstance(self._form, RegressionRows):
            self._form.clip_residuals(clip)
        self._change("clip_residuals", clip)

    def merge_bins(self, maps: Sequence[NDArray[np.uint16]]) -> None:
        """Replace every feature's codes by those of merged bins."""
        self._change("merge_bins", list(maps))

    def begin(self, scores: NDArray[np.int64]) -> None:
        """Set the scores of every row, on top of its own."""
        # Nothing before it matters any more. Numbers are never used twice.
        self._first += len(self._commands)
        self._commands = [("begin", (np.array(scores, dtype=np.int64),))]
        if isinstance(self._form, RegressionRows):
            # A part keeps the bound of its last command.
            self._commands.append(("bound_residuals", (self.residual_norm,)))
        self._sent = 0

    def advance(
        self,
        updated: NDArray[np.int64],
        updates: NDArray[np.int32],
        wanted: NDArray[np.int64],
        n_bins: int,
    ) -> NDArray[np.int64]:
        """Add updates to the scores, then sum residuals per bin; one round trip."""
        self._commands.append(("advance", (np.array(updated), np.array(updates))))
        if len(wanted) == 0:  # with the next question
            return np.zeros((0, n_bins, self.n_scores), dtype=np.int64)
        sums: NDArray[np.int64] = self._ask("advance", np.array(wanted), n_bins)
        return sums

    def product_sums(
        self, wanted: Sequence[int], functions: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Sum products of what codes stand for; one round trip."""
        sums: NDArray[np.int64] = self._ask("product_sums", list(wanted), list(functions))
        return sums

    def pair_sums(
        self,
        pairs: Sequence[tuple[int, int]],
        maps: Sequence[NDArray[np.uint16]],
        widths: Sequence[int],
    ) -> list[NDArray[np.int64]]:
        """Sum residuals over the cells of pairs; one round trip."""
        sums: list[NDArray[np.int64]] = self._ask("pair_sums", list(pairs), list(maps), widths)
        return sums

    def pair_up(
        self,
        pairs: Sequence[tuple[int, int]],
        maps: Sequence[NDArray[np.uint16]],
        widths: Sequence[int],
    ) -> None:
        """Replace the features by pairs of them, from the present scores on."""
        self._change("pair_up", list(pairs), list(maps), list(widths))
        self.begin(np.zeros(self.n_scores, dtype=np.int64))

    def _change(self, name: str, *arguments: Any) -> None:
        """Replace all parts by changed ones; Dask can make these again from the collections."""
        if name != "pair_up" and any(command == "advance" for command, _ in self._commands):
            raise RuntimeError(f"{name} was called after advance; codes are set before scores.")
        commands, tables = tuple(self._commands), table_facts(self._form)
        change = partial(changed_part, self._first, commands, (name, arguments), tables)
        self._parts = self._workers.each(name, change, self._parts)
        # New parts have followed nothing.
        self._sent = 0

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Return the sum of all parts' answers at the present scores; one round trip."""
        question = (name, arguments)
        numbers = list(range(len(self._parts)))
        new = self._first + self._sent, tuple(self._commands[self._sent :]), question
        answer = self._total(new, numbers)
        if answer.late:
            every = self._first, tuple(self._commands), question
            answer = added([answer, self._total(every, list(answer.late))])
        self._sent = len(self._commands)
        return answer.total

    def _total(self, request: tuple[int, tuple[Command, ...], Command], numbers: list[int]) -> Any:
        some = [self._parts[number] for number in numbers]
        return self._workers.total(
            self._workers.each("ask", partial(answered, *request), some, numbers)
        )
