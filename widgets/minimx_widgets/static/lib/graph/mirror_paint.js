// The two charts of the mirror explorer: bytes over steps, and peak against extra work.

import { byteTicks, bytes, percent, ticks } from "../drawing/scale.js";

const LEFT = 62;
const TOP = 26;
const BELOW = 22;
/** What becomes of a node's results; boxes hold the numbers. */
export const FATES = ["kept", "recomputed", "fixed", "let go"];
/** The number of "recomputed" among the roles of a step. */
export const AGAIN = 2;

/** Where values lie in a chart. */
function frameOf(width, height, low, high) {
  const [right, bottom] = [width - 12, height - BELOW];
  return {
    right,
    bottom,
    x: (/** @type {number} */ value) => LEFT + (value / low) * (right - LEFT),
    y: (/** @type {number} */ value) => bottom - (value / high) * (bottom - TOP),
  };
}

/** Steps of the curve at which the base's steps lie, by name; those that are gone are not
 * drawn. @param {[string, number, number][]} curve @param {[string, number, number][]} base */
export function aligned(curve, base) {
  const place = new Map(curve.map(([name], step) => [name, step]));
  return base
    .filter(([name]) => place.has(name))
    .map(([name, , nbytes]) => [place.get(name), nbytes]);
}

/** The most bytes and the most extra work of all that the front's chart shows. */
function reach({ points, measured, peak, keeping, extra }) {
  const peaks = [...points.map((p) => p[2]), ...measured.map((dot) => dot[1])];
  const extras = [...points.map((p) => p[3]), ...measured.map((dot) => dot[2])];
  return [Math.max(0.05, extra, ...extras) * 1.06, Math.max(1, peak, keeping, ...peaks) * 1.08];
}

/** Where the front's chart has a point. */
export function frontFrame(state, width, height) {
  const [widest, most] = reach(state);
  return frameOf(width, height, widest, most);
}

/** The point of the front nearest to a place, -1 if none is near. */
export function pointAt(state, width, height, x, y) {
  const at = frontFrame(state, width, height);
  let found = -1;
  let least = 14;
  state.points.forEach(([, , peak, extra], i) => {
    const far = Math.hypot(at.x(extra) - x, at.y(peak) - y);
    if (far < least) [found, least] = [i, far];
  });
  return found;
}

/** The next point along the front, seen from the way that is drawn.
 * @param {any} state @param {number} by 1 for more work and less memory */
export function along(state, by) {
  const front = state.points
    .map((point, i) => ({ point, i }))
    .filter(({ point }) => point[5])
    .sort((a, b) => a.point[3] - b.point[3]);
  const near = (/** @type {any} */ { point }) =>
    Math.abs(point[3] - state.extra) + Math.abs(point[2] / state.keeping - state.peak / state.keeping);
  const now = front.findIndex(({ point }) => point[0] === state.policy);
  const start =
    now >= 0 ? now : front.indexOf([...front].sort((a, b) => near(a) - near(b))[0]);
  return front[Math.min(front.length - 1, Math.max(0, start + by))]?.i ?? -1;
}

function rows(ctx, at, most, theme) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.strokeStyle = theme.line;
  ctx.fillStyle = theme.muted;
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of byteTicks(most, 4)) {
    const y = Math.round(at.y(value)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(LEFT, y);
    ctx.lineTo(at.right, y);
    ctx.stroke();
    ctx.fillText(bytes(value), LEFT - 6, y);
  }
}

function title(ctx, words, theme) {
  ctx.font = `600 11.5px ${theme.font}`;
  ctx.fillStyle = theme.ink;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(words, 8, 15);
}

function below(ctx, at, marks, words, theme) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const value of marks) {
    const x = at.x(value);
    if (x <= at.right - 8) ctx.fillText(words(value), x, at.bottom + 5);
  }
}

/**
 * Bytes over steps, and with everything kept; recomputed steps are shaded.
 * @param {CanvasRenderingContext2D} ctx
 */
export function paintCurve(ctx, { state, width, height, theme, hovered }) {
  const { curve, base } = state;
  const most = 1.08 * Math.max(1, ...curve.map((r) => r[2]), ...base.map((r) => r[2]));
  const at = frameOf(width, height, Math.max(1, curve.length), most);
  title(ctx, "Bytes that are needed over the steps", theme);
  rows(ctx, at, most, theme);
  const whole = ticks(0, curve.length, 7).filter(Number.isInteger);
  below(ctx, at, whole, (value) => `#${value}`, theme);
  ctx.fillStyle = theme.mark;
  ctx.globalAlpha = 0.18;
  curve.forEach(([, role], step) => {
    if (role === AGAIN)
      ctx.fillRect(at.x(step), TOP, at.x(step + 1) - at.x(step) + 0.5, at.bottom - TOP);
  });
  ctx.globalAlpha = 1;
  stairs(ctx, aligned(curve, base), at, theme.muted, [5, 3], 1.2);
  const now = curve.map(([, , nbytes], step) => [step, nbytes]);
  stairs(ctx, now, at, theme.ink, [], 1.8);
  if (hovered < 0 || hovered >= curve.length) return;
  ctx.fillStyle = theme.accent;
  ctx.globalAlpha = 0.25;
  ctx.fillRect(at.x(hovered), TOP, at.x(hovered + 1) - at.x(hovered), at.bottom - TOP);
  ctx.globalAlpha = 1;
}

/** The step under a place of the curve's chart. */
export function stepAt(state, width, x) {
  const count = state.curve.length;
  const step = Math.floor(((x - LEFT) / (width - 12 - LEFT)) * count);
  return step >= 0 && step < count ? step : -1;
}

function stairs(ctx, points, at, ink, dash, width) {
  ctx.strokeStyle = ink;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  for (const [step, nbytes] of points) {
    ctx.lineTo(at.x(step), at.y(nbytes));
    ctx.lineTo(at.x(step + 1), at.y(nbytes));
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/**
 * All ways as points: peak against extra work, the front as a line.
 * @param {CanvasRenderingContext2D} ctx
 */
export function paintFront(ctx, { state, width, height, theme, hovered }) {
  const at = frontFrame(state, width, height);
  title(ctx, "Peak of the plan against extra work", theme);
  const [widest, most] = reach(state);
  rows(ctx, at, most, theme);
  below(ctx, at, ticks(0, widest, 5), percent, theme);
  const front = state.points.filter((point) => point[5]).sort((a, b) => a[3] - b[3]);
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 1.6;
  ctx.beginPath();
  front.forEach(([, , peak, extra]) => ctx.lineTo(at.x(extra), at.y(peak)));
  ctx.stroke();
  state.points.forEach(([name, , peak, extra, root, best], i) => {
    const [x, y] = [at.x(extra), at.y(peak)];
    ctx.fillStyle = root ? theme.mark : best ? theme.accent : theme.muted;
    ctx.globalAlpha = best || root ? 1 : 0.6;
    ctx.beginPath();
    ctx.arc(x, y, i === hovered ? 6 : best || root ? 4.2 : 3.2, 0, 2 * Math.PI);
    ctx.fill();
    ctx.globalAlpha = 1;
    if (root) {
      ctx.font = `600 11.5px ${theme.font}`;
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.fillText("√N", x + 7, y - 5);
    }
    if (name === state.policy) ring(ctx, x, y, theme.ink);
  });
  ring(ctx, at.x(Math.max(0, state.extra)), at.y(state.peak), theme.ink);
  for (const [, peak, extra] of state.measured)
    diamond(ctx, at.x(Math.max(0, extra)), at.y(peak), theme.ink);
  if (state.points.length > 0) return;
  ctx.font = `12px ${theme.font}`;
  ctx.textAlign = "center";
  ctx.fillStyle = theme.muted;
  ctx.fillText("Comparing the ways…", (LEFT + at.right) / 2, (TOP + at.bottom) / 2);
}

function diamond(ctx, x, y, ink) {
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  for (const [dx, dy] of [[0, -5], [5, 0], [0, 5], [-5, 0]]) ctx.lineTo(x + dx, y + dy);
  ctx.closePath();
  ctx.stroke();
}

function ring(ctx, x, y, ink) {
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.8;
  ctx.beginPath();
  ctx.arc(x, y, 7.5, 0, 2 * Math.PI);
  ctx.stroke();
}
