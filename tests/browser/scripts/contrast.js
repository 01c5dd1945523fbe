// The least contrast of a plot's texts with what is behind them.
() => {
    const light = color => color.match(/\d+/g).slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
    // The first drawing of a plot is behind the others.
    const paper = text => behind(text.closest('.js-plotly-plot').querySelector('.main-svg'));
    const behind = node => {
        const { backgroundColor } = getComputedStyle(node);
        return backgroundColor.endsWith(', 0)') ? behind(node.parentElement) : backgroundColor;
    };
    return Math.min(...[...document.querySelectorAll('.js-plotly-plot text')]
        .filter(text => text.textContent.trim())
        .map(text => [light(getComputedStyle(text).fill), light(paper(text))])
        .map(pair => Math.max(...pair) / Math.min(...pair)));
}
