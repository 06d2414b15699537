// From an operation to those that compute its gradient, and back: arrows, a switch, keys.

import { LEFT, gap } from "./engine_paint.js";
import { KINDS } from "./engine_data.js";
import { button } from "../page/dom.js";

/** @type {[string, string][]} */
export const GRADIENT_KEYS = [
  ["G", "show or hide the arrows of the gradient"],
  ["J", "go to the gradient of the selected operation, then back"],
];
const WORDS = ["reads what it wrote (RAW)", "writes what it read (WAR)", "writes what it wrote (WAW)"];

/** The colour of the arrows of the gradient. */
const colourOf = (theme) => theme.phase[3];

/** Switches the arrows of the gradient, and goes along them. */
export class GradientTool {
  /** @param {{view: any, signal: AbortSignal}} options */
  constructor({ view, signal }) {
    this.view = view;
    this.on = true;
    this.button = button({
      label: "∂",
      title: "Arrows of the gradient (G)",
      signal,
      onclick: () => {
        this.toggle();
        view.redraw();
      },
    });
    this.button.setAttribute("aria-pressed", "true");
    view.frame.addTool(this.button);
  }

  toggle() {
    this.on = !this.on;
    this.button.setAttribute("aria-pressed", String(this.on));
  }

  /** The other ends of the arrows, as rows; none while they are hidden. */
  rows() {
    const { data } = this.view;
    return this.on && data.store.op ? data.gradientOf(data.store.op) : [];
  }

  /** Select the operation at the other end; the gradient may be several, one by one. */
  jump() {
    const { view } = this;
    const { at } = view.data.ops;
    const { op } = view.data.store;
    const row = view.data.rowOf(op);
    if (row < 0) return;
    const forward = at.forward[row];
    const all = forward ? view.data.gradientOf(forward) : view.data.gradientOf(op);
    const next = all.indexOf(row) + 1;
    if (next < all.length) view.select(all[next]);
    else if (forward) view.select(view.data.rowOf(forward));
  }
}

/**
 * Arrows from a forward operation to those of its gradient: they go below or above the boxes,
 * in dashes, so that they are distinguished from what waited for what.
 * @param {CanvasRenderingContext2D} ctx @param {any} view
 */
export function paintGradient(ctx, { data, row, rows, laneY, laneHeight, xOf, theme, width }) {
  if (!rows.length) return;
  const { at } = data.ops;
  const high = laneHeight - gap(laneHeight);
  const colour = colourOf(theme);
  ctx.save();
  ctx.beginPath();
  ctx.rect(LEFT, 0, width - LEFT, 10_000);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  for (const other of rows) {
    const [from, to] = at.forward[row] ? [other, row] : [row, other];
    const middle = (i) => (xOf(i, "start") + xOf(i, "end")) / 2;
    const [x0, x1] = [middle(from), middle(to)];
    const [y0, y1] = [laneY(at.lane[from]), laneY(at.lane[to])].map((y) => y + high);
    const deep = Math.max(y0, y1) + Math.min(16, 6 + Math.abs(x1 - x0) / 12);
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 3]);
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, deep, x1, deep, x1, y1 + 5);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 4.5, y1 + 7);
    ctx.lineTo(x1 + 4.5, y1 + 7);
    ctx.fill();
    ctx.lineWidth = 1.5;
    const wide = Math.max(3, xOf(other, "end") - xOf(other, "start") + 1);
    ctx.setLineDash([3, 2]);
    ctx.strokeRect(xOf(other, "start") - 1, laneY(at.lane[other]) - 0.5, wide, high + 1);
    ctx.setLineDash([]);
  }
  ctx.restore();
}

/** What the arrows of the selected operation mean. @param {any} view
 * @returns {[string, string, string?][]} */
export function arrowLegend(view) {
  const { op } = view.data.store;
  if (!op) return [];
  const { theme } = view;
  const colours = [theme.accent, theme.category[1], theme.category[2]];
  const kinds = new Set(view.data.arrowsOf(op).map(({ kind }) => kind));
  /** @type {[string, string, string?][]} */
  const found = KINDS.map((_, i) => [WORDS[i], colours[i], "line"]);
  const shown = found.filter((_, i) => kinds.has(i));
  if (view.gradient.rows().length) shown.push(["gradient of it", colourOf(theme), "dash"]);
  return shown;
}
