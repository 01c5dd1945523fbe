// Texts of less contrast than 4.5 to what is behind them, or 3 where they are large (WCAG 2.1, 1.4.3).
() => {
  const parts = color => (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const opacity = color => parts(color)[3] ?? 1;
  const luminance = color => {
    const [r, g, b] = parts(color).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (!(node instanceof SVGElement) && opacity(color) > 0.99) return color;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? 'rgb(0, 0, 0)' : 'rgb(255, 255, 255)';
  };
  const ownText = node => [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return [...document.querySelectorAll('body *')].filter(node => {
    // What stands on coloured cells and bars, and what is disabled, has colours of its own.
    if (!ownText(node) || !node.checkVisibility({visibilityProperty: true, opacityProperty: true})) return false;
    if (node.closest('script, style, :disabled, .heatmap-label, .bars, .hoverlayer, .banner, .card-header')) return false;
    const style = getComputedStyle(node);
    const ink = node instanceof SVGElement ? style.fill : style.color;
    if (opacity(ink) < 0.99 || Number(style.opacity) < 1) return false;
    const [one, other] = [luminance(ink), luminance(behind(node))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5);
  }).map(node => `${node.textContent.trim().slice(0, 40)} (${getComputedStyle(node).color})`);
}
