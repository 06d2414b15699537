// Bytes over the steps of a tape, and what its boxes are in after a step.

import { byteTicks, bytes } from "../drawing/scale.js";

const LEFT = 62;
const TOP = 18;
const BELOW = 8;
/** What a box can be in; messages hold the numbers. */
export const STATES = [
  "absent",
  "recorded",
  "reached",
  "at work",
  "let go",
  "retained",
  "stored",
];
export const RECORDED = 1;

/**
 * @typedef {{kind: string, at: number, words: string, sent: number[],
 *   changes: [number, number][], kept: number, flight: number, ready: number}} Step
 */

/** A step from its message. @param {any[]} row @returns {Step} */
export function stepOf([kind, at, words, sent, changes, kept, flight, ready]) {
  return { kind, at, words, sent, changes, kept, flight, ready };
}

/** The state of every box after a step; an array from outside comes with its first user.
 * @param {Step[]} steps @param {number} step @param {number} count
 * @param {[number, number][]} outside */
export function statesAt(steps, step, count, outside) {
  const states = new Array(count).fill(0);
  for (const { changes } of steps.slice(0, step + 1))
    for (const [box, state] of changes) states[box] = state;
  for (const [box, user] of outside) if (states[user]) states[box] = RECORDED;
  return states;
}

/** The bytes that the strip shows of a step. @param {Step} step */
const height = (step) => step.kept + step.flight;

/** Where the strip has its steps and bytes. @param {Step[]} steps */
function frameOf(steps, most, width, tall) {
  const [right, bottom] = [width - 12, tall - BELOW];
  const wide = (right - LEFT) / Math.max(1, steps.length);
  return {
    right,
    bottom,
    wide,
    x: (/** @type {number} */ step) => LEFT + step * wide,
    y: (/** @type {number} */ value) => bottom - (value / most) * (bottom - TOP),
  };
}

/** The step at a place of the strip, -1 beside it. @param {number} count */
export function stepAtPlace(count, width, x) {
  const step = Math.floor(((x - LEFT) / (width - 12 - LEFT)) * count);
  return step >= 0 && step < count ? step : -1;
}

/**
 * The strip: results that the tape keeps, gradients above them, and the play head.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{steps: Step[], most: number, step: number, hovered: number, width: number,
 *   height: number, theme: any}} options `most` is the same for all tapes of a view
 */
export function paintStrip(ctx, { steps, most, step, hovered, width, height: tall, theme }) {
  const at = frameOf(steps, most, width, tall);
  ctx.font = `10.5px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  ctx.lineWidth = 1;
  for (const value of byteTicks(most, 4)) {
    const y = Math.round(at.y(value)) + 0.5;
    ctx.strokeStyle = theme.line;
    ctx.beginPath();
    ctx.moveTo(LEFT, y);
    ctx.lineTo(at.right, y);
    ctx.stroke();
    ctx.fillStyle = theme.muted;
    ctx.fillText(bytes(value), LEFT - 6, y);
  }
  const [results, gradients] = [theme.category[3], theme.category[1]];
  steps.forEach((one, k) => {
    ctx.globalAlpha = k === hovered || k === step ? 1 : 0.7;
    const wide = at.wide + 0.5;
    ctx.fillStyle = results;
    ctx.fillRect(at.x(k), at.y(one.kept), wide, at.y(0) - at.y(one.kept));
    ctx.fillStyle = gradients;
    ctx.fillRect(at.x(k), at.y(height(one)), wide, at.y(one.kept) - at.y(height(one)));
    ctx.globalAlpha = 1;
    if (one.kind === "begin") paintBegin(ctx, at, k, theme);
  });
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(at.x(step + 0.5), TOP - 12);
  ctx.lineTo(at.x(step + 0.5), at.bottom);
  ctx.stroke();
}

function paintBegin(ctx, at, step, theme) {
  ctx.strokeStyle = theme.muted;
  ctx.setLineDash([3, 3]);
  ctx.beginPath();
  ctx.moveTo(at.x(step), 4);
  ctx.lineTo(at.x(step), at.bottom);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "left";
  ctx.fillText("backward", at.x(step) + 5, 9);
}
