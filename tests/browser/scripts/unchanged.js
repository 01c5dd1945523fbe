// Plotly draws a plot of another size anew after a tenth of a second, and forgets a gesture then.
() => new Promise(done => {
    const observer = new MutationObserver(() => { clearTimeout(timer); timer = later(); });
    const later = () => setTimeout(() => { observer.disconnect(); done(); }, 250);
    let timer = later();
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
})
