// @ts-check
// Definitions of glossary terms beside the links to them, on hover and on focus.
// They come from glossary-terms.js; see site_glossary.py.

const GAP = 6; // px between a link and its definition
const LEAVE = 200; // ms in which the pointer may travel from the link to the definition

document.addEventListener("DOMContentLoaded", () => {
  /** @type {Record<string, string>} */
  const terms = /** @type {any} */ (window).mxGlossary ?? {};
  /** @type {HTMLElement | null} */
  let open = null;
  let leaving = 0;

  function hide() {
    clearTimeout(leaving);
    if (open) open.hidden = true;
    open = null;
  }

  /** @param {HTMLElement} tip @param {Element} link */
  function show(tip, link) {
    hide();
    open = tip;
    tip.hidden = false;
    const at = link.getClientRects()[0];
    const wide = document.documentElement.clientWidth;
    const left = Math.min(at.left, wide - tip.offsetWidth - GAP);
    const below = at.bottom + GAP;
    const fits = below + tip.offsetHeight <= document.documentElement.clientHeight;
    const top = fits ? below : at.top - tip.offsetHeight - GAP;
    tip.style.left = `${Math.max(GAP, left) + window.scrollX}px`;
    tip.style.top = `${top + window.scrollY}px`;
  }

  function leave() {
    clearTimeout(leaving);
    leaving = window.setTimeout(hide, LEAVE);
  }

  /** One element for each term that the page uses; a screen reader reads it with the link.
   * @param {string} name @returns {HTMLElement} */
  function made(name) {
    const id = `mx-tip-${name}`;
    const there = document.getElementById(id);
    if (there) return there;
    const tip = document.createElement("div");
    tip.id = id;
    tip.className = "mx-tip";
    tip.setAttribute("role", "tooltip");
    tip.textContent = terms[name];
    tip.hidden = true;
    tip.addEventListener("mouseenter", () => clearTimeout(leaving));
    tip.addEventListener("mouseleave", leave);
    document.body.append(tip);
    return tip;
  }

  for (const link of document.querySelectorAll('a[href*="glossary.html#term-"]')) {
    const name = /** @type {HTMLAnchorElement} */ (link).hash.slice(1);
    if (!(name in terms)) continue;
    const tip = made(name);
    link.classList.add("mx-term");
    link.setAttribute("aria-describedby", tip.id);
    for (const event of ["mouseenter", "focus"]) {
      link.addEventListener(event, () => show(tip, link));
    }
    link.addEventListener("mouseleave", leave);
    link.addEventListener("blur", hide);
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
});
