// How the engine timeline is painted: lanes, boxes, shades, push ticks, arrows.

import { KINDS, PUSHER, layOut } from "./engine_data.js";
import { percent } from "../drawing/scale.js";

export const LEFT = 118; // as wide as in the memory timeline, so that times line up

/**
 * The backgrounds and names of the lanes; idle time is what stays this colour.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} view
 */
export function paintLanes(
  ctx,
  { data, lanes, theme, width, laneY, laneHeight, shares, active },
) {
  ctx.textBaseline = "middle";
  const high = laneHeight - gap(laneHeight);
  let free = -Infinity; // below the last name; thin lanes cannot all have one
  lanes.forEach((/** @type {number} */ lane) => {
    const y = laneY(lane);
    ctx.fillStyle = theme.lane;
    ctx.fillRect(LEFT, y, width - LEFT, high);
    const middle = y + high / 2;
    if (middle < free) return;
    free = middle + 11;
    const name = data.lanes[lane];
    ctx.font = `${laneHeight < 13 ? 10 : 11.5}px ${theme.font}`;
    ctx.textAlign = "left";
    ctx.globalAlpha = active[lane] || name === PUSHER ? 1 : 0.5;
    ctx.fillStyle = theme.ink;
    // Cut in the middle: lanes of one thread differ at their ends.
    ctx.fillText(clip(ctx, data.label(lane), LEFT - 48, 0.5), 2, middle);
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    const share =
      name === PUSHER && !active[lane] ? "push" : percent(Math.min(1, shares[lane]));
    ctx.fillText(share, LEFT - 8, middle);
    ctx.globalAlpha = 1;
  });
}

/** What stays free between two lanes. @param {number} laneHeight */
export function gap(laneHeight) {
  return laneHeight < 9 ? 1 : 3;
}

/**
 * The operations themselves; returns how many boxes and shades were painted.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} view
 */
export function paintOps(ctx, view) {
  const { data, theme, width, laneY, laneHeight, palette, colourOf, low, per } = view;
  const wide = Math.max(1, Math.floor(width - LEFT));
  const { boxes, shade, tint } = layOut(data, {
    mode: view.mode,
    low,
    per,
    width: wide,
    colour: colourOf,
    colours: palette.length,
  });
  const high = laneHeight - gap(laneHeight);
  let shades = 0;
  view.lanes.forEach((/** @type {number} */ lane) => {
    const y = laneY(lane);
    // Neighbours of one shade are painted at once: there are thousands of pixels.
    const at = (/** @type {number} */ x) => {
      const part = shade[lane * wide + x];
      if (part === 0) return -1;
      return Math.ceil(Math.min(1, part) * 16) * 256 + tint[lane * wide + x];
    };
    for (let x = 0, next = 0; x < wide; x = next) {
      const look = at(x);
      for (next = x + 1; next < wide && at(next) === look; ) next += 1;
      if (look < 0) continue;
      ctx.globalAlpha = 0.25 + (0.75 * (look >> 8)) / 16;
      ctx.fillStyle = palette[look & 255];
      ctx.fillRect(LEFT + x, y, next - x, high);
      shades += next - x;
    }
  });
  ctx.globalAlpha = 1;
  paintBoxes(ctx, boxes, view, high);
  if (view.mode === "time") paintHolders(ctx, view, high);
  paintPushes(ctx, view, wide, theme);
  return { boxes: boxes.length, shades };
}

/** A bracket over the operations that were joined, where it is wide enough to be seen. */
function paintHolders(ctx, { data, lanes, theme, width, laneY, low, per }, high) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1;
  for (const lane of lanes) {
    const order = data.holders[lane];
    if (!order?.n) continue;
    const y = laneY(lane);
    order.visit(
      low,
      low + (width - LEFT) / per,
      6 / per,
      (row) => {
        const x0 = Math.round(LEFT + (order.start(row) - low) * per) + 0.5;
        const x1 = Math.round(LEFT + (order.end(row) - low) * per) - 0.5;
        if (x1 - x0 < 6) return;
        ctx.beginPath();
        ctx.rect(LEFT, y - 2, width - LEFT, high + 4);
        ctx.save();
        ctx.clip();
        ctx.beginPath();
        ctx.moveTo(x0, y + high / 2);
        ctx.lineTo(x0, y - 0.5);
        ctx.lineTo(x1, y - 0.5);
        ctx.lineTo(x1, y + high / 2);
        ctx.stroke();
        ctx.restore();
      },
      () => undefined,
    );
  }
}

function paintBoxes(
  ctx,
  boxes,
  { data, lanes, theme, width, laneY, colourOf, palette, xOf },
  high,
) {
  const { at } = data.ops;
  ctx.font = `10.5px ${theme.font}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const row of boxes) {
    if (!lanes.includes(at.lane[row])) continue;
    const x0 = Math.max(LEFT, xOf(row, "start"));
    const x1 = Math.min(width, xOf(row, "end"));
    const y = laneY(at.lane[row]);
    ctx.fillStyle = palette[colourOf(row) % palette.length];
    ctx.fillRect(x0, y, Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0)), high);
    if (at.failed[row]) {
      ctx.fillStyle = theme.alert;
      ctx.fillRect(x0, y + high - 3, x1 - x0, 3);
    }
    if (x1 - x0 > 34 && high > 10) {
      ctx.fillStyle = theme.paper;
      ctx.fillText(
        clip(ctx, data.strings[at.name[row]] ?? "", x1 - x0 - 8),
        x0 + 4,
        y + high / 2 + 0.5,
      );
    }
  }
}

/** A tick in the push lane for each push: dark where many fall on one pixel. */
function paintPushes(ctx, { data, laneY, laneHeight, mode, low, per, theme }, wide) {
  const { n, gone } = data.ops;
  // Where the axis counts events, each has its push at its own number.
  const upTo =
    mode === "time"
      ? (/** @type {number} */ value) => data.pushes.upTo(value)
      : (/** @type {number} */ value) => Math.min(n, Math.max(0, Math.ceil(value - gone)));
  ctx.fillStyle = theme.ink;
  const high = laneHeight - gap(laneHeight);
  const tall = high > 12 ? Math.min(high - 6, 14) : high; // ticks, not blocks
  const y = laneY(0) + (high - tall) / 2;
  for (let x = 0, before = upTo(low); x < wide; x += 1) {
    const now = upTo(low + (x + 1) / per);
    if (now > before) {
      ctx.globalAlpha = Math.min(0.9, 0.3 + 0.1 * (now - before));
      ctx.fillRect(LEFT + x, y, 1, tall);
    }
    before = now;
  }
  ctx.globalAlpha = 1;
}

/**
 * The selected operation: a ring round it, arrows from what it waited for and to what
 * waited for it, and a dotted line from the moment when it was pushed.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} view
 */
export function paintSelected(
  ctx,
  { data, row, arrows, laneY, laneHeight, xOf, theme, width },
) {
  const { at } = data.ops;
  const high = laneHeight - gap(laneHeight);
  const middle = (/** @type {number} */ i) => laneY(at.lane[i]) + high / 2;
  ctx.save();
  ctx.beginPath();
  ctx.rect(LEFT, 0, width - LEFT, 10_000);
  ctx.clip();
  const colour = [theme.accent, theme.category[1], theme.category[2]];
  for (const { from, to, kind } of arrows) {
    arrow(ctx, xOf(from, "end"), middle(from), xOf(to, "start"), middle(to), colour[kind]);
    const other = from === row ? to : from;
    ring(
      ctx,
      xOf(other, "start"),
      laneY(at.lane[other]),
      xOf(other, "end"),
      high,
      colour[kind],
      1.5,
    );
  }
  if (data.lanes[at.lane[row]] !== PUSHER) {
    ctx.setLineDash([2, 3]);
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    ctx.moveTo(xOf(row, "push"), laneY(0) + high);
    ctx.lineTo(xOf(row, "start"), laneY(at.lane[row]));
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ring(ctx, xOf(row, "start"), laneY(at.lane[row]), xOf(row, "end"), high, theme.ink, 2.5);
  ctx.restore();
}

function ring(ctx, x0, y, x1, high, colour, wide) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = wide;
  ctx.strokeRect(x0 - 1, y - 0.5, Math.max(3, x1 - x0 + 1), high + 1);
}

function arrow(ctx, x0, y0, x1, y1, colour) {
  const bend = Math.max(14, Math.abs(x1 - x0) / 3);
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = 1.75;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 7, y1 - 4);
  ctx.lineTo(x1 - 7, y1 + 4);
  ctx.fill();
}

/** `text` cut to a width, with an ellipsis after its first part; 0 < head ≤ 1 is that part.
 * @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} room */
function clip(ctx, text, room, head = 1) {
  if (ctx.measureText(text).width <= room) return text;
  const cut = (/** @type {number} */ keep) => {
    const first = Math.ceil(keep * head);
    return `${text.slice(0, first)}…${text.slice(text.length - (keep - first))}`;
  };
  let keep = Math.max(1, Math.floor((text.length * room) / ctx.measureText(text).width) - 1);
  while (keep > 1 && ctx.measureText(cut(keep)).width > room) keep -= 1;
  return keep > 1 ? cut(keep) : "";
}

/** Kinds of dependency in words, for the tooltip. */
export const KIND_WORDS = KINDS.map((kind, i) => [
  kind,
  [
    "reads what the other wrote",
    "writes what the other had to read first",
    "writes what the other wrote first",
  ][i],
]);
