"""interpret's explanation objects, with their privacy cost attached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from interpret_dp.explanation.figures import contributions_heatmap
from interpret_dp.explanation.spend import PrivacySpend

__all__ = ["attach_privacy"]

_LINE_HEIGHT = 18
_LINE_STYLE = {"size": 11, "color": "#555"}


def attach_privacy(explanation: Any, privacy: PrivacySpend) -> Any:
    """Return the explanation with ``.privacy``, and with the cost as a line in every figure.

    Parameters
    ----------
    explanation : interpret's EBMExplanation
        Result of ``explain_global`` or ``explain_local``; public.
    privacy : PrivacySpend
    """
    explanation.__class__ = _private_class(explanation.__class__)
    explanation.privacy = privacy
    return explanation


@lru_cache
def _private_class(base: Any) -> Any:
    """Derive from whatever class interpret returned: its module is not a public name."""

    class PrivateEBMExplanation(base):
        """An EBM explanation whose figures carry their privacy cost."""

        privacy: PrivacySpend

        def visualize(self, key: int | None = None) -> Any:
            """Return interpret's figure with the privacy cost below its title."""
            if self.explanation_type == "local" and key is None:
                # interpret has nothing here and would leave an empty card.
                figure = contributions_heatmap(self.data(-1)["specific"])
            else:
                figure = super().visualize(key)
            if figure is not None and hasattr(figure, "update_layout"):
                _add_line(figure, self.privacy.line)
            return figure

        def __reduce__(self) -> tuple[Any, ...]:
            return _rebuild, (base, self.__dict__)

    PrivateEBMExplanation.__qualname__ = "PrivateEBMExplanation"
    return PrivateEBMExplanation


def _rebuild(base: Any, state: dict[str, Any]) -> Any:
    explanation = base.__new__(_private_class(base))
    explanation.__dict__.update(state)
    return explanation


def _add_line(figure: Any, line: str) -> None:
    """Write the line under the title, inside the top margin."""
    figure.add_annotation(
        text=line,
        xref="paper",
        yref="paper",
        x=0.5,
        y=1.0,
        yanchor="bottom",
        showarrow=False,
        font=_LINE_STYLE,
    )
    margin = figure.layout.margin.t
    figure.update_layout(margin={"t": (100 if margin is None else margin) + _LINE_HEIGHT})
