// How the pool map is painted: size classes, the address map, lifetimes, the whole record.

import { EVENT, holes, merged, sizeClasses } from "./pool_data.js";
import { byteTicks, bytes, count, roundUp, ticks } from "../drawing/scale.js";

export const NAME = 74; // room for the name of a size class
export const LEFT = 118; // where the chart begins, as in the other timelines
const HEAD = 22;
const LINES = 14;
const LANES = /** @type {[string, string][]} */ ([
  ["driver calls", "alloc"],
  ["used again", "hit"],
  ["flushes", "flush"],
  ["refused", "oom"],
]);

/** @param {CanvasRenderingContext2D} ctx @param {any} theme @param {number} [size] */
function font(ctx, theme, size = 11) {
  ctx.font = `${size}px ${theme.font}`;
  ctx.textBaseline = "middle";
}

/**
 * A box in the look of a state: solid, pale, or hatched for what nobody will use.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{x: number, y: number, wide: number, tall: number, state: number, colour: string, theme: any}} box
 */
function paintBox(ctx, { x, y, wide, tall, state, colour, theme }) {
  if (wide <= 0) return;
  if (state === 0) {
    ctx.fillStyle = colour;
    ctx.fillRect(x, y, wide, tall);
    return;
  }
  ctx.fillStyle = state === 1 ? theme.edge : theme.lane;
  ctx.fillRect(x, y, wide, tall);
  if (state === 1) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, wide, tall);
  ctx.clip();
  ctx.strokeStyle = theme.muted;
  ctx.lineWidth = 1.6;
  ctx.beginPath();
  for (let at = x - tall - ((x - tall) % 5); at < x + wide; at += 5) {
    ctx.moveTo(at, y + tall);
    ctx.lineTo(at + tall, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {any} theme @param {number[]} box */
function outline(ctx, theme, [x, y, wide, tall]) {
  ctx.strokeStyle = theme.mark;
  ctx.lineWidth = 1.2;
  ctx.setLineDash([3, 2]);
  ctx.strokeRect(x + 0.5, y + 0.5, Math.max(wide - 1, 1), tall - 1);
  ctx.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} ctx @param {any} theme @param {string} title
 * @param {string} more */
function heading(ctx, theme, title, more) {
  font(ctx, theme, 11.5);
  ctx.font = `600 ${ctx.font}`;
  ctx.textAlign = "left";
  ctx.fillStyle = theme.ink;
  ctx.fillText(title, 8, 11);
  const wide = ctx.measureText(title).width;
  font(ctx, theme);
  ctx.fillStyle = theme.muted;
  ctx.fillText(more, 18 + wide, 11);
}

/**
 * Which size classes are drawn where: those that hold most, the largest size first.
 * @param {{size: number, nbytes: number}[]} mine @param {{size: number, nbytes: number}[]} ghost
 * @param {number} height
 */
export function layClasses(mine, ghost, height) {
  const held = new Map();
  for (const one of [...mine, ...ghost])
    held.set(one.size, Math.max(held.get(one.size) ?? 0, one.nbytes));
  const fits = Math.max(1, Math.floor((height - HEAD - 4) / 15));
  const sizes = [...held.keys()]
    .sort((a, b) => held.get(b) - held.get(a))
    .slice(0, fits)
    .sort((a, b) => b - a);
  const tall = Math.min(22, (height - HEAD - 4) / Math.max(sizes.length, 1));
  const most = Math.max(1, ...held.values());
  return { sizes, tall, most, left: held.size - sizes.length };
}

/** The size class at a height of the picture; 0 for none.
 * @param {ReturnType<typeof layClasses>} layout @param {number} y */
export function classAt(layout, y) {
  return layout.sizes[Math.floor((y - HEAD) / layout.tall)] ?? 0;
}

/**
 * One bar for each size of block: asked for, wasted, cached, stranded; the ghost's outline.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{scene: any, ghost: any, category: any, width: number, height: number, theme: any,
 *   chosen: number, hovered: number}} options
 */
export function paintClasses(ctx, options) {
  const { scene, ghost, category, width, height, theme, chosen, hovered } = options;
  const mine = sizeClasses(scene);
  const others = new Map(sizeClasses(ghost).map((one) => [one.size, one]));
  const layout = layClasses(mine, [...others.values()], height);
  const known = new Map(mine.map((one) => [one.size, one]));
  const more = layout.left ? `the largest ${layout.sizes.length} of them` : "";
  const title = mine.length === 1 ? "1 size class" : `${mine.length} size classes`;
  heading(ctx, theme, title, more);
  const words = layout.sizes.map((size) => countWords(known.get(size)?.counts));
  font(ctx, theme);
  const widest = Math.max(0, ...words.map((text) => ctx.measureText(text).width));
  const room = Math.max(40, width - NAME - widest - 14);
  layout.sizes.forEach((size, k) => {
    const y = HEAD + k * layout.tall;
    const tall = layout.tall - 4;
    const one = known.get(size);
    if (size === chosen || size === hovered) {
      ctx.fillStyle = theme.lane;
      ctx.fillRect(0, y, width, layout.tall);
    }
    font(ctx, theme);
    ctx.textAlign = "right";
    ctx.fillStyle = size === chosen ? theme.accent : theme.muted;
    ctx.fillText(bytes(size), NAME - 8, y + layout.tall / 2);
    let x = NAME;
    const box = (/** @type {number} */ nbytes, /** @type {number} */ state, colour = "") => {
      const wide = (nbytes / layout.most) * room;
      paintBox(ctx, { x, y: y + 2, wide, tall, state, colour, theme });
      x += wide;
    };
    if (one) {
      const asked = new Array(theme.category.length).fill(0);
      for (const region of one.lent) asked[category[region.row]] += region.requested;
      asked.forEach((nbytes, c) => box(nbytes, 0, theme.category[c]));
      box(one.counts[0] * size - one.requested, 0, theme.alert);
      box(one.counts[1] * size, 1);
      box(one.counts[2] * size, 2);
    }
    const shadow = others.get(size);
    if (shadow) {
      const wide = (shadow.nbytes / layout.most) * room;
      outline(ctx, theme, [NAME, y + 1, wide, tall + 2]);
      x = Math.max(x, NAME + wide);
    }
    ctx.textAlign = "left";
    ctx.fillStyle = theme.muted;
    ctx.fillText(countWords(one?.counts), x + 6, y + layout.tall / 2);
  });
  return layout;
}

/** How many blocks of a size are in which state, without those that are none.
 * @param {number[]} [counts] in use, cached, stranded */
export function countWords(counts = [0, 0, 0]) {
  const names = ["in use", "cached", "stranded"];
  const parts = counts.flatMap((count, i) => (count ? [`${count} ${names[i]}`] : []));
  return parts.join(", ") || "none";
}

/**
 * Where the address map has its lines, and how many bytes are on each.
 * @param {number} span @param {number} width @param {number} height
 */
export function layAddresses(span, width, height) {
  const tall = (height - HEAD - 18) / LINES;
  return { per: span / LINES, tall, room: width - 12, span };
}

/** A range of addresses as boxes: [x, y, width]. @param {any} layout
 * @param {number} start @param {number} length */
export function boxesOf({ per, tall, room }, start, length) {
  const boxes = [];
  const last = Math.min(LINES - 1, Math.floor((start + length - 1) / per));
  for (let k = Math.floor(start / per); k <= last; k += 1) {
    const from = Math.max(start, k * per);
    const to = Math.min(start + length, (k + 1) * per);
    boxes.push([6 + ((from - k * per) / per) * room, HEAD + k * tall, ((to - from) / per) * room]);
  }
  return boxes;
}

/** The address at a place of the map; -1 outside. @param {any} layout
 * @param {number} x @param {number} y */
export function addressAt({ per, tall, room }, x, y) {
  const line = Math.floor((y - HEAD) / tall);
  const share = (x - 6) / room;
  if (line < 0 || line >= LINES || share < 0 || share > 1) return -1;
  return (line + share) * per;
}

/**
 * The device's addresses, line after line: blocks by category or state, holes empty.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{scene: any[], ghost: any[], at: any, span: number, capacity: number, width: number,
 *   height: number, theme: any, chosen: number, op: number, hovered: number}} options
 */
export function paintAddresses(ctx, options) {
  const { scene, ghost, at, span, capacity, width, height, theme, chosen, op, hovered } =
    options;
  const layout = layAddresses(span, width, height);
  const gaps = holes(scene, capacity);
  const free = gaps.reduce((sum, [, length]) => sum + length, 0);
  const largest = Math.max(0, ...gaps.map(([, length]) => length));
  const pieces = gaps.length === 1 ? "one piece" : `${gaps.length} pieces`;
  const whole = `${bytes(free)} free in ${pieces}`;
  const more = gaps.length > 1 ? `${whole}, the largest ${bytes(largest)}` : whole;
  font(ctx, theme);
  const fits = 100 + ctx.measureText(more).width < width;
  heading(ctx, theme, "Addresses", fits ? more : `${bytes(free)} free`);
  const tall = layout.tall - 4;
  ctx.fillStyle = theme.lane;
  for (let k = 0; k < LINES; k += 1) ctx.fillRect(6, HEAD + k * layout.tall + 2, layout.room, tall);
  for (const block of scene) {
    const colour = theme.category[at.category[block.row]];
    const ring =
      block.address === hovered || block.size === chosen || (op && at.op[block.row] === op);
    for (const [x, y, wide] of boxesOf(layout, block.address, block.size)) {
      const box = { x, y: y + 2, wide: Math.max(wide - 0.7, 0.5), tall };
      paintBox(ctx, { ...box, state: block.state, colour, theme });
      if (!ring) continue;
      ctx.strokeStyle = theme.accent;
      ctx.lineWidth = 1.5;
      ctx.strokeRect(x + 0.5, y + 1.5, Math.max(wide - 1.5, 1), tall + 1);
    }
  }
  for (const { address, size } of merged(ghost))
    for (const [x, y, wide] of boxesOf(layout, address, size))
      outline(ctx, theme, [x, y + 1, wide, tall + 2]);
  font(ctx, theme, 10.5);
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "left";
  ctx.fillText("address 0", 6, height - 8);
  ctx.textAlign = "right";
  const all = `all ${bytes(capacity)} of the device`;
  const first = `the first ${bytes(span)} of the device's ${bytes(capacity)}`;
  ctx.fillText(capacity > span ? first : all, width - 6, height - 8);
  return layout;
}

/**
 * The lives of the blocks of one size: a line for each block, over the steps.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{history: any, size: number, step: number, width: number, height: number, theme: any}} options
 */
export function paintLives(ctx, { history, size, step, width, height, theme }) {
  const lines = history.lives(size);
  const fits = Math.floor((height - HEAD - 6) / 6);
  const title = `Lifetimes of ${bytes(size)} blocks`;
  heading(ctx, theme, title, `${lines.length} of them; Esc: back to the addresses`);
  const tall = Math.min(18, (height - HEAD - 6) / Math.max(1, Math.min(lines.length, fits)));
  const x = (/** @type {number} */ at) => 6 + (at / Math.max(history.steps, 1)) * (width - 12);
  lines.slice(0, fits).forEach((line, k) => {
    const y = HEAD + k * tall;
    for (const { from, to, state, row } of line.parts) {
      const colour = theme.category[history.at.category[row]];
      const box = { x: x(from), wide: Math.max(x(to) - x(from), 0.6) };
      const thin = state ? tall / 3 : tall - 2;
      paintBox(ctx, { ...box, y: y + (tall - thin) / 2, tall: thin, state, colour, theme });
    }
  });
  ctx.strokeStyle = theme.mark;
  ctx.beginPath();
  ctx.moveTo(x(step + 0.5), HEAD);
  ctx.lineTo(x(step + 0.5), height);
  ctx.stroke();
  return lines;
}

/**
 * Where on the chart a step or an event lies.
 * @param {any} data @param {"events" | "time"} axis @param {number} width
 */
export function chartFrame({ shown, ghost }, axis, width) {
  const steps = Math.max(shown?.steps ?? 1, ghost?.steps ?? 1, 1);
  const t = shown?.at.t ?? [];
  const first = t[0] ?? 0;
  const last = t[t.length - 1] ?? 1;
  const low = axis === "events" ? 0 : first;
  const high = axis === "events" ? steps : last + (last - first || 1) / 100;
  const room = width - LEFT;
  return {
    low,
    high,
    x: (/** @type {number} */ value) => LEFT + ((value - low) / (high - low)) * room,
    value: (/** @type {number} */ x) => low + ((x - LEFT) / room) * (high - low),
    at: (/** @type {any} */ history, /** @type {number} */ row) =>
      axis === "events" ? history.at.step[row] : history.at.t[row],
  };
}

/**
 * Reserved and in use over the whole record, the ghost's reserve, and lanes of events.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{data: any, axis: "events" | "time", width: number, height: number, theme: any}} options
 */
export function paintChart(ctx, { data, axis, width, height, theme }) {
  const { shown, ghost } = data;
  const frame = chartFrame(data, axis, width);
  const lanes = LANES.filter(([, name]) => name !== "oom" || shown.after("oom", shown.n - 1));
  const bottom = height - 20 - lanes.length * 15;
  const high = roundUp(Math.max(shown.peak, ghost?.peak ?? 0, 1) * 1.02);
  const y = (/** @type {number} */ value) => bottom - (value / high) * (bottom - 6);
  font(ctx, theme);
  for (const value of byteTicks(high, 4)) {
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    ctx.fillText(bytes(value), LEFT - 8, Math.max(y(value), 7));
    ctx.fillStyle = theme.line;
    ctx.fillRect(LEFT, Math.round(y(value)), width - LEFT, 1);
  }
  const wide = Math.max(1, Math.floor(width - LEFT));
  paintUse(ctx, { shown, frame, wide, y, theme });
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1.3;
  paintStairs(ctx, shown, frame, wide, y);
  if (ghost) {
    ctx.strokeStyle = theme.mark;
    ctx.setLineDash([4, 3]);
    paintStairs(ctx, ghost, frame, wide, y);
    ctx.setLineDash([]);
  }
  lanes.forEach(([words, name], k) => {
    const top = bottom + 4 + k * 15;
    paintLane(ctx, { shown, name, words, frame, wide, top, theme });
  });
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "center";
  if (axis === "events")
    for (const value of ticks(0, frame.high, 8))
      if (frame.x(value) < width - 12)
        ctx.fillText(`#${count(value)}`, frame.x(value), height - 8);
  return { frame, bottom, high, y };
}

/** The event with the most lent bytes in each pixel column; -1 before the first.
 * @param {any} history @param {any} frame @param {number} wide */
function picks(history, frame, wide) {
  const out = new Int32Array(wide).fill(-1);
  let row = -1;
  for (let x = 0; x < wide; x += 1) {
    const until = frame.value(LEFT + x + 1);
    let best = row;
    let most = -1;
    while (row + 1 < history.n && frame.at(history, row + 1) < until) {
      row += 1;
      if (history.lent[row] >= most) {
        most = history.lent[row];
        best = row;
      }
    }
    out[x] = best;
  }
  return out;
}

/** @param {CanvasRenderingContext2D} ctx @param {any} options */
function paintUse(ctx, { shown, frame, wide, y, theme }) {
  const chosen = picks(shown, frame, wide);
  const below = new Float64Array(wide);
  for (let c = 0; c < theme.category.length; c += 1) {
    if (!shown.at.category.includes(c)) continue;
    let sum = 0;
    let row = -1;
    ctx.fillStyle = theme.category[c];
    for (let x = 0; x < wide; x += 1) {
      while (row < chosen[x]) {
        row += 1;
        if (shown.at.category[row] === c) sum += shown.loan(row) * shown.at.size[row];
      }
      const top = below[x] + sum;
      if (sum > 0) ctx.fillRect(LEFT + x, y(top), 1, y(below[x]) - y(top));
      below[x] = top;
    }
  }
}

/** What a pool holds, as a line. @param {CanvasRenderingContext2D} ctx @param {any} history
 * @param {any} frame @param {number} wide @param {(value: number) => number} y */
function paintStairs(ctx, history, frame, wide, y) {
  ctx.beginPath();
  let row = -1;
  for (let x = 0; x < wide; x += 1) {
    const until = frame.value(LEFT + x + 1);
    let most = history.after("reserved", row);
    while (row + 1 < history.n && frame.at(history, row + 1) < until) {
      row += 1;
      most = Math.max(most, history.reserved[row]);
    }
    ctx.lineTo(LEFT + x, y(most));
    ctx.lineTo(LEFT + x + 1, y(most));
  }
  ctx.stroke();
}

/** How often something happened, per pixel column. @param {CanvasRenderingContext2D} ctx
 * @param {any} options */
function paintLane(ctx, { shown, name, words, frame, wide, top, theme }) {
  font(ctx, theme);
  ctx.textAlign = "right";
  ctx.fillStyle = theme.muted;
  ctx.fillText(words, LEFT - 8, top + 6);
  ctx.fillStyle = theme.lane;
  ctx.fillRect(LEFT, top, wide, 12);
  const counts = new Uint32Array(wide);
  for (let i = 0; i < shown.n; i += 1) {
    if (shown.at.event[i] !== EVENT[name]) continue;
    const x = Math.floor(frame.x(frame.at(shown, i)) - LEFT);
    if (x >= 0 && x < wide) counts[x] += 1;
  }
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  const rare = name === "flush" || name === "oom";
  ctx.fillStyle = rare ? theme.alert : name === "alloc" ? theme.ink : theme.muted;
  for (let x = 0; x < wide; x += 1) {
    if (!counts[x]) continue;
    const tall = Math.max(3, (12 * counts[x]) / most);
    ctx.fillRect(LEFT + x, top + 12 - tall, rare ? 2 : 1.2, tall);
  }
}
