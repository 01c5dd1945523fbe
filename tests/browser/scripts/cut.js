() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
    const box = plot.getBoundingClientRect();
    return [...plot.querySelectorAll('text')].filter(text => {
        const own = text.getBoundingClientRect();
        return own.width && (own.left < box.left - 1 || own.right > box.right + 1
            || own.bottom > box.bottom + 1 || own.top < box.top - 1);
    }).map(text => text.textContent);
})
