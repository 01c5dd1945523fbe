() => [...document.querySelectorAll('.idp-editor button, .idp-editor span')]
    // Names for those who do not see the screen.
    .filter(e => !e.closest('.idp-unseen') && e.offsetWidth)
    .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
    .map(e => e.textContent)
