"""Asks an app of Dash what a browser would ask it."""

import json
import re


class AppClient:
    """One of interpret's apps, or another one.

    Parameters
    ----------
    explanations : explanation, list of explanations, or dash.Dash
        What the app shows; or the app itself.
    """

    def __init__(self, explanations):
        import dash
        from interpret.visual._udash import generate_app

        if isinstance(explanations, dash.Dash):
            self.app = explanations
        else:
            self.app = generate_app(
                explanations,
                {"share_tables": None},
                requests_pathname_prefix="/",
                routes_pathname_prefix="/",
            )
        self._client = self.app.server.test_client()

    def layout(self):
        """Return the layout as the browser gets it."""
        return self._client.get("/_dash-layout").get_json()

    def page(self):
        """Return the page that loads everything else."""
        return self._client.get("/").get_data(as_text=True)

    def ask(self, output, **inputs):
        """Return the new ``children`` of an output; inputs are ``id=value``, "_" for "-".

        A pane of the full app is taken as empty.
        """
        mark = re.compile(rf"\.*{re.escape(output)}\.children(@|$)")
        # Where interpret has one too, our own has the longer name.
        key = max(filter(mark.match, self.app.callback_map), key=len)
        filled = {"id": output, "property": key.partition("...")[0].rpartition(".")[2]}
        entry = self.app.callback_map[key]
        wanted = {name.replace("_", "-"): value for name, value in inputs.items()}
        body = {
            "output": key,
            # An empty pane holds no slots and no cards.
            "outputs": [filled, [], []] if key.startswith("..") else filled,
            "inputs": [i | {"value": wanted.get(i["id"])} for i in entry["inputs"]],
            "state": [[] for _ in entry["state"]],
            "changedPropIds": [f"{name}.value" for name in wanted],
        }
        return self.post(body)[output]["children"]

    def post(self, body):
        """Return the answer of a callback to a request as the browser sends it; None for none."""
        answer = self._client.post("/_dash-update-component", json=body)
        assert answer.status_code in (200, 204), answer.get_data(as_text=True)
        if answer.status_code == 204:
            return None
        document = json.loads(answer.get_data(as_text=True))
        return document["response"] | document.get("sideUpdate", {})

    def part(self, key=None):
        """Small app: return what is shown for a part."""
        return self.ask("viz-container", component_drop=-1 if key is None else key)

    def privacy_tab(self):
        """Full app: return the content of our tab."""
        return self.ask("privacy-tab", tabs="privacy")


def components(tree):
    """Yield every component of a tree, the outer ones first."""
    if isinstance(tree, list):
        for entry in tree:
            yield from components(entry)
    elif isinstance(tree, dict) and "props" in tree:
        yield tree
        yield from components(tree["props"].get("children"))


def text_of(tree):
    """Return everything that a tree of components says, without its figures."""
    if isinstance(tree, list):
        return " ".join(filter(None, map(text_of, tree)))
    if isinstance(tree, dict):
        return text_of(tree.get("props", {}).get("children"))
    return "" if tree is None else str(tree)


def ids(tree):
    """Return the ids of all components of a tree."""
    return [c["props"]["id"] for c in components(tree) if "id" in c["props"]]
