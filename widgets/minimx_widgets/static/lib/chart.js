// A small line chart on a canvas: series over an axis, with gaps for what is unknown.

import { lowerBound, ticks } from "./scale.js";

const LEFT = 42;
const BELOW = 18;
const TOP = 24;

/**
 * @typedef {{xs: ArrayLike<number>, ys: ArrayLike<number>, n: number, colour: string,
 *   kind: "line" | "dots", faint?: boolean}} Series
 */

/**
 * Draw a chart of `series` into the box given by `x`, `width` and `height`.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{x: number, width: number, height: number, title: string, value: string,
 *   series: Series[], range: [number, number], low?: number, high?: number,
 *   format: (value: number) => string, formatX: (value: number) => string,
 *   marks: number[], cursor: number | null, selected: number | null, theme: any}} options
 */
export function drawChart(ctx, options) {
  const { x, width, height, title, value, theme } = options;
  const box = { left: x + LEFT, right: x + width - 6, top: TOP, bottom: height - BELOW };
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  ctx.font = `600 11.5px ${theme.font}`;
  ctx.fillStyle = theme.ink;
  ctx.fillText(title, x + 4, 13);
  ctx.textAlign = "right";
  ctx.fillText(value, box.right, 13);
  if (options.series.length === 0) return;
  const [low, high] = extent(options);
  const [from, to] = options.range;
  const at = {
    x: (/** @type {number} */ v) =>
      box.left + ((v - from) / (to - from || 1)) * (box.right - box.left),
    y: (/** @type {number} */ v) =>
      box.bottom - ((v - low) / (high - low || 1)) * (box.bottom - box.top),
  };
  drawGrid(ctx, { ...options, box, at, low, high });
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top - 4, box.right - box.left + 4, box.bottom - box.top + 6);
  ctx.clip();
  drawVerticals(ctx, { ...options, box, at });
  for (const one of options.series) drawSeries(ctx, one, { ...options, at, box });
  ctx.restore();
}

/** The range of values; what is given wins over what is seen. */
function extent({ series, range, low, high }) {
  let least = Infinity;
  let most = -Infinity;
  for (const { xs, ys, n } of series) {
    const end = Math.min(n, lowerBound(xs, n, range[1]) + 1);
    for (let i = Math.max(0, lowerBound(xs, n, range[0]) - 1); i < end; i += 1) {
      if (ys[i] < least) least = ys[i];
      if (ys[i] > most) most = ys[i];
    }
  }
  if (!(most >= least)) return [low ?? 0, high ?? 1];
  const pad = (most - least || Math.abs(most) || 1) * 0.06;
  return [low ?? least - pad, high ?? most + pad];
}

function drawGrid(ctx, { box, at, low, high, range, format, formatX, theme }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.line;
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of ticks(low, high, 4)) {
    const y = Math.round(at.y(value)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(box.left, y);
    ctx.lineTo(box.right, y);
    ctx.stroke();
    ctx.fillText(format(value), box.left - 5, y);
  }
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const value of ticks(range[0], range[1], Math.max(3, (box.right - box.left) / 55))) {
    const text = formatX(value);
    const half = ctx.measureText(text).width / 2;
    const x = at.x(value);
    if (x - half >= box.left - 4 && x + half <= box.right + 6)
      ctx.fillText(text, x, box.bottom + 5);
  }
}

function drawVerticals(ctx, { marks, cursor, selected, box, at, theme }) {
  ctx.strokeStyle = theme.mark;
  ctx.setLineDash([4, 3]);
  for (const mark of marks) vertical(ctx, at.x(mark), box);
  ctx.setLineDash([]);
  ctx.strokeStyle = theme.muted;
  if (cursor !== null) vertical(ctx, at.x(cursor), box);
  ctx.strokeStyle = theme.accent;
  if (selected !== null) vertical(ctx, at.x(selected), box);
}

function vertical(ctx, x, box) {
  ctx.beginPath();
  ctx.moveTo(Math.round(x) + 0.5, box.top - 4);
  ctx.lineTo(Math.round(x) + 0.5, box.bottom);
  ctx.stroke();
}

/** One series; canvases join the points of a crowded pixel into one stroke by themselves. */
function drawSeries(ctx, { xs, ys, n, colour, kind, faint }, { at, range }) {
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.globalAlpha = faint ? 0.35 : 1;
  ctx.lineWidth = faint ? 1 : 1.75;
  const from = Math.max(0, lowerBound(xs, n, range[0]) - 1);
  ctx.beginPath();
  for (let i = from; i < n && xs[i] <= range[1]; i += 1) ctx.lineTo(at.x(xs[i]), at.y(ys[i]));
  ctx.stroke();
  if (kind === "dots") {
    for (let i = from; i < n; i += 1) {
      ctx.beginPath();
      ctx.arc(at.x(xs[i]), at.y(ys[i]), 3.2, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
}

/** Where the plot of a chart begins and ends, for pointing at it.
 * @param {number} x @param {number} width */
export function plotBox(x, width) {
  return { left: x + LEFT, right: x + width - 6 };
}

/**
 * A running mean that leans on the newest values, to show a trend in noise.
 * @param {ArrayLike<number>} ys @param {number} n @param {number} weight of the newest
 */
export function smooth(ys, n, weight) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i += 1) {
    const share = Math.max(weight, 1 / (i + 1));
    out[i] = i ? out[i - 1] + share * (ys[i] - out[i - 1]) : ys[0];
  }
  return out;
}
