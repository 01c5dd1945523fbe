"""A client of the editor: keeps the state of its page, and calls the app's callbacks."""

from __future__ import annotations

import json
from typing import Any

from tests.ui.dash.client import AppClient, components, text_of

_ALL = ["ALL"]


class EditorClient:
    """The editor of one term in one of interpret's small apps.

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
        self._take(client.part(term))

    def _take(self, tree: Any) -> None:
        for component in components(tree):
            identity = component["props"].get("id")
            if isinstance(identity, dict):
                self.identity = {name: identity[name] for name in ("uid", "key")}
                if "action" in identity:
                    self.buttons.append(identity)
                for name, value in component["props"].items():
                    self.state[_name(identity), name] = value

    # ------------------------------------------------------------------------------- gestures

    def press(self, action: str) -> None:
        """Press a button."""
        for identity in self.buttons:
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
        for key, entry in self._client.app.callback_map.items():
            if any(_matches(i, part, prop) for i in entry["inputs"]):
                self._run(key, entry, part, prop)

    def _run(self, key: str, entry: dict[str, Any], part: str, prop: str) -> None:
        outputs = self._outputs(key)
        body = {
            "output": key,
            "outputs": outputs if key.startswith("..") else outputs[0],
            "inputs": [self._value(i) for i in entry["inputs"]],
            "state": [self._value(s) for s in entry["state"]],
            "changedPropIds": [f"{_text(self._full(part))}.{prop}"],
        }
        answer = self._client.post(body)
        self.calls.append(part)
        if answer is None:
            return
        for name, properties in answer.items():
            identity = json.loads(name)
            for prop_name, value in properties.items():
                self.change(_name(identity), prop_name, value)

    def _outputs(self, key: str) -> list[dict[str, Any]]:
        found = []
        for output in key.strip(".").split("..."):
            identity, _, prop = output.rpartition(".")
            concrete = json.loads(identity) | self.identity
            found.append({"id": concrete, "property": prop.partition("@")[0]})
        return found

    def _full(self, part: str) -> dict[str, Any]:
        kind, _, action = part.partition(":")
        return {"type": kind, **self.identity} | ({"action": action} if action else {})

    def _value(self, wanted: dict[str, Any]) -> Any:
        identity = json.loads(wanted["id"])
        prop = wanted["property"]
        if identity.get("action") == _ALL:
            same = [b for b in self.buttons if b["type"] == identity["type"]]
            return [
                {"id": b, "property": prop, "value": self.state.get((_name(b), prop))} for b in same
            ]
        concrete = identity | self.identity
        value = self.state.get((_name(concrete), prop))
        return {"id": concrete, "property": prop, "value": value}

    # ----------------------------------------------------------------------- what is on the page

    def text(self, part: str) -> str:
        """Return the text of a part."""
        return text_of(self.state[f"idp-editor-{part}", "children"])

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
        return False
    identity = json.loads(wanted["id"])
    kind, _, action = part.partition(":")
    return bool(identity["type"] == kind and identity.get("action", "") in (action, _ALL))


def _name(identity: dict[str, Any]) -> str:
    action = identity.get("action")
    return f"{identity['type']}:{action}" if action else str(identity["type"])


def _text(identity: dict[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))
