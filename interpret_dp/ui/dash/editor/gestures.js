// Gestures of the shape-function editor, in interpret's own pages only: drag bins up and down,
// undo and redo by keyboard, Enter to commit. Selecting a range is plotly's own gesture. What a
// plot needs for it is in its layout's `meta` (see interpret_dp/editor/figure.py); what a gesture
// means is decided in Python, which gets the grabbed bins and by how much they were moved.
(function () {
  "use strict";
  const REACH = 12; // pixels around the curve that grab a selected range
  const LEAST = 3; // pixels below which a drag was a click

  let drag = null;
  let press = null; // a press that plotly was left to deal with
  let activeCard = null;

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
    if (!meta || !meta.editor) return null;
    const box = plot.getBoundingClientRect();
    const { xaxis, yaxis } = plot._fullLayout;
    const x = xaxis.p2d(event.clientX - box.left - xaxis._offset);
    const y = event.clientY - box.top - yaxis._offset;
    const index = meta.codes.findIndex((_, i) => meta.left[i] <= x && x <= meta.right[i]);
    if (index < 0) return null;
    return { card, plot, meta, yaxis, y, code: meta.codes[index] };
  }

  function grabbed(place) {
    // The bins that a press would move; none if it starts a selection.
    const { meta, plot, yaxis, y, code } = place;
    const isSelected = meta.selected.includes(code);
    if (meta.drags) return isSelected ? meta.selected : [code];
    if (!isSelected) return [];
    const isNear = meta.traces.some((entry) => {
      const position = entry.codes.indexOf(code);
      if (position < 0) return false;
      return Math.abs(yaxis.d2p(plot.data[entry.trace].y[position]) - y) <= REACH;
    });
    return isNear ? meta.selected : [];
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
    if (!drag) return;
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

  function end(event, isKept) {
    if (press && isKept && !press.meta.drags && isClick(event)) {
      const data = { bin: press.code, extends: event.shiftKey, at: Date.now() };
      window.dash_clientside.set_props(press.meta.editor.click, { data });
    }
    press = null;
    if (!drag) return;
    const done = drag;
    done.card.classList.remove("idp-editor-drags");
    cancelAnimationFrame(done.frame);
    done.readout.remove();
    if (isKept && Math.abs(event.clientY - done.from) >= LEAST) {
      draw();
      const data = { bins: done.bins, by: done.by, at: Date.now() };
      window.dash_clientside.set_props(done.meta.editor.drag, { data });
    } else {
      done.by = 0;
      draw();
    }
    // The mouse event of this release is still to come, and belongs to the drag.
    setTimeout(() => { drag = null; }, 0);
    event.stopImmediatePropagation();
  }

  function pressButton(card, action) {
    const button = card && card.querySelector(`[data-action="${action}"]`);
    if (button && !button.disabled) button.click();
  }

  function key(event) {
    if (drag && event.key === "Escape") return end({ ...event, stopImmediatePropagation() {} }, false);
    const focused = document.activeElement || document.body;
    if (event.key === "Enter" && focused.closest) {
      const form = focused.closest("[data-enter]");
      if (form && isTyping(focused)) pressButton(cardOf(form), form.dataset.enter);
      return;
    }
    if (isTyping(focused)) return;
    // A button that was disabled while it had the focus hands it to the body.
    const card = cardOf(focused) || (focused === document.body ? activeCard : null);
    if (!card || !card.isConnected) return;
    if (event.key === "Escape" && focused.getAttribute("aria-expanded") !== "true") {
      return pressButton(card, "select-none");
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
})();
