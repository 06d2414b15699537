// Where the charts of a training lie, and the lane of the loss scale below them.

import { lowerBound } from "../drawing/scale.js";

/** The height of the lane of the loss scale. */
export const LANE = 40;
const NARROW = 430;

/**
 * The boxes of three charts: side by side, or one below the other where it is narrow.
 * @param {number} width @param {number} height of one
 */
export function boxes(width, height) {
  if (width < NARROW) return [0, 1, 2].map((i) => ({ x: 0, y: i * height, width, height }));
  const third = width / 3;
  return [0, 1, 2].map((i) => ({ x: i * third, y: 0, width: third - (i < 2 ? 10 : 0), height }));
}

/** How high the charts are together. @param {number} width @param {number} height of one */
export function chartsHigh(width, height) {
  return width < NARROW ? 3 * height : height;
}

/**
 * The loss scale as steps of powers of two, and red where a step was skipped.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{scale: {xs: ArrayLike<number>, ys: ArrayLike<number>, n: number},
 *   skipped: number[], range: [number, number], top: number, left: number, right: number,
 *   words: string, theme: any}} options
 */
export function drawLane(ctx, { scale, skipped, range, top, left, right, words, theme }) {
  const { xs, ys, n } = scale;
  const box = { left: left + 4, right: right - 6, top: top + 18, bottom: top + LANE - 5 };
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  ctx.font = `600 11.5px ${theme.font}`;
  ctx.fillStyle = theme.ink;
  ctx.fillText("loss scale", box.left, top + 12);
  const wide = ctx.measureText("loss scale").width;
  ctx.font = `11px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  ctx.fillText(words, box.left + wide + 8, top + 12);
  const across = (/** @type {number} */ v) =>
    box.left + ((v - range[0]) / (range[1] - range[0] || 1)) * (box.right - box.left);
  const powers = Array.from({ length: n }, (_, i) => Math.log2(ys[i]));
  const low = Math.min(...powers.filter(Number.isFinite)) - 1;
  const high = Math.max(...powers.filter(Number.isFinite)) + 1;
  const down = (/** @type {number} */ power) =>
    box.bottom - ((power - low) / (high - low)) * (box.bottom - box.top);
  ctx.fillStyle = theme.lane;
  ctx.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top - 2, box.right - box.left, box.bottom - box.top + 4);
  ctx.clip();
  ctx.strokeStyle = theme.alert;
  ctx.lineWidth = 1.5;
  for (const at of skipped) {
    const x = Math.round(across(at)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, box.top);
    ctx.lineTo(x, box.bottom);
    ctx.stroke();
  }
  ctx.strokeStyle = theme.phase[4];
  ctx.lineWidth = 1.75;
  ctx.beginPath();
  const from = Math.max(0, lowerBound(xs, n, range[0]) - 1);
  for (let i = from; i < n; i += 1) {
    const x = across(xs[i]);
    if (i > from) ctx.lineTo(x, down(powers[i - 1]));
    ctx.lineTo(x, down(powers[i]));
  }
  ctx.stroke();
  ctx.restore();
}
