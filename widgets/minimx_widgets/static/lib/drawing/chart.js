// A small line chart on a canvas: series over an axis, with gaps for what is unknown.

import { SCALES, lowerBound, ticks } from "./scale.js";

const LEFT = 56;
const BELOW = 18;
const TOP = 24;

/**
 * @typedef {{xs: ArrayLike<number>, ys: ArrayLike<number>, n: number, colour: string,
 *   kind: "line" | "dash" | "dots" | "faint" | "shadow" | "points"}} Series
 */

/**
 * Draw a chart of `series` into the box given by `x`, `y`, `width` and `height`.
 * `titles` are the same words from long to short; `cover` are values that are always in
 * sight; marks have a place on the axis and a text, which is drawn if `labels` is set.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{x: number, y: number, width: number, height: number, titles: string[],
 *   value: string, alert?: boolean, series: Series[], range: [number, number],
 *   scale: keyof typeof SCALES, cover: number[], format: (value: number) => string,
 *   formatX: (value: number) => string, marks: {at: number, text: string}[],
 *   labels: boolean, cursor: number | null, selected: number | null, theme: any}} options
 */
export function drawChart(ctx, options) {
  const { x, y, width, height, theme } = options;
  const box = { left: x + LEFT, right: x + width - 6, top: y + TOP, bottom: y + height - BELOW };
  drawTitle(ctx, options, box);
  if (options.series.length === 0) return;
  const scale = SCALES[options.scale];
  const [low, high] = extent(options, scale);
  const [from, to] = options.range;
  const at = {
    x: (/** @type {number} */ v) =>
      box.left + ((v - from) / (to - from || 1)) * (box.right - box.left),
    y: (/** @type {number} */ v) =>
      box.bottom - ((scale.to(v) - low) / (high - low || 1)) * (box.bottom - box.top),
  };
  drawGrid(ctx, { ...options, box, at, scale, low: scale.from(low), high: scale.from(high) });
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top - 4, box.right - box.left + 4, box.bottom - box.top + 6);
  ctx.clip();
  for (const one of options.series) drawSeries(ctx, one, { ...options, at, box });
  drawVerticals(ctx, { ...options, box, at });
  ctx.restore();
  if (options.labels) drawLabels(ctx, { ...options, box, at });
  ctx.fillStyle = theme.ink;
}

/** The longest of the titles that leaves room for the value. */
function drawTitle(ctx, { x, y, titles, value, alert, theme }, box) {
  ctx.textBaseline = "alphabetic";
  ctx.font = `600 11.5px ${theme.font}`;
  const room = box.right - x - 4 - ctx.measureText(value).width - 12;
  const title = titles.find((words) => ctx.measureText(words).width <= room) ?? "";
  ctx.textAlign = "left";
  ctx.fillStyle = theme.ink;
  ctx.fillText(title, x + 4, y + 13);
  ctx.textAlign = "right";
  ctx.fillStyle = alert ? theme.alert : theme.ink;
  ctx.fillText(value, box.right, y + 13);
}

/** The lowest and highest height of what is in sight, with a little room above. */
function extent({ series, range, cover }, scale) {
  const heights = cover.map(scale.to);
  let least = Math.min(...heights);
  let most = Math.max(...heights);
  for (const { xs, ys, n } of series) {
    const end = Math.min(n, lowerBound(xs, n, range[1]) + 1);
    for (let i = Math.max(0, lowerBound(xs, n, range[0]) - 1); i < end; i += 1) {
      const height = scale.to(ys[i]);
      if (!Number.isFinite(height)) continue;
      if (height < least) least = height;
      if (height > most) most = height;
    }
  }
  if (!(most >= least)) return [0, 1];
  const pad = (most - least || Math.abs(most) || 1) * 0.05;
  return [cover.length ? least : least - pad, most + pad];
}

function drawGrid(ctx, { box, at, scale, low, high, range, format, formatX, theme }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.line;
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of scale.ticks(low, high, Math.max(3, Math.round((box.bottom - box.top) / 22)))) {
    const y = Math.round(at.y(value)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(box.left, y);
    ctx.lineTo(box.right, y);
    ctx.stroke();
    const text = format(value);
    const fits = ctx.measureText(text).width <= LEFT - 7;
    ctx.fillText(fits ? text : value.toExponential(0), box.left - 5, y);
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

/**
 * Marks that are too near to each other to be distinguished become one with a number.
 * @param {{at: number, text: string}[]} marks @param {(value: number) => number} place
 * @param {number} gap in pixels @returns {{x: number, text: string, count: number}[]}
 */
export function groupMarks(marks, place, gap) {
  /** @type {{x: number, text: string, count: number}[]} */
  const groups = [];
  const placed = marks
    .map(({ at, text }) => ({ x: place(at), text, count: 1 }))
    .filter(({ x }) => Number.isFinite(x))
    .sort((a, b) => a.x - b.x);
  for (const mark of placed) {
    const last = groups.at(-1);
    if (last && mark.x - last.x < gap) {
      last.count += 1;
      last.text = `${last.count} turns`;
    } else groups.push(mark);
  }
  return groups;
}

/** How near marks may be: never more than a dozen lines in a chart. */
function gapOf(box) {
  return Math.max(8, (box.right - box.left) / 12);
}

function drawVerticals(ctx, { marks, cursor, selected, box, at, theme }) {
  ctx.strokeStyle = theme.mark;
  ctx.setLineDash([4, 3]);
  for (const { x } of groupMarks(marks, at.x, gapOf(box))) vertical(ctx, x, box);
  ctx.setLineDash([]);
  ctx.strokeStyle = theme.muted;
  if (cursor !== null) vertical(ctx, at.x(cursor), box);
  ctx.strokeStyle = theme.accent;
  if (selected !== null) vertical(ctx, at.x(selected), box);
}

/** What was turned, at the top of its line; the newest ones win where room is short. */
function drawLabels(ctx, { marks, box, at, theme }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  let free = Infinity;
  for (const { x, text } of groupMarks(marks, at.x, gapOf(box)).reverse()) {
    if (x < box.left || x > box.right) continue;
    const words = fitting(ctx, text, box.right - box.left - 10);
    const wide = ctx.measureText(words).width + 10;
    const start = Math.max(box.left, Math.min(x, box.right - wide));
    if (start + wide > free) continue;
    ctx.fillStyle = theme.mark;
    ctx.beginPath();
    ctx.roundRect(start, box.top - 4, wide, 14, 3);
    ctx.fill();
    ctx.fillStyle = theme.paper;
    ctx.fillText(words, start + 5, box.top + 3.5);
    free = start - 3;
  }
}

/** As much of a text as fits a width. */
function fitting(ctx, text, room) {
  let words = text;
  while (words.length > 2 && ctx.measureText(words).width > room)
    words = `${words.slice(0, -2)}…`;
  return words;
}

function vertical(ctx, x, box) {
  ctx.beginPath();
  ctx.moveTo(Math.round(x) + 0.5, box.top - 4);
  ctx.lineTo(Math.round(x) + 0.5, box.bottom);
  ctx.stroke();
}

const LOOKS = {
  line: { alpha: 1, width: 1.75 },
  faint: { alpha: 0.35, width: 1 },
  dash: { alpha: 0.8, width: 1.4 },
  dots: { alpha: 1, width: 1.75 },
  shadow: { alpha: 0.65, width: 1.3 },
  points: { alpha: 0.65, width: 0 },
};

/** One series, with a gap where values are not finite; canvases join the points of a
 * crowded pixel into one stroke by themselves. */
function drawSeries(ctx, { xs, ys, n, colour, kind }, { at, range }) {
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.globalAlpha = LOOKS[kind].alpha;
  ctx.lineWidth = LOOKS[kind].width;
  const from = Math.max(0, lowerBound(xs, n, range[0]) - 1);
  const end = Math.min(n, lowerBound(xs, n, range[1]) + 1);
  let joined = false;
  ctx.beginPath();
  for (let i = from; i < end; i += 1) {
    const y = at.y(ys[i]);
    if (joined && Number.isFinite(y)) ctx.lineTo(at.x(xs[i]), y);
    else ctx.moveTo(at.x(xs[i]), y);
    joined = Number.isFinite(y);
  }
  if (kind === "dash") ctx.setLineDash([5, 4]);
  if (kind !== "points") ctx.stroke();
  ctx.setLineDash([]);
  // A line of one point is seen as a dot.
  if (kind === "dots" || kind === "points" || end - from === 1) {
    for (let i = from; i < end; i += 1) {
      ctx.beginPath();
      ctx.arc(at.x(xs[i]), at.y(ys[i]), kind === "dots" ? 3.2 : 2.6, 0, 2 * Math.PI);
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
