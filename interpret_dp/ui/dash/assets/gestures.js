// Gestures of the shape-function editor, in interpret's own pages only: drag bins up and down; by
// keyboard select and move them, undo and redo, and commit with Enter. Selecting a range is plotly's own gesture. What a
// plot needs for it is in its layout's `meta` (see interpret_dp/editor/figure.py); what a gesture
// means is decided in Python, which gets the grabbed bins and by how much they were moved.
(function () {
  "use strict";
  const LEAST = 3; // pixels below which a drag was a click

  let drag = null;
  let press = null; // a press that plotly was left to deal with
  let activeCard = null;
  const cursors = new WeakMap(); // of plots that keys select in: where the last one led

  const cardOf = (element) => (element && element.closest ? element.closest(".idp-editor") : null);
  const isTyping = (element) =>
    element.matches && element.matches("input, textarea, select, [contenteditable=true]");

  function pointed(event) {
    // The bin under the pointer, or null outside of the plot of the scores.
    const target = event.target;
    if (!target.closest || !target.closest(".draglayer .xy")) return null;
    const card = cardOf(target);
    const plot = target.closest(".js-plotly-plot");
    const meta = card && plot && plot.layout && plot.layout.meta;
    if (!meta || !meta.traces) return null; // cells have keys alone
    const box = plot.getBoundingClientRect();
    const { xaxis, yaxis } = plot._fullLayout;
    const x = xaxis.p2d(event.clientX - box.left - xaxis._offset);
    const index = meta.codes.findIndex((_, i) => meta.left[i] <= x && x <= meta.right[i]);
    if (index < 0) return null;
    return { card, plot, meta, yaxis, code: meta.codes[index] };
  }

  function grabbed(place) {
    // The bins that a press would move; none outside of the mode that drags: it selects there.
    const { meta, code } = place;
    if (!meta.drags) return [];
    return meta.selected.includes(code) ? meta.selected : [code];
  }

  function start(event) {
    activeCard = cardOf(event.target);
    if (event.button !== 0 || drag) return;
    const place = pointed(event);
    // plotly keeps a press from moving the focus, which would leave it in a field.
    if (place && isTyping(document.activeElement)) document.activeElement.blur();
    press = place && { ...place, from: [event.clientX, event.clientY] };
    const bins = place ? grabbed(place) : [];
    if (!bins.length) return;
    place.card.classList.add("idp-editor-drags");
    const heights = place.meta.traces.map((entry) => Array.from(place.plot.data[entry.trace].y));
    const readout = document.createElement("div");
    readout.className = "idp-editor-readout";
    drag = { ...place, bins, heights, readout, from: event.clientY, by: 0, frame: 0 };
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  function swallow(event) {
    // plotly listens to the mouse, which is told after the pointer.
    if (!drag || drag.byKeys) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  function draw() {
    drag.frame = 0;
    const { plot, meta, bins, heights, by } = drag;
    const moved = meta.traces.map((entry, i) =>
      heights[i].map((height, j) => (bins.includes(entry.codes[j]) ? height + by : height))
    );
    window.Plotly.restyle(plot, { y: moved }, meta.traces.map((entry) => entry.trace));
  }

  function move(event) {
    if (drag && drag.byKeys) return;
    if (!drag) {
      const place = pointed(event);
      const card = cardOf(event.target);
      if (card) card.classList.toggle("idp-editor-grabs", !!place && grabbed(place).length > 0);
      return;
    }
    const pixels = event.clientY - drag.from;
    drag.by = drag.yaxis.p2d(pixels) - drag.yaxis.p2d(0);
    const { readout } = drag;
    if (!readout.isConnected) document.body.append(readout);
    readout.textContent = (drag.by < 0 ? "−" : "+") + Math.abs(drag.by).toPrecision(3);
    readout.style.left = `${event.clientX + 14}px`;
    readout.style.top = `${event.clientY - 12}px`;
    if (!drag.frame) drag.frame = requestAnimationFrame(draw);
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  function isClick(event) {
    const [x, y] = press.from;
    return Math.hypot(event.clientX - x, event.clientY - y) < LEAST;
  }

  function reportDrag({ meta, bins, by }) {
    const data = { action: "shift", bins, by, at: Date.now() };
    window.dash_clientside.set_props(meta.editor.act, { data });
  }

  function end(event, isKept) {
    if (press && isKept && !press.meta.drags && isClick(event)) {
      const data = { bin: press.code, extends: event.shiftKey, at: Date.now() };
      window.dash_clientside.set_props(press.meta.editor.select, { data });
    }
    press = null;
    if (!drag || drag.byKeys) return;
    const done = drag;
    done.card.classList.remove("idp-editor-drags");
    cancelAnimationFrame(done.frame);
    done.readout.remove();
    if (isKept && Math.abs(event.clientY - done.from) >= LEAST) {
      draw();
      reportDrag(done);
    } else {
      done.by = 0;
      draw();
    }
    // The mouse event of this release is still to come, and belongs to the drag.
    setTimeout(() => { drag = null; }, 0);
    event.stopImmediatePropagation();
  }

  const ARROWS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1 };
  const STEP = 0.01; // of the visible scores, that one press of a key moves

  function arrow(event, plot) {
    // Left and right move the selection, up and down the selected bins, or the selected cell.
    const meta = plot.layout.meta;
    const isUpright = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (isUpright && !meta.columns) return meta.drags && nudge(event, plot, meta);
    event.preventDefault();
    const step = ARROWS[event.key] * (isUpright ? meta.columns : 1);
    // Keys may be faster than the figure is drawn anew; a click in between starts again.
    const isKnown = (place) => place && (place.at === meta.selected.join() || place.plot === meta);
    let place = cursors.get(plot);
    if (!isKnown(place)) place = { cursor: meta.codes.indexOf(meta.selected[0]) };
    const next = place.cursor < 0 ? 0 : place.cursor + step;
    if (next < 0 || next >= meta.codes.length) return;
    const row = (cell) => Math.floor(cell / (meta.columns || meta.codes.length));
    if (!isUpright && place.cursor >= 0 && row(next) !== row(place.cursor)) return;
    const anchor = !event.shiftKey ? next : place.anchor === undefined ? place.cursor : place.anchor;
    const bins = range(meta, Math.max(anchor, 0), next);
    cursors.set(plot, { cursor: next, anchor, plot: meta, at: bins.slice().sort(ascending).join() });
    window.dash_clientside.set_props(meta.editor.select, { data: { bins, at: Date.now() } });
  }

  const ascending = (one, other) => one - other;

  function range(meta, from, to) {
    // The bins from one place to another; of cells the rectangle between them.
    const width = meta.columns || meta.codes.length;
    const sides = [[from % width, to % width], [Math.floor(from / width), Math.floor(to / width)]];
    const [columns, rows] = sides.map((side) => side.sort(ascending));
    return meta.codes.filter((_, place) => {
      const [row, column] = [Math.floor(place / width), place % width];
      return rows[0] <= row && row <= rows[1] && columns[0] <= column && column <= columns[1];
    });
  }

  function nudge(event, plot, meta) {
    event.preventDefault();
    if (!meta.selected.length || (drag && !drag.byKeys)) return;
    const { yaxis } = plot._fullLayout;
    if (!drag) {
      const heights = meta.traces.map((entry) => Array.from(plot.data[entry.trace].y));
      drag = { plot, meta, bins: meta.selected, heights, by: 0, frame: 0, byKeys: true };
    }
    drag.by += ARROWS[event.key] * STEP * (yaxis.range[1] - yaxis.range[0]);
    if (!drag.frame) drag.frame = requestAnimationFrame(draw);
  }

  function release(isKept) {
    // One edit, however long the key was held.
    if (!drag || !drag.byKeys) return;
    const done = drag;
    cancelAnimationFrame(done.frame);
    if (!isKept) done.by = 0;
    draw();
    drag = null;
    if (isKept) reportDrag(done);
  }

  function mend() {
    // Dash's lists say that options of a list box hold buttons, and hide what has the focus.
    for (const list of document.querySelectorAll(".idp-editor-segments[role]")) {
      list.removeAttribute("role");
    }
    for (const option of document.querySelectorAll(".idp-editor-segments [role=option]")) {
      option.removeAttribute("role");
      option.removeAttribute("aria-selected");
    }
    const hidden = ".idp-editor .dash-dropdown-focus-target[tabindex='0']";
    for (const target of document.querySelectorAll(hidden)) {
      target.tabIndex = -1;
      target.parentElement.querySelector("button").tabIndex = 0;
    }
    for (const file of document.querySelectorAll(".idp-editor input[type=file]:not([aria-label])")) {
      file.setAttribute("aria-label", "Load a file");
    }
  }

  let isMending = false;
  function mendSoon() {
    // Once a frame: plotly changes a page very often.
    if (isMending) return;
    isMending = true;
    requestAnimationFrame(() => { isMending = false; mend(); });
  }

  function pressButton(card, action) {
    // A button of the card, or of the bar of its model.
    const here = `[data-action="${action}"]`;
    const model = card && card.closest("[data-model]");
    const bar = model && `.idp-editor-model[data-model="${model.dataset.model}"] ${here}`;
    const button = card && (card.querySelector(here) || document.querySelector(bar));
    if (button && !button.disabled) button.click();
  }

  function key(event) {
    if (drag && drag.byKeys) {
      if (event.key === "Escape") return release(false);
    } else if (drag && event.key === "Escape") return end({ ...event, stopImmediatePropagation() {} }, false);
    const focused = document.activeElement || document.body;
    // A button that was disabled while it had the focus hands it to the body.
    const card = cardOf(focused) || (focused === document.body ? activeCard : null);
    if (event.key === "Enter" && focused.closest) {
      const form = focused.closest("[data-enter]");
      if (form && isTyping(focused)) return pressButton(cardOf(form), form.dataset.enter);
      const preview = card && card.querySelector("[data-preview]");
      // Other buttons take the key themselves; the one of the preview has had its effect.
      const isFree = !isTyping(focused) && !focused.matches("button, summary, a") ||
        (preview && focused.dataset.action === preview.dataset.preview);
      if (!preview || !isFree) return;
      event.preventDefault();
      return pressButton(card, "accept");
    }
    if (isTyping(focused)) return;
    if (!card || !card.isConnected) return;
    const plot = ARROWS[event.key] && focused.closest(".idp-editor-plot") &&
      card.querySelector(".js-plotly-plot");
    if (plot) return arrow(event, plot);
    // An open list takes the key itself, wherever the focus is in it.
    if (event.key === "Escape" && !card.querySelector("button[aria-expanded=true]")) {
      return pressButton(card, card.querySelector("[data-preview]") ? "discard" : "select-none");
    }
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const letter = event.key.toLowerCase();
    const isRedo = letter === "y" || (letter === "z" && event.shiftKey);
    if (!isRedo && letter !== "z") return;
    event.preventDefault();
    pressButton(card, isRedo ? "redo" : "undo");
  }

  document.addEventListener("pointerdown", start, true);
  document.addEventListener("mousedown", swallow, true);
  document.addEventListener("touchstart", swallow, { capture: true, passive: false });
  document.addEventListener("pointermove", move, true);
  document.addEventListener("mousemove", swallow, true);
  document.addEventListener("pointerup", (event) => end(event, true), true);
  document.addEventListener("mouseup", swallow, true);
  document.addEventListener("click", swallow, true);
  document.addEventListener("pointercancel", (event) => end(event, false), true);
  document.addEventListener("keydown", key, true);
  document.addEventListener("keyup", () => release(true), true);
  window.addEventListener("blur", () => release(true));
  new MutationObserver(mendSoon).observe(document, {
    subtree: true, childList: true, attributes: true, attributeFilter: ["aria-selected", "tabindex"],
  });
})();
