"""What an explainer has released so far: explanations, kept with the points that they explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from interpret_dp.lime.features import Points, distances
from interpret_dp.lime.fitted import LinearFit

__all__ = ["Explained", "History"]


@dataclass(frozen=True)
class Explained:
    """One released explanation.

    Attributes
    ----------
    point : ndarray of int16 or uint16, shape (n_coordinates,)
        The query, as ``LocalFeatures.points`` returns it: the asker's own.
    output : int
        Which of the model's outputs is explained.
    label : int
        That output at the query, in steps of ``1 / UNITS``; public, as the query is.
    fit : LinearFit
        Public.
    method : str
        How it was made, such as ``"statistics"``.
    origin : {"released", "reused", "post-processed"}
        Computed on the private rows and paid for; taken over from a near query; or computed from
        earlier explanations.
    mu : float
        What it cost; 0 unless released.
    """

    point: Points = field(repr=False)
    output: int
    label: int
    fit: LinearFit
    method: str
    origin: str
    mu: float = 0.0


class History:
    """Released explanations in their order; public but for the queries.

    Parameters
    ----------
    explained : iterable of Explained, optional
    """

    def __init__(self, explained: tuple[Explained, ...] = ()) -> None:
        self._all = list(explained)

    def __len__(self) -> int:
        """Return the number of explanations."""
        return len(self._all)

    def __iter__(self) -> Iterator[Explained]:
        """Iterate over all explanations, oldest first."""
        return iter(self._all)

    def add(self, explained: Explained) -> None:
        """Keep one more explanation."""
        self._all.append(explained)

    def released(self, output: int) -> list[Explained]:
        """Return what was computed on the private rows for one output, oldest first.

        Others are left out: what was taken over for a near query is right there, and may be wrong
        a step further on (Algorithm 3 of the paper, ``Flag``).
        """
        return [one for one in self._all if one.origin == "released" and one.output == output]

    def nearest(self, point: Points, output: int) -> tuple[Explained, float] | None:
        """Return the nearest released explanation of an output, and its distance in units.

        Parameters
        ----------
        point : ndarray of int16 or uint16, shape (n_coordinates,)
        output : int

        Returns
        -------
        (Explained, float) or None
            None if nothing was released for this output.
        """
        candidates = self.released(output)
        if not candidates:
            return None
        points: Points = np.array([one.point for one in candidates])
        apart = distances(points, point)
        index = int(np.argmin(apart))
        return candidates[index], float(apart[index])
