const shapes = plots.filter(node => node.closest('#shapes') && !node.closest('.pair'));
document.getElementById('same-scale').addEventListener('change', event => {
  shapes.forEach(draw);
  const ranges = shapes.map(node => node._fullLayout.yaxis.range);
  const widest = [Math.min(...ranges.map(r => r[0])), Math.max(...ranges.map(r => r[1]))];
  for (const node of shapes) {
    Plotly.relayout(node, event.target.checked
      ? {'yaxis.range': widest.slice(), 'yaxis.autorange': false} : {'yaxis.autorange': true});
  }
});
const search = document.getElementById('search');
if (search) search.addEventListener('input', () => {
  for (const card of document.querySelectorAll('#shapes .card')) {
    const name = card.querySelector('h3').textContent.toLowerCase();
    card.hidden = !name.includes(search.value.trim().toLowerCase());
  }
});
