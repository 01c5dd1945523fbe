"""What explanations would cost, known before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from interpret_dp._figures import ceil_text, floor_text

__all__ = ["ExplanationCost"]


@dataclass(frozen=True)
class ExplanationCost:
    """The price of explanations that are computed in full; public.

    Attributes
    ----------
    n_queries : int
    method : str
    epsilon, delta : float
        Of all of them together. Explanations that are taken over from near queries or computed
        from the history are free, and adaptive methods pay at most this.
    mu : float
        The same as Gaussian differential privacy.
    fits : bool
        Whether the explainer and the data set's account have room for them now.
    n_left : int
        How many more fully computed explanations they have room for now.
    remaining_epsilon : float
        Of one more release of the explainer, at ``delta``, before these explanations.
    """

    n_queries: int
    method: str
    epsilon: float
    delta: float
    mu: float
    fits: bool
    n_left: int
    remaining_epsilon: float

    def __str__(self) -> str:
        """Return the cost in one sentence."""
        is_one = self.n_queries == 1
        what = f"{self.n_queries:,} explanation{'' if is_one else 's'} by method {self.method!r}"
        if self.mu == 0 and self.fits:
            return f"{what} {'is' if is_one else 'are'} free."
        them = "it" if is_one else "them"
        room = f"There is {'' if self.fits else 'no '}room for {them}"
        return (
            f"{what} {'costs' if is_one else 'cost'} at most epsilon "
            f"{ceil_text(self.epsilon)} at delta {ceil_text(self.delta)}. {room}: {self.n_left:,} "
            f"fit (epsilon {floor_text(self.remaining_epsilon)} is left)."
        )
