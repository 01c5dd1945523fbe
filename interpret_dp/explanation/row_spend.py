"""What single answers of an explainer cost, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass

from interpret_dp._figures import ceil_text
from interpret_dp._validate import check_choice, check_int, check_real
from interpret_dp.accounting.composition import GdpPair

__all__ = ["BACKGROUND", "ORIGINS", "SURROGATE", "QueryBudget", "RowSpend", "source_of"]

ORIGINS = ("post-processed", "reused", "released")
"""Where an explanation comes from: computed from what was released before, taken over from an
earlier explanation as it is, or released anew."""

SURROGATE = "surrogate"
"""The method whose answers are read off one released model."""

BACKGROUND = "background"
"""The method whose answers are computed from one released background."""

_SOURCES = {
    "released": "released now",
    "reused": "reused from a near query",
    "post-processed": "from the released history",
}
_FROM_ONE_RELEASE = {SURROGATE: "from the surrogate", BACKGROUND: "from the background"}


@dataclass(frozen=True)
class RowSpend:
    """The cost of one row's explanation; public.

    Attributes
    ----------
    epsilon : float
        At the delta of the explainer's guarantee; 0 unless released. Those of several rows do not
        add up: together they cost less than their sum.
    origin : {"post-processed", "reused", "released"}
        Computed from released history or from a released surrogate; taken over from the released
        explanation of a near query; or computed on the private rows and paid for.
    method : str
        How it was made, such as ``"statistics"`` or ``"surrogate"``.
    remaining_epsilon : float or None
        Largest epsilon of one more answer of the explainer after this row; None if not known.
    """

    epsilon: float
    origin: str
    method: str
    remaining_epsilon: float | None = None

    def __post_init__(self) -> None:
        """Check every field."""
        check_choice("origin", self.origin, ORIGINS)
        object.__setattr__(self, "epsilon", check_real("epsilon", self.epsilon, low=0))
        if self.epsilon > 0 and self.origin != "released":
            raise ValueError(
                f"epsilon is {self.epsilon!r} and origin is {self.origin!r}; only what is "
                "'released' costs anything."
            )
        if not isinstance(self.method, str) or not self.method:
            raise TypeError(f"method is {self.method!r}; it must be a name such as 'statistics'.")
        if self.remaining_epsilon is not None:
            left = check_real("remaining_epsilon", self.remaining_epsilon, low=0)
            object.__setattr__(self, "remaining_epsilon", left)

    @property
    def source(self) -> str:
        """In words, where it comes from; the same for rows that are told apart in no figure."""
        return source_of(self.origin, self.method)

    @property
    def words(self) -> str:
        """The source with its cost, for a figure."""
        source = self.source[0].upper() + self.source[1:]
        if self.origin == "released":
            return f"{source} for epsilon {ceil_text(self.epsilon)}, method {self.method}"
        if self.origin == "reused" or self.method in _FROM_ONE_RELEASE:
            return f"{source}: free"
        return f"{source}: free, less exact"


def source_of(origin: str, method: str) -> str:
    """Return in words where an explanation comes from: one of five sources."""
    if origin == "post-processed" and method in _FROM_ONE_RELEASE:
        return _FROM_ONE_RELEASE[method]
    return _SOURCES[origin]


@dataclass(frozen=True)
class QueryBudget:
    """What an explainer had spent and had left when an explanation was made; public.

    Attributes
    ----------
    spent : GdpPair
        Everything that it had released, this explanation included.
    remaining_epsilon : float
        Largest epsilon, at the delta of its guarantee, of one more answer.
    more_queries : int or None
        About how many more queries at the usual cost of one are left; None if that is not known.
    """

    spent: GdpPair
    remaining_epsilon: float
    more_queries: int | None = None

    def __post_init__(self) -> None:
        """Check the figures."""
        left = check_real("remaining_epsilon", self.remaining_epsilon, low=0)
        object.__setattr__(self, "remaining_epsilon", left)
        if self.more_queries is not None:
            check_int("more_queries", self.more_queries, low=0)
