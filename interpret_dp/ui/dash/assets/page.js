// What a page of ours says of its server: that it works, or that the page has lost it. Dash itself
// goes on then as if nothing had happened: buttons do nothing, and every answer stays away.
(function () {
  "use strict";
  const PAUSE = 3000; // milliseconds between two questions
  const WAIT = 200; // milliseconds after which a page says that an answer takes a while
  let waiting = 0;

  function noteWork() {
    // Dash writes the title anew whenever it begins to wait for answers, and when all have come.
    clearTimeout(waiting);
    const say = (isBusy) => document.body.setAttribute("aria-busy", isBusy);
    if (document.title !== "Updating...") return say(false);
    waiting = setTimeout(() => say(document.querySelector("#idp-model-bars") !== null), WAIT);
  }
  new MutationObserver(noteWork).observe(document.querySelector("title"), { childList: true });

  async function isServed() {
    // A server that is only busy answers late; one that was started anew has no such page.
    try {
      const answer = await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
      await answer.text(); // Or the browser counts the request as broken off.
      return answer.ok;
    } catch {
      return false;
    }
  }

  function notice() {
    const places = document.querySelector(".idp-page-places");
    const box = document.createElement("div");
    box.className = "idp-page-lost";
    box.setAttribute("role", "alert");
    const title = document.createElement("b");
    title.textContent = "This page has lost its server. ";
    box.append(
      title,
      "It was stopped, or cannot be reached: what you do here now has no effect. Show the model " +
        "again: this page then loads anew, if it has the same port. " + (places ? places.textContent : "")
    );
    return box;
  }

  let shown = null;
  async function look() {
    const isLost = document.querySelector(".idp-page") && !(await isServed());
    if (isLost && !shown) {
      shown = notice();
      document.body.append(shown);
    } else if (!isLost && shown) {
      // The model is shown again, by a process that knows nothing of this page.
      location.reload();
    }
    setTimeout(look, PAUSE);
  }
  setTimeout(look, PAUSE);
})();
