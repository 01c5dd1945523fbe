() => document.querySelectorAll('.js-plotly-plot').forEach((plot, place) => {
    plot.mark = place;
    plot.drawings = 0;
    plot.on('plotly_afterplot', () => plot.drawings++);
})
