"""A client of the editor: keeps the state of its page, and calls the app's callbacks."""

import json

from tests.ui.dash.client import components, text_of

_ALL = ["ALL"]


class EditorClient:
    """The editor of one term in one of interpret's small apps, and the bar of its model.

    Parameters
    ----------
    client : AppClient
    term : int
    """

    def __init__(self, client, term):
        self._client = client
        self.state = {}
        self.buttons = set()
        """Kind and action: "editor" for the card, "model" for the bar."""
        self.identities = {}
        # The card last: its identity is that of the editor.
        self._take(client.layout())
        self._take(client.part(term))
        # Cards that appear call for the bar of their model.
        self.change("idp-editor-seen", "data", self.state["idp-editor-seen", "data"])

    def _take(self, tree):
        for component in components(tree):
            identity = component["props"].get("id")
            if isinstance(identity, dict):
                kind = _kind(identity["type"])
                self.identities[kind] = {name: identity[name] for name in ("uid", "key")}
                for name, value in component["props"].items():
                    self.state[identity["type"], name] = value
                self._take_buttons(component, kind)

    def _take_buttons(self, tree, kind):
        found = (component["props"].get("data-action") for component in components(tree))
        self.buttons |= {(kind, action) for action in found if action}

    # ------------------------------------------------------------------------------- gestures

    def press(self, action):
        """Press a button: that of the card, if the bar has one of the same name."""
        kind = next(kind for kind in ("editor", "model") if (kind, action) in self.buttons)
        assert not self.state.get((f"idp-{kind}-button-{action}", "disabled")), action
        self.report(kind, action)

    def report(self, kind, action):
        """Report the press of a button as the page does."""
        store = "select" if action.startswith("select-") else "act"
        self.change(f"idp-{kind}-{store}", "data", {"action": action, "at": 1})

    def box(self, low, high):
        """Draw a selection."""
        self.change("idp-editor-plot", "selectedData", {"range": {"x": [low, high]}, "points": []})

    def change(self, part, prop, value, by=""):
        """Change something on the page, with all that follows; no callback calls itself."""
        self.state[part, prop] = value
        if prop == "children":
            self._take_buttons(value, _kind(part))
        for key, entry in self._client.app.callback_map.items():
            # The page runs some itself; those of the whole page are not the card's.
            if key == by or "callback" not in entry or not ("{" in key or "idp-model" in key):
                continue
            if any(_matches(i, part, prop) for i in entry["inputs"]):
                self._run(key, entry, part, prop)

    def _run(self, key, entry, part, prop):
        outputs = self._outputs(key)
        body = {
            "output": key,
            "outputs": outputs if key.startswith("..") else outputs[0],
            "inputs": self._values(entry["inputs"]),
            "state": self._values(entry["state"]),
            "changedPropIds": [f"{self._text(part)}.{prop}"],
        }
        answer = self._client.post(body)
        if answer is None:
            return
        for name, properties in answer.items():
            if not name.startswith("{"):
                self._take(properties.get("children"))
                continue
            identity = json.loads(name)
            for prop_name, value in properties.items():
                self.change(identity["type"], prop_name, value, by=key)

    def _outputs(self, key):
        parts = [output.rpartition(".") for output in key.strip(".").split("...")]
        return [self._entries(text, prop.partition("@")[0]) for text, _, prop in parts]

    def _values(self, wanted):
        return [self._entries(one["id"], one["property"], is_read=True) for one in wanted]

    def _entries(self, text, prop, *, is_read=False):
        """Return what a request says of an id that a callback names, or of all of a pattern."""

        def entry(identity):
            name = identity if isinstance(identity, str) else identity["type"]
            value = {"value": self.state.get((name, prop))} if is_read else {}
            return {"id": identity, "property": prop, **value}

        if not text.startswith("{"):
            return entry(text)
        identity = json.loads(text)
        if _kind(identity["type"]) not in self.identities:
            return []  # before there is a bar
        concrete = entry(self._concrete(identity))
        # Of a page that shows one card, "all" are one.
        return [concrete] if _ALL in identity.values() else concrete

    def _concrete(self, identity):
        return identity | self.identities[_kind(identity["type"])]

    def _text(self, part):
        if part.startswith("idp-clock"):
            return part
        return _text(self._concrete({"type": part}))

    # ----------------------------------------------------------------------- what is on the page

    def text(self, part):
        """Return the text of a part of the card."""
        return text_of(self.state[f"idp-editor-{part}", "children"])

    def bar(self, part):
        """Return the text of a part of the model's bar."""
        return text_of(self.state.get((f"idp-model-{part}", "children")))

    @property
    def figure(self):
        """The plot."""
        return self.state["idp-editor-plot", "figure"]

    @property
    def selected(self):
        """The chosen bins."""
        return self.state["idp-editor-selection", "data"]

    def curve(self):
        """Return the scores that a drag would move, as they are drawn."""
        traces = self.figure["layout"]["meta"]["traces"]
        return [height for t in traces for height in self.figure["data"][t["trace"]]["y"]]


def _matches(wanted, part, prop):
    if wanted["property"] != prop or not wanted["id"].startswith("{"):
        return bool(wanted == {"id": part, "property": prop})
    return bool(json.loads(wanted["id"])["type"] == part)


def _kind(name):
    """Return what a type of ids belongs to: "model" of the bar, "editor" of the card, or others."""
    return name.split("-")[1]


def _text(identity):
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))
