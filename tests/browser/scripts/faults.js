// What Dash writes and our script mends, and what hides the focus.
() => [...document.querySelectorAll(
    '.idp [role=option] input, .idp [role=listbox] input, ' +
    '.idp [aria-hidden=true] :is(button, input), .idp [aria-hidden=true]:is(button, input)')]
    .filter(found => found.tabIndex >= 0).map(found => found.outerHTML.slice(0, 200))
