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

  // -------------------------------------------------------------------------- terms of a model

  // By explanation: the term that was chosen last, also when interpret draws its pane anew.
  const chosenTerms = new Map();
  const explanationOf = ({ uid }) => uid.split("-").at(-2);
  const MOST = 50; // bars in a list: others are found by the search

  function drawTerms(page) {
    const { outputs_list: { id: { type, uid } } } = window.dash_clientside.callback_context;
    // Dash may put the list on the page a moment later.
    requestAnimationFrame(() => drawIn(document.getElementById(JSON.stringify({ key: "", type, uid })), page));
    return page.length;
  }

  function drawIn(list, page) {
    if (!list) return;
    const holder = document.createElement("template");
    holder.innerHTML = page;
    list.terms = [...holder.content.children];
    const id = JSON.parse(list.id);
    const before = chosenTerms.get(explanationOf(id));
    if (before !== undefined && before !== list.dataset.shown) chooseTerm(list, before);
    markTerm(list, list.dataset.shown);
    searchTerms(list);
  }

  function markTerm(list, place) {
    // One of them can be reached by the tab key, the others by arrows.
    for (const term of list.terms) {
      const isShown = term.dataset.term === place;
      term.toggleAttribute("aria-current", isShown);
      term.tabIndex = isShown ? 0 : -1;
    }
  }

  function chooseTerm(list, place) {
    const { uid, type } = JSON.parse(list.id);
    list.dataset.shown = place;
    chosenTerms.set(explanationOf({ uid }), place);
    markTerm(list, place);
    const id = { uid, key: "", type: type.replace(/list$/, "chosen") };
    window.dash_clientside.set_props(id, { data: Number(place) });
  }

  const listOf = (element) => element.closest && element.closest(".idp-terms") &&
    element.closest(".idp-terms").querySelector(".idp-terms-list");

  function searchTerms(list) {
    const wanted = list.closest(".idp-terms").querySelector("input").value.trim().toLowerCase();
    const isFound = (term) => term.firstChild.textContent.toLowerCase().includes(wanted);
    const found = list.terms.filter(isFound);
    list.replaceChildren(...found.slice(0, MOST));
    list.toggleAttribute("data-more", found.length > MOST);
    if (!list.querySelector("[tabindex='0']") && found.length) found[0].tabIndex = 0;
  }

  function walkTerms(event) {
    const list = listOf(event.target);
    if (!list || !/^(Arrow(Up|Down)|Enter)$/.test(event.key)) return;
    const terms = [...list.children];
    const place = terms.indexOf(document.activeElement);
    if (event.key === "Enter") {
      if (place < 0 && terms.length) chooseTerm(list, terms[0].dataset.term);
      return;
    }
    const next = terms[place + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) next.focus();
    event.preventDefault();
  }

  function chooseFirst(options) {
    // Of interpret's list of explanations; a list of one has nothing to choose.
    const { no_update, callback_context: { outputs_list } } = window.dash_clientside;
    if (!document.getElementById("idp-model-bars") || !options || !options.length) return no_update;
    document.body.classList.toggle(`idp-one-${outputs_list.id}`, options.length === 1);
    return [options[0].value];
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
    const term = event.target.closest && event.target.closest("[data-term]");
    if (term) return chooseTerm(listOf(term), term.dataset.term);
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

  const functions = { remember, drawTerms, chooseFirst };
  window.dash_clientside = { ...window.dash_clientside, interpret_dp: functions };
  document.addEventListener("input", ({ target }) => listOf(target) && searchTerms(listOf(target)));
  document.addEventListener("keydown", walkTerms);
  document.addEventListener("toggle", noteOpenParts, true);
  document.addEventListener("click", press);
})();
