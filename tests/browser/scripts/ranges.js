() => [...document.querySelectorAll('.idp-editor .js-plotly-plot')].map(plot =>
    [plot._fullLayout.xaxis.range, plot._fullLayout.yaxis.range])
