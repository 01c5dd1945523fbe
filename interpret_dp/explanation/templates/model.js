const shapes = plots.filter(node => node.closest('#shapes') && !node.closest('.pair'));
document.getElementById('same-scale')?.addEventListener('change', event => {
  shapes.forEach(draw);
  const ranges = shapes.map(node => node._fullLayout.yaxis.range);
  const widest = [Math.min(...ranges.map(r => r[0])), Math.max(...ranges.map(r => r[1]))];
  for (const node of shapes) {
    Plotly.relayout(node, event.target.checked
      ? {'yaxis.range': widest.slice(), 'yaxis.autorange': false} : {'yaxis.autorange': true});
  }
});
document.getElementById('draws')?.addEventListener('change', event => {
  const visible = event.target.checked;
  for (const node of shapes) {
    const data = figures[plots.indexOf(node)].data;
    const drawn = data.flatMap((trace, i) => trace.meta === 'plausible curves' ? [i] : []);
    for (const i of drawn) data[i].visible = visible;
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
