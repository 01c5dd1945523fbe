// Two frames on, what a gesture or an answer has set off is under way: Dash's queues say so.
async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(done => requestAnimationFrame(done));
    const queues = Object.entries(window.store ? window.store.getState().callbacks : {});
    const plots = [...document.querySelectorAll('.js-plotly-plot')];
    return queues.every(([name, callbacks]) => name === 'stored' || !callbacks.length)
        && document.title !== 'Updating...'
        // Dash puts this in the place of a figure until it has loaded plotly.
        && !document.querySelector('.dash-graph--pending')
        && plots.every(plot => plot.querySelector('.main-svg'));
}
