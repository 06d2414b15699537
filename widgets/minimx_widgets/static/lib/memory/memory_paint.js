// How the memory timeline is painted: the scale, the stacked bands, reserve and peak.

import { byteTicks, bytes, roundUp } from "../drawing/scale.js";

export const LEFT = 118; // as wide as in the engine timeline, so that times line up

/**
 * Bytes along the left edge, with a line across for each.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{high: number, y: (value: number) => number, width: number, theme: any}} options
 */
export function paintScale(ctx, { high, y, top = 18, width, theme }) {
  ctx.font = `11px ${theme.font}`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of byteTicks(high, 5)) {
    ctx.fillStyle = theme.muted;
    if (y(value) > top - 8) ctx.fillText(bytes(value), LEFT - 8, y(value));
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(LEFT, Math.round(y(value)) + 0.5);
    ctx.lineTo(width, Math.round(y(value)) + 0.5);
    ctx.stroke();
  }
}

/**
 * Fill between two step lines, one value per pixel; no lower one means the ground.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{low: Float64Array | null, high: Float64Array, y: (value: number) => number, fill: string}} options
 */
export function paintBand(ctx, { low, high, y, fill }) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  const n = high.length;
  ctx.moveTo(LEFT, y(low ? low[0] : 0));
  for (let x = 0; x < n; x += 1) {
    ctx.lineTo(LEFT + x, y(high[x]));
    ctx.lineTo(LEFT + x + 1, y(high[x]));
  }
  for (let x = n - 1; x >= 0; x -= 1) {
    ctx.lineTo(LEFT + x + 1, y(low ? low[x] : 0));
    ctx.lineTo(LEFT + x, y(low ? low[x] : 0));
  }
  ctx.fill();
}

/**
 * The part of the reserve that nobody uses.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{low: Float64Array, high: Float64Array, y: (value: number) => number, theme: any}} options
 */
export function paintIdle(ctx, { low, high, y, theme }) {
  ctx.save();
  ctx.globalAlpha = 0.14;
  paintBand(ctx, { low, high, y, fill: theme.ink });
  ctx.restore();
}

/**
 * What the pool holds of the device.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{line: Float64Array, y: (value: number) => number, theme: any}} options
 */
export function paintReserve(ctx, { line, y, theme }) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1.25;
  ctx.beginPath();
  line.forEach((value, x) => {
    ctx.lineTo(LEFT + x, y(value));
    ctx.lineTo(LEFT + x + 1, y(value));
  });
  ctx.stroke();
}

/** Where the strip of the reserve lies, and where the bands begin below it. */
export const STRIP = { top: 20, bottom: 38, below: 46 };

/**
 * What the pool holds of the device, in a strip with a scale of its own: it is often many
 * times what lives, and would press the bands flat.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{line: Float64Array, width: number, theme: any}} options
 */
export function paintStrip(ctx, { line, width, theme }) {
  const { top, bottom } = STRIP;
  const high = roundUp(Math.max(1024, ...line));
  const y = (/** @type {number} */ value) => bottom - (value / high) * (bottom - top - 2);
  ctx.fillStyle = theme.lane;
  ctx.fillRect(LEFT, top, width - LEFT, bottom - top);
  ctx.save();
  ctx.globalAlpha = 0.16;
  paintBand(ctx, { low: null, high: line, y, fill: theme.ink });
  ctx.restore();
  paintReserve(ctx, { line, y, theme });
  ctx.font = `11px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = theme.ink;
  ctx.fillText("reserved", 2, (top + bottom) / 2);
  ctx.textAlign = "right";
  ctx.fillStyle = theme.muted;
  ctx.fillText(bytes(high), LEFT - 8, (top + bottom) / 2);
}

/**
 * The highest total so far, if it lies on the picture.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{peak: {bytes: number}, words: string, y: (value: number) => number, high: number, width: number, theme: any}} options
 */
export function paintPeak(ctx, { peak, words, y, high, width, theme }) {
  if (peak.bytes <= 0 || peak.bytes > high) return;
  const at = Math.round(y(peak.bytes)) + 0.5;
  ctx.strokeStyle = theme.alert;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(LEFT, at);
  ctx.lineTo(width, at);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.font = `11px ${theme.font}`;
  ctx.lineJoin = "round";
  ctx.lineWidth = 4;
  ctx.strokeStyle = theme.paper;
  ctx.fillStyle = theme.alert;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  const text = `${words} ${bytes(peak.bytes)}`;
  ctx.strokeText(text, width - 4, at - 3);
  ctx.fillText(text, width - 4, at - 3);
}
