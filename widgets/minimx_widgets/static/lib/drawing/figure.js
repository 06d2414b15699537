// A figure on two sides, and how it changed: before and after a turn, or A and B.

import { el } from "../page/dom.js";

/**
 * One figure: its name, before → after, two bars, the change.
 * @param {any} row of `turn_text.rows` @param {[string, string]} [sides]
 */
export function figure(row, sides = ["before", "after"]) {
  const bars = row.bars.map((share, side) => {
    const bar = el("i", { class: "mx-figure-bar", data: { side: side ? "after" : "before" } });
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    return bar;
  });
  const said = `${row.label} (${row.source}): ${row.before} ${sides[0]}, ${row.after} ${sides[1]}`;
  return el(
    "div",
    {
      class: "mx-figure",
      role: "listitem",
      title: [`${said}.`, row.noise].filter(Boolean).join(" "),
      data: { figure: row.name, direction: row.direction, verdict: row.verdict },
    },
    el(
      "div",
      { class: "mx-figure-head" },
      el("span", { class: "mx-figure-label", text: row.label, data: { source: row.source } }),
      el("span", { class: "mx-figure-change", text: row.change }),
    ),
    el(
      "div",
      { class: "mx-figure-sides" },
      el("span", { class: "mx-figure-before", text: withoutUnit(row.before, row.after) }),
      el("span", { class: "mx-figure-arrow", text: "→", "aria-hidden": "true" }),
      el("b", { class: "mx-figure-after", text: row.after }),
    ),
    el("div", { class: "mx-figure-bars", "aria-hidden": "true" }, ...bars),
  );
}

/** A figure without its unit, where the other side has the same: "20.8 → 15.5 MiB".
 * @param {string} text @param {string} other */
function withoutUnit(text, other) {
  const unit = text.slice(text.indexOf(" "));
  return text.includes(" ") && other.endsWith(unit) ? text.slice(0, -unit.length) : text;
}
