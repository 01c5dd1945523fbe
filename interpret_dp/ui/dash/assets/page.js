// A notice on a page of ours that has lost its server. Dash itself goes on as if nothing had
// happened: buttons do nothing, and every answer stays away.
(function () {
  "use strict";
  const PAUSE = 3000; // milliseconds between two questions

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
        "again and use the new page. " + (places ? places.textContent : "")
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
      shown.remove();
      shown = null;
    }
    setTimeout(look, PAUSE);
  }
  setTimeout(look, PAUSE);
})();
