"""The style sheet of our parts; put into interpret's own pages and into no other."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
.idp { font-family: system-ui, sans-serif; }
.idp details > summary { display: list-item; }
.idp ul { list-style: disc outside; margin-left: 0; }
.idp li, .idp-tab li { margin-bottom: 2px; }
.idp td, .idp th { border-bottom: 0; }
.idp-note { margin: 6px 0; color: #556471; font-size: 13px; }
.idp-error { margin: 10px 0; padding: 10px 14px; border: 1px solid #d55e00; border-radius: 6px;
  background: #fff4ec; color: #24323f; font: 14px/1.45 system-ui, sans-serif;
  overflow-wrap: anywhere; }
.card-figure:has(.idp) { min-height: 0; padding-top: 16px; padding-bottom: 14px; }
.idp-tab .card-body { padding-top: 16px; padding-bottom: 16px;
  font: 14px/1.45 system-ui, sans-serif; color: #24323f; overflow-wrap: anywhere; }
.idp-tab table { width: 100%; border-collapse: collapse; font-size: 13px; }
.idp-tab .idp-scroll { overflow-x: auto; }
.idp-tab th, .idp-tab td { padding: 5px 12px 5px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #e3e8ed; white-space: normal; overflow-wrap: normal; }
.idp-tab th { color: #556471; font-weight: 500; }
.idp-tab td.idp-number, .idp-tab th.idp-number { text-align: right; }
.idp-tab td.idp-number, .idp-tab td:first-child { white-space: nowrap; }
.idp-tab h5 { margin: 0 0 6px; font-size: 16px; }
.idp-tab .idp-muted { color: #556471; font-size: 12.5px; }
.idp-tab ul { list-style: disc outside; padding-left: 22px; margin: 4px 0; }
/* Dash's newer lists are buttons, whose labels interpret's own style sheet writes in capitals. */
body:has(.idp, .idp-tab) .dash-dropdown { text-transform: none; letter-spacing: normal; }
"""
