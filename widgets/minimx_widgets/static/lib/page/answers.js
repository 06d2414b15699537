// The views that show what was just turned light up for a moment.

const LASTS = 1500;
/** @type {WeakMap<Element, ReturnType<typeof setTimeout>>} */
const ending = new WeakMap();

/**
 * Light up views of the lab that `node` is part of; without a lab, of the page.
 * @param {Element} node @param {string[]} names their `data-view`
 */
export function answers(node, names) {
  const around = node.closest(".mx-lab") ?? document;
  for (const name of names)
    for (const view of around.querySelectorAll(`.mx-view[data-view="${name}"]`)) light(view);
}

/** @param {any} view */
function light(view) {
  clearTimeout(ending.get(view));
  view.dataset.answers = "false";
  void view.offsetWidth; // an animation that runs begins again only after a new layout
  view.dataset.answers = "true";
  view.dataset.lit = String(Number(view.dataset.lit ?? 0) + 1);
  ending.set(
    view,
    setTimeout(() => {
      view.dataset.answers = "false";
    }, LASTS),
  );
}
