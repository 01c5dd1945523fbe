() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
    const boxes = [...plot.querySelectorAll(
        '.gtitle, .annotation-text, .updatemenu-header-text, .xtick text, .ytick text')]
        .filter(text => text.textContent.trim())
        .map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.width);
    return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2).map(([two]) => [one, two]));
})
