"""A small tree of page elements, so that one description becomes HTML here and Dash elsewhere."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from interpret_dp._documents import printable


@dataclass(frozen=True)
class Element:
    """One element of a page.

    Attributes
    ----------
    tag : str
        Name of the HTML element, such as ``"div"``.
    children : tuple of Element or str
        Texts are shown literally, whatever they hold.
    style : dict of str to str
        Style by CSS property. Notebooks drop style sheets of cells that they do not trust, so
        everything is written at the element.
    css_class, title, role : str
        The attributes of the same names (``class``); left out if empty.
    """

    tag: str
    children: tuple[Element | str, ...] = ()
    style: dict[str, str] = field(default_factory=dict)
    css_class: str = ""
    title: str = ""
    role: str = ""

    @property
    def text(self) -> str:
        """All texts below the element, one after the other."""
        return " ".join(c if isinstance(c, str) else c.text for c in self.children if c)


def element(
    tag: str,
    *children: Element | str | None,
    style: str = "",
    css_class: str = "",
    title: str = "",
    role: str = "",
) -> Element:
    """Return an element; children that are None are left out, ``style`` is CSS.

    Parameters
    ----------
    tag : str
        Name of the HTML element.
    *children : Element, str or None
    style : str
        ``"property: value; property: value"``, written by this package, never by a user.
    css_class, title, role : str
        Attributes; left out if empty.
    """
    pairs = (entry.split(":", 1) for entry in style.split(";") if entry.strip())
    return Element(
        tag,
        tuple(child for child in children if child is not None),
        {name.strip(): value.strip() for name, value in pairs},
        css_class,
        title,
        role,
    )


def to_html(node: Element | str) -> str:
    """Return the element as HTML without scripts or style sheets; every text is escaped."""
    if isinstance(node, str):
        return html.escape(printable(node))
    attributes = {
        "class": node.css_class,
        "title": node.title,
        "role": node.role,
        "style": "; ".join(f"{name}: {value}" for name, value in node.style.items()),
    }
    written = "".join(
        f' {name}="{html.escape(printable(value))}"' for name, value in attributes.items() if value
    )
    return f"<{node.tag}{written}>{''.join(map(to_html, node.children))}</{node.tag}>"
