const shapes = plots.filter(node => node.closest('#shapes') && !node.closest('.pair'));
document.getElementById('same-scale').addEventListener('change', event => {
  const ranges = shapes.map(node => node._fullLayout.yaxis.range);
  const widest = [Math.min(...ranges.map(r => r[0])), Math.max(...ranges.map(r => r[1]))];
  for (const node of shapes) {
    Plotly.relayout(node, event.target.checked
      ? {'yaxis.range': widest.slice(), 'yaxis.autorange': false} : {'yaxis.autorange': true});
  }
});
