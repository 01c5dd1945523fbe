([index, code, position]) => {
    const plot = [...document.querySelectorAll('.idp-editor-plot .js-plotly-plot')][index];
    const { meta } = plot.layout, { xaxis, yaxis } = plot._fullLayout;
    const box = plot.getBoundingClientRect();
    const at = code === null ? -1 : meta.codes.indexOf(code);
    const x = code === null ? position : (meta.left[at] + meta.right[at]) / 2;
    const entry = code !== null && meta.traces.find(one => one.codes.includes(code));
    const height = entry ? plot.data[entry.trace].y[entry.codes.indexOf(code)] : 0;
    return [
        box.left + xaxis._offset + xaxis.d2p(x),
        box.top + yaxis._offset + (code === null ? yaxis._length / 4 : yaxis.d2p(height)),
        Math.abs(yaxis.p2d(1) - yaxis.p2d(0)),
    ];
}
