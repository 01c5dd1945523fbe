width => document.documentElement.scrollWidth <= width
    && [...document.querySelectorAll('.js-plotly-plot')].every(
        plot => !plot.clientWidth || plot._fullLayout.width <= plot.clientWidth)
