"""Our parts are in interpret's apps, and in no other app of the process."""

import importlib.metadata
import json
import logging

import dash
import pytest
from dash import Input, Output, dcc, html
from plotly.utils import PlotlyJSONEncoder

from tests.processes import output_of
from tests.ui.dash.client import AppClient

ENTRY = "interpret_dp.ui.dash.hooks"


def _entry_points():
    return [
        point
        for point in importlib.metadata.entry_points(group="dash_hooks")
        if point.value.startswith("interpret_dp.")
    ]


@pytest.fixture(autouse=True)
def _installed():
    if not _entry_points():
        pytest.skip("the package is on the path but not installed: it has no entry points")


def test_foreign_apps_are_untouched(shown):
    AppClient(shown.total).part()
    # Somebody else's app, with ids that interpret uses as well.
    app = dash.Dash("foreign")
    app.layout = html.Div(
        [
            dcc.Tabs(id="tabs", value="one", children=[dcc.Tab(label="One", value="one")]),
            html.Div(id="privacy-tab"),
            html.Div(id="mine"),
        ]
    )

    @app.callback(Output("mine", "children"), Input("tabs", "value"))
    def show(tab):
        return f"tab {tab}"

    AppClient([shown.total, shown.local]).privacy_tab()
    client = AppClient(app)
    assert client.layout() == json.loads(json.dumps(app.layout, cls=PlotlyJSONEncoder))
    assert list(app.callback_map) == ["mine.children"]
    assert client.ask("mine", tabs="one") == "tab one"
    assert app.index_string == dash.Dash("another").index_string
    assert "idp" not in client.page()


def test_a_process_with_other_apps_alone_pays_little():
    """Nothing of ours but the hooks is imported, and no library on top of Dash's own."""
    probe = (
        "import json, sys, dash\n"
        "dash.Dash('foreign')\n"
        "print(json.dumps(sorted(n for n in sys.modules if n.startswith('interpret'))))"
    )
    loaded = json.loads(output_of("-c", probe))
    ours = ("_version", "ui", "ui.dash", "ui.dash.hooks")
    assert set(loaded) <= {"interpret_dp", *(f"interpret_dp.{name}" for name in ours)}
    assert ENTRY in loaded


def test_an_error_in_our_parts_leaves_interprets_app_whole(shown, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("interpret_dp.ui.dash.install.set_up", broken)
    monkeypatch.setattr("interpret_dp.ui.dash.privacy_tab.with_tab", broken)
    with caplog.at_level(logging.WARNING):
        client = AppClient([shown.total])
        tabs = client.layout()["props"]["children"][1]["props"]["children"]["props"]["children"]
    names = [tab["props"]["value"] for tab in tabs]
    assert names == ["overview", "data", "perf", "global", "local"]
    assert "broken on purpose" in caplog.text
    assert client.ask("overview-tab", tabs="overview")
