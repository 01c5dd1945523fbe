"""The style sheet of the editor; interpret's own sheet styles bare buttons, so all is spelt out."""

from __future__ import annotations

__all__ = ["EDITOR_STYLE"]

EDITOR_STYLE = """
.idp-editor { color: #24323f; font: 14px/1.4 system-ui, sans-serif; outline: none; }
.idp-editor .idp-muted { color: #556471; font-size: 12.5px; }
.idp-editor button, .idp-editor .idp-editor-button { height: 30px; padding: 0 10px;
  font: 500 13px/28px system-ui, sans-serif; letter-spacing: normal; text-transform: none;
  color: #24323f; background: #fff; border: 1px solid #c3ccd5; border-radius: 5px;
  display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; cursor: pointer;
  box-sizing: border-box; }
.idp-editor button:hover:not(:disabled), .idp-editor .idp-editor-upload:hover {
  background: #eef4f9; border-color: #14609c; color: #24323f; }
.idp-editor button:focus-visible, .idp-editor input:focus-visible,
.idp-editor summary:focus-visible { outline: 2px solid #14609c; outline-offset: 1px; }
.idp-editor button:disabled { opacity: 0.42; cursor: default; }
.idp-editor .idp-editor-strong { background: #14609c; border-color: #14609c; color: #fff; }
.idp-editor .idp-editor-strong:hover:not(:disabled) { background: #0f4c7d; color: #fff; }
.idp-editor .idp-editor-link { border-color: transparent; background: none; padding: 0 6px;
  color: #14609c; text-decoration: underline; text-underline-offset: 2px; }
.idp-editor-links { white-space: nowrap; }
.idp-editor-icon { width: 15px; height: 15px; flex: none; }
.idp-editor input[type=text], .idp-editor input[type=number] { font: 13px system-ui, sans-serif;
  width: 100%; height: 28px; padding: 0 9px; border: 0; background: none; box-shadow: none;
  margin: 0; }
.idp-editor .dash-input-container { height: 30px; border: 1px solid #c3ccd5; border-radius: 5px;
  background: #fff; box-sizing: border-box; margin: 0; min-width: 0; }
.idp-editor-row { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 8px; }
.idp-editor-header, .idp-editor-bar { display: flex; flex-wrap: wrap; gap: 6px 16px;
  justify-content: space-between; align-items: center; margin-bottom: 8px; }
.idp-editor-bar { padding: 6px 8px; background: #f3f6f9; border-radius: 6px; }
.idp-editor-title { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 10px; }
.idp-editor-name { font-size: 19px; font-weight: 600; overflow-wrap: anywhere; }
.idp-editor-status { font-size: 12.5px; padding: 1px 9px; border-radius: 10px;
  background: #eef3f7; }
.idp-editor-selected { font-size: 13px; overflow-wrap: anywhere; }
.idp-editor-body { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: flex-start; }
.idp-editor-plot { flex: 1 1 430px; min-width: 0; }
.idp-editor-side { flex: 0 1 272px; min-width: 240px; display: flex; flex-direction: column;
  gap: 12px; }
.idp-editor-tools { margin: 0; padding: 0; border: 0; display: flex; flex-direction: column;
  gap: 12px; min-width: 0; }
.idp-editor-heading { font-size: 12.5px; font-weight: 600; margin-bottom: 5px; color: #3d4c59; }
.idp-editor-grid { display: grid; grid-template-columns: 1fr 1fr; gap: 6px; }
.idp-editor-grid button { justify-content: flex-start; padding: 0 8px; overflow: hidden; }
.idp-editor-numbers { display: flex; flex-wrap: wrap; gap: 6px; }
.idp-editor-numbers > :first-child { flex: 1 1 56px; min-width: 56px; }
.idp-editor-numbers button { padding: 0 7px; }
.idp-editor-side .dash-dropdown { margin: 4px 0 6px; }
.idp-editor button.dash-dropdown { display: block; width: 100%; padding: 0; min-height: 30px; }
.idp-editor .dash-dropdown-trigger { height: 28px; font: 13px/28px system-ui, sans-serif; }
.idp-editor-class { min-width: 140px; }
.idp-editor-segments { display: inline-flex; border: 1px solid #c3ccd5; border-radius: 5px;
  overflow: hidden; background: #fff; }
.idp-editor-segments label { padding: 0 10px; height: 28px; font: 13px/28px system-ui, sans-serif;
  cursor: pointer; margin: 0; display: inline-flex; align-items: center; color: #24323f; }
.idp-editor .idp-editor-segments label { margin: 0; }
.idp-editor-segments label + label { border-left: 1px solid #c3ccd5; }
.idp-editor .idp-editor-segments label:has(input:checked) { background: #14609c; color: #fff; }
.idp-editor-segments label:has(input:focus-visible) { outline: 2px solid #e69f00;
  outline-offset: -2px; }
.idp-editor-segments input { position: absolute; opacity: 0; width: 0; height: 0; margin: 0; }
.idp-editor-line { min-height: 31px; margin: 8px 0; }
.idp-editor-message { padding: 5px 11px; border-radius: 5px; border-left: 4px solid #009e73;
  background: #eef7f3; font-size: 13.5px; overflow-wrap: anywhere; }
.idp-editor-message.idp-editor-note { border-color: #0072b2; background: #eef4f9; }
.idp-editor-message.idp-editor-error { border-color: #d55e00; background: #fff4ec; }
.idp-editor-commit { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center;
  margin-bottom: 8px; }
.idp-editor-commit > .dash-input-container, .idp-editor-why-field { flex: 1 1 300px; }
.idp-editor-commit > .dash-input-container { max-width: 520px; }
.idp-editor-folded { margin: 4px 0; }
.idp-editor-folded > summary { cursor: pointer; font-weight: 600; font-size: 13px; padding: 3px 0; }
.idp-editor-folded > div { padding: 4px 0 8px 16px; display: flex; flex-direction: column;
  gap: 6px; }
.idp-editor-upload { text-align: center; }
.idp-editor code { font-size: 12.5px; background: #eef3f7; padding: 1px 5px; border-radius: 3px; }
.idp-editor-history { list-style: none; margin: 0; padding: 0; max-height: 240px;
  overflow-y: auto; }
.idp-editor-entry { display: grid; grid-template-columns: 210px 1fr minmax(110px, 32%);
  gap: 0 14px; margin: 0; padding: 3px 0; border-bottom: 1px solid #eef1f4; font-size: 13px; }
.idp-editor-entry > span { overflow-wrap: anywhere; min-width: 0; }
.idp-editor-when { color: #556471; font-size: 12.5px; }
.idp-editor-why { color: #556471; font-style: italic; }
.idp-editor-pending .idp-editor-why { color: #9a5b00; font-style: normal; }
.idp-editor-undone { opacity: 0.55; }
.idp-editor-undone .idp-editor-what { text-decoration: line-through; }
.idp-editor-readout { position: fixed; z-index: 2000; pointer-events: none; padding: 1px 8px;
  border-radius: 4px; background: #24323f; color: #fff; font: 13px system-ui, sans-serif; }
.idp-editor-grabs .draglayer .xy .nsewdrag { cursor: ns-resize !important; }
.idp-editor-drags .hoverlayer { display: none; }
.idp-editor { container-type: inline-size; }
/* Tools beside the plot become rows below it where there is no room beside it. */
@container (max-width: 770px) {
  .idp-editor-plot { flex-basis: 100%; }
  .idp-editor-side { flex: 1 1 100%; min-width: 0; display: grid; gap: 12px 20px;
    grid-template-columns: repeat(auto-fit, minmax(250px, 1fr)); }
  .idp-editor-tools { display: contents; }
  .idp-editor-wide { grid-column: 1 / -1; }
  .idp-editor-wide .idp-editor-grid { grid-template-columns: repeat(4, 1fr); }
  .idp-editor-wide .idp-editor-test { display: flex; flex-wrap: wrap; gap: 6px 12px;
    align-items: center; }
  .idp-editor .idp-editor-test button.dash-dropdown { width: 210px; margin: 0; }
  .idp-editor-wide .idp-editor-test .idp-editor-grid { grid-template-columns: auto auto; }
}
@container (max-width: 620px) {
  .idp-editor-entry { grid-template-columns: 1fr; }
  .idp-editor-wide .idp-editor-grid { grid-template-columns: 1fr 1fr; }
}
"""
