// Cards of the editor that are drawn anew keep what a person had in them. Their buttons report to
// Python, and a card that is at work takes no second click.
(function () {
  "use strict";
  const WAIT = 400; // milliseconds within which Dash marks a card that is at work

  // ---------------------------------------------------------------- what a person had in a card

  // By explanation and term: interpret gives a card that it draws anew another id.
  const memory = new Map();
  const placeOf = ({ uid, key }) => `${uid.split("-").at(-2)} ${key}`;
  const known = new Set();

  function elementOf({ uid, key }) {
    return document.getElementById(JSON.stringify({ key, type: "idp-editor-card", uid }));
  }

  function openParts(card) {
    return [...card.querySelectorAll("details")].map((part) => part.open);
  }

  function restore(identity, entries) {
    const before = memory.get(placeOf(identity));
    if (!before) return;
    for (const { id, property, value } of entries) {
      const saved = before.values[id.type];
      if (saved !== undefined && JSON.stringify(saved) !== JSON.stringify(value)) {
        window.dash_clientside.set_props(id, { [property]: saved });
      }
    }
    const card = elementOf(identity);
    if (card && before.open) {
      [...card.querySelectorAll("details")].forEach((part, i) => { part.open = before.open[i]; });
    }
  }

  function remember() {
    // Called when a card appears, and whenever something in it changes.
    const { inputs_list: entries } = window.dash_clientside.callback_context;
    const identity = entries[0].id, name = `${identity.uid} ${identity.key}`;
    if (!known.has(name)) {
      known.add(name);
      restore(identity, entries);
    } else {
      const values = Object.fromEntries(entries.map(({ id, value }) => [id.type, value]));
      memory.set(placeOf(identity), { ...memory.get(placeOf(identity)), values });
    }
    return window.dash_clientside.no_update;
  }

  function noteOpenParts(event) {
    const card = event.target.closest && event.target.closest(".idp-editor");
    if (!card || !card.id.startsWith("{")) return;
    const place = placeOf(JSON.parse(card.id));
    memory.set(place, { values: {}, ...memory.get(place), open: openParts(card) });
  }

  // ---------------------------------------------------------------------- buttons, one at a time

  let clicked = null; // the card of the last click on a button, until Dash has dealt with it
  let timer = 0;

  const isBusy = (card) => card.getAttribute("aria-busy") === "true";

  function report(card, store, action) {
    // One store for all buttons of a card: buttons that appear in it must not call Python.
    const { type, ...rest } = JSON.parse(card.id);
    const id = { ...rest, type: type.replace(/card$/, store) };
    window.dash_clientside.set_props(id, { data: { action, at: Date.now() } });
  }

  function press(event) {
    const button = event.target.closest && event.target.closest("[data-action]");
    const card = button && button.closest(".idp-editor");
    if (!card || button.matches(":disabled")) return;
    const { action } = button.dataset;
    if (action.startsWith("select-")) return report(card, "select", action);
    // Undo and redo by keys are meant to be repeated.
    if (!event.isTrusted && /^(un|re)do$/.test(action)) return report(card, "act", action);
    if (card === clicked || isBusy(card)) return;
    clicked = card;
    clearTimeout(timer);
    // If the card is at work by then, it is free when the work ends.
    timer = setTimeout(() => { if (!isBusy(card)) clicked = null; }, WAIT);
    report(card, "act", action);
  }

  // An answer may come within one frame, so a look once a frame would miss it.
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => target === clicked && !isBusy(target))) clicked = null;
  }).observe(document, { subtree: true, attributeFilter: ["aria-busy"] });

  window.dash_clientside = { ...window.dash_clientside, interpret_dp: { remember } };
  document.addEventListener("toggle", noteOpenParts, true);
  document.addEventListener("click", press);
})();
