"""The operations as methods: one thin method each, for the session to inherit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Unpack

from interpret_dp.editor.bins import Selection
from interpret_dp.editor.state import RESET
from interpret_dp.released import EditRecord

__all__ = ["TermActions"]


class TermActions(ABC):
    """What can be done to a term; see :meth:`EditSession.preview` for the shared arguments.

    Every method returns the record that it wrote into the history, or None if nothing changed.
    """

    @abstractmethod
    def _perform(
        self, kind: str, term: str | int, arguments: Mapping[str, Any]
    ) -> EditRecord | None:
        """Plan, apply and record an operation."""

    def make_monotone(
        self, term: str | int, *, increasing: bool | str = "auto", **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Replace scores by the nearest monotone curve (isotonic regression).

        Nearest in squared distance weighted by the released bin weights, which is optimal among
        all monotone curves. The missing and unseen bins keep their scores. A continuous or an
        ordered categorical term is needed.

        Parameters
        ----------
        term : str or int
            Name or number of the term.
        increasing : bool or "auto", default="auto"
            The direction; "auto" takes the nearer one, for each class on its own.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.

        Returns
        -------
        EditRecord or None
            None if nothing changed.
        """
        return self._perform("make_monotone", term, {"increasing": increasing, **selection})

    def make_convex(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Replace scores by the nearest convex curve over the bins' centres, as above.

        A continuous term is needed.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_convex", term, selection)

    def make_concave(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Replace scores by the nearest concave curve over the bins' centres, as above.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_concave", term, selection)

    def smooth(
        self, term: str | int, *, length: float | None = None, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Smooth by the known noise: the posterior mean of a Gaussian process.

        The noise has the term's released covariance; where that is not known, variances inversely
        proportional to the bin weights, of a size chosen by marginal likelihood.

        Parameters
        ----------
        term : str or int
        length : float, default=None
            Length scale as a share of the feature's range on its declared scale; chosen by
            marginal likelihood if None.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("smooth", term, {"length": length, **selection})

    def interpolate(
        self, term: str | int, *, method: str = "ends", **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Replace scores by a straight line over the bins' centres.

        Parameters
        ----------
        term : str or int
        method : {"ends", "fit"}, default="ends"
            Through the first and the last selected bin, or by weighted least squares.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("interpolate", term, {"method": method, **selection})

    def flatten(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Give every selected bin the weighted mean of the selection.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("flatten", term, selection)

    def align(
        self, term: str | int, *, to: str, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Give every selected bin the score of the first, of the last, or their weighted mean.

        Parameters
        ----------
        term : str or int
        to : {"left", "right", "mean"}
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("align", term, {"to": to, **selection})

    def set_scores(
        self, term: str | int, scores: Any, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Give the selected bins the given scores.

        Parameters
        ----------
        term : str or int
        scores : float or array-like, shape (n_selected,) or (n_selected, n_selected_classes)
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("set_scores", term, {"scores": scores, **selection})

    def shift(
        self, term: str | int, by: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Add a number to the selected bins.

        Parameters
        ----------
        term : str or int
        by : float
            In units of score.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("shift", term, {"by": by, **selection})

    def scale(
        self, term: str | int, factor: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Multiply the selected bins by a number, and their noise with them.

        Parameters
        ----------
        term : str or int
        factor : float
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("scale", term, {"factor": factor, **selection})

    def cap(
        self, term: str | int, magnitude: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Clip scores into [-magnitude, magnitude]; by default also the missing and unseen bins.

        Parameters
        ----------
        term : str or int
        magnitude : float
            In units of score, not negative.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("cap", term, {"magnitude": magnitude, **selection})

    def remove_effect(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Set scores to 0; by default also the missing and unseen bins.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("remove_effect", term, selection)

    def reset(self, term: str | int) -> EditRecord | None:
        """Give a term back its original scores, and the intercept what the term had moved into it.

        An edit like any other: it can be undone.

        Parameters
        ----------
        term : str or int
        """
        return self._perform(RESET, term, {})
