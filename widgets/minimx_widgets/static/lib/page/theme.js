// Which theme the page wears, and the colours that canvases draw with.

/** True where the page is dark: JupyterLab says so, or a book's page, or the system. */
export function isDark() {
  const lab = document.body.dataset.jpThemeLight;
  if (lab !== undefined) return lab === "false";
  const book = document.documentElement.dataset.theme;
  if (book === "dark" || book === "light") return book === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Call `changed` now and whenever the page changes its theme, until `signal` ends.
 * @param {AbortSignal} signal
 * @param {(dark: boolean) => void} changed
 */
export function onTheme(signal, changed) {
  const tell = () => changed(isDark());
  const observer = new MutationObserver(tell);
  observer.observe(document.body, {
    attributes: true,
    attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"],
  });
  observer.observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell, { signal });
  tell();
}

/**
 * The colours in force on `node`, read from its CSS variables.
 * @param {HTMLElement} node
 */
export function colours(node) {
  const style = getComputedStyle(node);
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const series = (/** @type {string} */ name, /** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) => read(`--mx-${name}-${i}`));
  return {
    category: series("cat", 8),
    phase: series("phase", 6),
    layer: series("layer", 8),
    family: series("family", 9),
    state: series("state", 5),
    edge: read("--mx-edge"),
    paper: read("--mx-bg"),
    ink: read("--mx-fg"),
    muted: read("--mx-fg2"),
    line: read("--mx-rule"),
    accent: read("--mx-accent"),
    alert: read("--mx-alert"),
    mark: read("--mx-mark"),
    lane: read("--mx-lane"),
    font: style.fontFamily,
  };
}
