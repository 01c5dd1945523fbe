"""A client of the editor: keeps the state of its page, and calls the app's callbacks."""

from __future__ import annotations

import json
from typing import Any

from tests.ui.dash.client import AppClient, components, text_of

_ALL = ["ALL"]


class EditorClient:
    """The editor of one term in one of interpret's small apps, and the bar of its model.

    Parameters
    ----------
    client : AppClient
    term : int
    """

    def __init__(self, client: AppClient, term: int) -> None:
        self._client = client
        self.state: dict[tuple[str, str], Any] = {}
        self.buttons: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.identities: dict[str, dict[str, Any]] = {}
        # The card last: its identity is that of the editor.
        self._take(client.layout())
        self._take(client.part(term))
        # Cards that appear call for the bar of their model.
        self.change("idp-editor-seen", "data", self.state["idp-editor-seen", "data"])

    def _take(self, tree: Any) -> None:
        for component in components(tree):
            identity = component["props"].get("id")
            if isinstance(identity, dict):
                kind = _kind(identity["type"])
                self.identities[kind] = {name: identity[name] for name in ("uid", "key")}
                for name, value in component["props"].items():
                    self.state[_name(identity), name] = value
        self._take_buttons(tree)

    def _take_buttons(self, tree: Any) -> None:
        for component in components(tree):
            identity = component["props"].get("id")
            if isinstance(identity, dict) and "action" in identity and identity not in self.buttons:
                self.buttons.append(identity)

    # ------------------------------------------------------------------------------- gestures

    def press(self, action: str) -> None:
        """Press a button: that of the card, if the bar has one of the same name."""
        for identity in sorted(self.buttons, key=lambda one: _kind(one["type"])):
            if identity["action"] == action:
                assert not self.state.get((_name(identity), "disabled")), f"{action} is disabled"
                return self.change(_name(identity), "n_clicks", 1)
        raise AssertionError(f"there is no button {action}")

    def box(self, low: float, high: float) -> None:
        """Draw a selection."""
        self.change("idp-editor-plot", "selectedData", {"range": {"x": [low, high]}, "points": []})

    def change(self, part: str, prop: str, value: Any) -> None:
        """Change something on the page, with all that follows from it."""
        self.state[part, prop] = value
        if prop == "children":
            self._take_buttons(value)
        for key, entry in self._client.app.callback_map.items():
            # The page runs some itself; those of the whole page are not the card's.
            if "callback" not in entry or not ("{" in key or "idp-model" in key):
                continue
            if any(_matches(i, part, prop) for i in entry["inputs"]):
                self._run(key, entry, part, prop)

    def _run(self, key: str, entry: dict[str, Any], part: str, prop: str) -> None:
        outputs = self._outputs(key)
        body = {
            "output": key,
            "outputs": outputs if key.startswith("..") else outputs[0],
            "inputs": [self._value(i) for i in entry["inputs"]],
            "state": [self._value(s) for s in entry["state"]],
            "changedPropIds": [f"{self._text(part)}.{prop}"],
        }
        answer = self._client.post(body)
        self.calls.append(part)
        if answer is None:
            return
        for name, properties in answer.items():
            if not name.startswith("{"):
                self._take(properties.get("children"))
                continue
            identity = json.loads(name)
            for prop_name, value in properties.items():
                self.change(_name(identity), prop_name, value)

    def _outputs(self, key: str) -> list[Any]:
        found: list[Any] = []
        for output in key.strip(".").split("..."):
            text, _, prop = output.rpartition(".")
            if not text.startswith("{"):
                found.append({"id": text, "property": prop.partition("@")[0]})
                continue
            identity = json.loads(text)
            if _kind(identity["type"]) not in self.identities:
                found.append([])  # before there is a bar
                continue
            concrete = {"id": self._concrete(identity), "property": prop.partition("@")[0]}
            # Of a page that shows one card, "all" are one.
            found.append([concrete] if _ALL in identity.values() else concrete)
        return found

    def _concrete(self, identity: dict[str, Any]) -> dict[str, Any]:
        return identity | self.identities[_kind(identity["type"])]

    def _text(self, part: str) -> str:
        if part.startswith("idp-clock"):
            return part
        kind, _, action = part.partition(":")
        return _text(self._concrete({"type": kind}) | ({"action": action} if action else {}))

    def _value(self, wanted: dict[str, Any]) -> Any:
        prop = wanted["property"]
        if not wanted["id"].startswith("{"):
            return {**wanted, "value": self.state.get((wanted["id"], prop))}
        identity = json.loads(wanted["id"])
        if identity.get("action") == _ALL:
            same = [b for b in self.buttons if b["type"] == identity["type"]]
            return [
                {"id": b, "property": prop, "value": self.state.get((_name(b), prop))} for b in same
            ]
        if _kind(identity["type"]) not in self.identities:
            return []
        concrete = self._concrete(identity)
        value = self.state.get((_name(concrete), prop))
        found = {"id": concrete, "property": prop, "value": value}
        return [found] if _ALL in identity.values() else found

    # ----------------------------------------------------------------------- what is on the page

    def text(self, part: str) -> str:
        """Return the text of a part of the card."""
        return text_of(self.state[f"idp-editor-{part}", "children"])

    def bar(self, part: str) -> str:
        """Return the text of a part of the model's bar."""
        return text_of(self.state.get((f"idp-model-{part}", "children")))

    @property
    def panel(self) -> str:
        """The text of the privacy panel."""
        return text_of(self.state["idp-panel", "children"])

    @property
    def figure(self) -> Any:
        """The plot."""
        return self.state["idp-editor-plot", "figure"]

    @property
    def selected(self) -> list[int]:
        """The chosen bins."""
        return self.state["idp-editor-selection", "data"]

    def curve(self) -> list[float]:
        """Return the scores that a drag would move, as they are drawn."""
        traces = self.figure["layout"]["meta"]["traces"]
        return [height for t in traces for height in self.figure["data"][t["trace"]]["y"]]


def _matches(wanted: dict[str, Any], part: str, prop: str) -> bool:
    if wanted["property"] != prop or not wanted["id"].startswith("{"):
        return bool(wanted == {"id": part, "property": prop})
    identity = json.loads(wanted["id"])
    kind, _, action = part.partition(":")
    return bool(identity["type"] == kind and identity.get("action", "") in (action, _ALL))


def _kind(name: str) -> str:
    """Return "model" for the bar's types of ids, and "editor" for the card's."""
    return "model" if name.startswith("idp-model-") else "editor"


def _name(identity: dict[str, Any]) -> str:
    action = identity.get("action")
    return f"{identity['type']}:{action}" if action else str(identity["type"])


def _text(identity: dict[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))
