// The rectangles of a memory plan on a canvas.

import { byteTicks, bytes, ticks } from "../drawing/scale.js";

export const LEFT = 66;
export const BELOW = 22;
export const TOP = 8;

/**
 * Where steps and bytes lie on the screen.
 * @param {{width: number, height: number, steps: number, high: number,
 *   place: {x: number, y: number, scale: number}}} options
 */
export function scales({ width, height, steps, high, place }) {
  const right = width - 4;
  const bottom = height - BELOW;
  const wide = (right - LEFT) / Math.max(1, steps);
  const tall = (bottom - TOP) / high;
  return {
    right,
    bottom,
    x: (/** @type {number} */ step) => (LEFT + step * wide) * place.scale + place.x,
    y: (/** @type {number} */ byte) => (bottom - byte * tall) * place.scale + place.y,
    step: (/** @type {number} */ x) => ((x - place.x) / place.scale - LEFT) / wide,
    byte: (/** @type {number} */ y) => (bottom - (y - place.y) / place.scale) / tall,
  };
}

/** @param {CanvasRenderingContext2D} ctx */
export function paintAxes(ctx, { at, theme, steps }) {
  ctx.font = `11px ${theme.font}`;
  ctx.strokeStyle = theme.line;
  ctx.fillStyle = theme.muted;
  ctx.lineWidth = 1;
  const [low, high] = [at.byte(at.bottom), at.byte(TOP)];
  const rows = byteTicks(high - low, 6);
  const first = Math.max(0, low - (low % (rows[1] || 1)));
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const row of rows) {
    const shown = first + row;
    const y = at.y(shown);
    if (y > at.bottom + 1 || y < TOP - 1) continue;
    ctx.beginPath();
    ctx.moveTo(LEFT, Math.round(y) + 0.5);
    ctx.lineTo(at.right, Math.round(y) + 0.5);
    ctx.stroke();
    ctx.fillText(bytes(shown), LEFT - 7, y);
  }
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  const range = [at.step(LEFT), Math.min(at.step(at.right), steps)];
  for (const value of ticks(range[0], range[1], 8)) {
    if (!Number.isInteger(value) || value < 1) continue;
    const x = at.x(value - 0.5);
    if (x < LEFT - 1 || x > at.right - 8) continue;
    ctx.fillText(`#${value}`, x, at.bottom + 6);
  }
}

/** The stretches of the arena that are one block each.
 * @param {CanvasRenderingContext2D} ctx */
export function paintBlocks(ctx, { at, theme, blocks, chosen }) {
  for (const [id, offset, nbytes] of blocks) {
    const top = at.y(offset + nbytes);
    const tall = at.y(offset) - top;
    ctx.fillStyle = id === chosen ? theme.layer[id % theme.layer.length] : theme.lane;
    ctx.globalAlpha = id === chosen ? 0.16 : 1;
    ctx.fillRect(LEFT, top + 0.5, at.right - LEFT, Math.max(0.5, tall - 1));
    ctx.globalAlpha = 1;
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./plan_data.js").Tensor} tensor
 */
export function paintTensor(ctx, tensor, { at, theme, fill, faint, ring }) {
  const left = at.x(tensor.first);
  const wide = Math.max(1.2, at.x(tensor.until) - left - 1);
  const top = at.y(tensor.offset + tensor.nbytes);
  const tall = Math.max(1, at.y(tensor.offset) - top - 0.8);
  if (left > at.right || left + wide < LEFT) return;
  ctx.globalAlpha = faint ? 0.28 : 0.92;
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.roundRect(left, top, wide, tall, Math.min(2.5, wide / 3, tall / 3));
  ctx.fill();
  if (tensor.over && wide > 3) {
    // Written over an input: the seam between the two is marked.
    ctx.fillStyle = theme.paper;
    ctx.globalAlpha = 0.85;
    ctx.beginPath();
    ctx.moveTo(left, top);
    ctx.lineTo(left + Math.min(7, wide), top);
    ctx.lineTo(left, top + Math.min(7, tall));
    ctx.fill();
  }
  ctx.globalAlpha = 1;
  if (ring) {
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 2;
    ctx.strokeRect(left, top, wide, tall);
  }
  const start = Math.max(left, LEFT);
  const room = Math.min(left + wide, at.right) - start - 8;
  if (tall < 12 || room < 24) return;
  ctx.font = `10.5px ${theme.font}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = faint ? theme.ink : theme.paper;
  ctx.globalAlpha = faint ? 0.5 : 1;
  const words = fitted(ctx, tensor.short, room);
  if (words) ctx.fillText(words, start + 5, top + tall / 2 + 0.5);
  ctx.globalAlpha = 1;
}

function fitted(ctx, words, room) {
  if (ctx.measureText(words).width <= room) return words;
  let keep = Math.floor((words.length * room) / ctx.measureText(words).width) - 1;
  while (keep > 2 && ctx.measureText(`${words.slice(0, keep)}…`).width > room) keep -= 1;
  return keep > 2 ? `${words.slice(0, keep)}…` : "";
}

/** The bytes that are needed at each step, and the most of them.
 * @param {CanvasRenderingContext2D} ctx */
export function paintNeeded(ctx, { at, theme, needed, bound }) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  needed.forEach((value, step) => {
    ctx.lineTo(at.x(step), at.y(value));
    ctx.lineTo(at.x(step + 1), at.y(value));
  });
  ctx.stroke();
  const y = Math.round(at.y(bound)) + 0.5;
  ctx.strokeStyle = theme.alert;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(LEFT, y);
  ctx.lineTo(at.right, y);
  ctx.stroke();
  ctx.setLineDash([]);
}
