const shapes = plots.filter(node => node.closest('#shapes') && !node.closest('.pair'));
const percents = new Map();
document.getElementById('same-scale')?.addEventListener('change', event => {
  shapes.forEach(draw);
  const ranges = shapes.map(node => node._fullLayout.yaxis.range);
  const widest = [Math.min(...ranges.map(r => r[0])), Math.max(...ranges.map(r => r[1]))];
  // Percentages of the figure with the widest range suit all.
  for (const node of shapes) if (!percents.has(node)) percents.set(node, {...node.layout.yaxis3});
  const spans = ranges.map(r => r[1] - r[0]);
  const largest = shapes[spans.indexOf(Math.max(...spans))];
  for (const node of shapes) {
    const {tickvals, ticktext} = percents.get(event.target.checked ? largest : node);
    Plotly.relayout(node, {
      ...(tickvals && {'yaxis3.tickvals': tickvals, 'yaxis3.ticktext': ticktext}),
      ...(event.target.checked
        ? {'yaxis.range': widest.slice(), 'yaxis.autorange': false} : {'yaxis.autorange': true})
    });
  }
});
document.getElementById('draws')?.addEventListener('change', event => {
  const isOn = event.target.checked;
  for (const node of shapes) {
    const data = figures[plots.indexOf(node)].data;
    // Of several classes one is shown; the traces of the others are not visible at all.
    const isShown = trace => !trace.legendgroup || trace.visible !== false;
    const drawn = (node.data || data).flatMap((trace, i) =>
      trace.meta === 'plausible curves' && isShown(trace) ? [i] : []);
    const visible = drawn.map(i => isOn || (data[i].legendgroup ? 'legendonly' : false));
    drawn.forEach((i, at) => { data[i].visible = visible[at]; });
    if (node.data && drawn.length) Plotly.restyle(node, {visible}, drawn);
  }
});
const search = document.getElementById('search');
if (search) search.addEventListener('input', () => {
  for (const card of document.querySelectorAll('#shapes .card')) {
    const name = card.querySelector('h3').textContent.toLowerCase();
    card.hidden = !name.includes(search.value.trim().toLowerCase());
  }
});
for (const box of document.querySelectorAll('.levels input')) box.addEventListener('input', () => {
  for (const row of box.closest('.levels').querySelectorAll('tbody tr')) {
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(box.value.trim().toLowerCase());
  }
});
