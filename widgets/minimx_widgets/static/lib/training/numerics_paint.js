// The two pictures of the numerics monitor: histograms by layer, and lanes over all steps.

import { count, lowerBound, percent, ticks } from "../drawing/scale.js";
import { RECORDED, ZONES, zoneOf } from "./numerics_data.js";

export const TOP = 20;
export const BELOW = 22;
const FACTS = 168; // pixels of the numbers at the right of a row
const LEFT = 104;

/** Colours of zones: what is lost is pale, what overflows alarms. @param {any} theme */
export function zoneColours(theme) {
  return [theme.muted, theme.category[4], "", theme.alert];
}

/** The colour of a kind of arrays. @param {any} theme @param {string} kind */
export function kindColour(theme, kind) {
  return theme.category[{ weight: 0, activation: 3, gradient: 1 }[kind] ?? 0];
}

/** Where powers lie: what was ever seen, and the edges of float16, with some room.
 * @param {[number, number] | undefined} span @param {number} width @param {number} shift */
export function powerAxis(span, width, shift = 0) {
  const low = Math.min(span?.[0] ?? 0, (span?.[0] ?? 0) + shift, -28) - 1;
  const high = Math.max(span?.[1] ?? 0, (span?.[1] ?? 0) + shift, 18) + 2;
  const left = LEFT;
  const right = Math.max(left + 80, width - FACTS);
  const step = (right - left) / (high - low);
  return { low, high, left, right, step, x: (/** @type {number} */ p) => left + (p - low) * step };
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {{rows: any[], axis: any, high: number, width: number, layouts: any, theme: any,
 *   kind: string, pointed: number, tried: boolean}} options
 */
export function paintRows(ctx, { rows, axis, high, width, layouts, theme, kind, pointed, marked, tried }) {
  const bottom = TOP + rows.length * high;
  rows.forEach((row, i) => {
    const y = TOP + i * high;
    if (i === pointed) {
      ctx.fillStyle = theme.lane;
      ctx.fillRect(0, y, width, high);
    }
    const whole = `${marked}/`; // a joined operation belongs to all layers below it
    if (marked && (whole.startsWith(`${row.layer}/`) || row.layer.startsWith(whole))) {
      ctx.fillStyle = theme.accent;
      ctx.fillRect(0, y + 1, 3, high - 2);
    }
    paintZones(ctx, { layout: layouts[row.dtype], axis, y, high, theme });
    paintBars(ctx, { row, layout: layouts[row.dtype], axis, y, high, theme, kind, tried });
    paintFacts(ctx, { row, y, high, width, theme });
  });
  paintPowers(ctx, { axis, bottom, theme });
  if (rows.length) paintNames(ctx, { layout: layouts[rows[0].dtype], axis, theme, width });
}

/** The parts of an axis that belong to each zone. */
function stretches(layout, axis) {
  const [lowest, normal, highest] = layout;
  const edges = [axis.low, lowest, normal, highest + 1, axis.high];
  const within = edges.map((edge) => Math.min(axis.high, Math.max(axis.low, edge)));
  return ZONES.map((name, zone) => ({ name, zone, from: within[zone], to: within[zone + 1] }));
}

function paintZones(ctx, { layout, axis, y, high, theme }) {
  const colours = zoneColours(theme);
  for (const { zone, from, to } of stretches(layout, axis)) {
    if (!colours[zone] || to <= from) continue;
    ctx.globalAlpha = 0.16;
    ctx.fillStyle = colours[zone];
    ctx.fillRect(axis.x(from), y + 1, (to - from) * axis.step, high - 2);
    ctx.globalAlpha = 1;
  }
}

/** Heights are logarithmic: one lost gradient in ten thousand should be seen. */
function paintBars(ctx, { row, layout, axis, y, high, theme, kind, tried }) {
  const most = Math.max(1, ...row.shown.values());
  const tall = (/** @type {number} */ n) => (Math.log1p(n) / Math.log1p(most)) * (high - 5);
  const colours = zoneColours(theme);
  const foot = y + high - 2;
  for (const [power, number] of row.shown) {
    const at = Math.min(axis.high - 1, Math.max(axis.low, power));
    ctx.fillStyle = colours[zoneOf(power, layout)] || kindColour(theme, kind);
    const tip = Math.max(1.5, tall(number));
    ctx.fillRect(axis.x(at) + 0.5, foot - tip, Math.max(1, axis.step - 1), tip);
  }
  if (!tried) return;
  ctx.strokeStyle = theme.ink;
  ctx.globalAlpha = 0.55;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const [power, number] of [...row.recorded].sort((a, b) => a[0] - b[0])) {
    const top = Math.round(foot - Math.max(1.5, tall(number))) + 0.5;
    ctx.moveTo(axis.x(power), top);
    ctx.lineTo(axis.x(power + 1), top);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** The columns at the right of a row: their places from the right edge. */
const COLUMNS = [
  ["lost", 112],
  ["overflow", 56],
  ["norm", 4],
];

function paintFacts(ctx, { row, y, high, width, theme }) {
  const middle = y + high / 2;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.font = `11.5px ${theme.font}`;
  ctx.fillStyle = theme.ink;
  ctx.fillText(clipped(ctx, row.label, LEFT - 10), 4, middle);
  ctx.textAlign = "right";
  ctx.font = `11px ${theme.font}`;
  const broken = row.infinite + row.nan;
  const said = [percent3(row.shares[0]), broken ? `${count(broken)} ∞` : percent3(row.shares[3])];
  const colours = [row.shares[0] > 0.01 ? theme.category[4] : theme.muted];
  colours.push(row.shares[3] > 0 ? theme.alert : theme.muted, theme.muted);
  [...said, scientific(Math.sqrt(row.squares))].forEach((text, k) => {
    ctx.fillStyle = colours[k];
    ctx.fillText(text, width - Number(COLUMNS[k][1]), middle);
  });
}

function paintNames(ctx, { layout, axis, theme, width }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  const colours = zoneColours(theme);
  for (const { name, zone, from, to } of stretches(layout, axis)) {
    const wide = (to - from) * axis.step;
    const words = { zero: ["becomes zero", "→ 0"], overflow: ["overflow", "∞"] }[name] ?? [name];
    const short = words.find((text) => ctx.measureText(text).width + 6 < wide) ?? "";
    ctx.fillStyle = colours[zone] || theme.muted;
    ctx.fillText(short, axis.x((from + to) / 2), TOP / 2);
  }
  ctx.textAlign = "right";
  ctx.fillStyle = theme.muted;
  for (const [name, place] of COLUMNS) ctx.fillText(String(name), width - Number(place), TOP / 2);
}

function paintPowers(ctx, { axis, bottom, theme }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = 1;
  const every = axis.step * 8 > 34 ? 8 : axis.step * 16 > 34 ? 16 : 32;
  for (let power = Math.ceil(axis.low / every) * every; power < axis.high; power += every) {
    const x = Math.round(axis.x(power)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, TOP);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.fillStyle = theme.muted;
    ctx.fillText(power === 0 ? "1" : `2${superscript(power)}`, x, bottom + 5);
  }
}

// The lanes

/** The two lanes and their boxes. @param {number} width @param {number} height */
export function laneBoxes(width, height) {
  const half = (height - BELOW - 26) / 2;
  const box = { left: LEFT, right: Math.max(LEFT + 80, width - 14) };
  return [
    { ...box, top: 12, bottom: 12 + half },
    { ...box, top: 26 + half, bottom: 26 + 2 * half },
  ];
}

/** @param {any} box @param {[number, number]} range */
export function stepAxis(box, [first, last]) {
  return (/** @type {number} */ step) =>
    box.left + ((step - first) / (last - first)) * (box.right - box.left);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {{data: any, theme: any, width: number, height: number, step: number, scale: number,
 *   limits: {xs: number[], ys: number[]}, layer: string, picked: number}} options
 */
export function paintLanes(ctx, options) {
  const { data, theme, width, height, step, layer } = options;
  const [upper, lower] = laneBoxes(width, height);
  const x = stepAxis(upper, data.range);
  label(ctx, theme, "loss scale", upper);
  label(ctx, theme, "gradient norm", lower);
  for (const box of [upper, lower]) {
    ctx.fillStyle = theme.lane;
    ctx.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  }
  paintScale(ctx, { ...options, box: upper, x });
  const all = data.norms();
  const one = layer ? data.norms(layer) : { xs: [], ys: [] };
  paintNorms(ctx, { all, one, box: lower, x, theme });
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 1.5;
  line(ctx, [[x(step), upper.top - 3], [x(step), lower.bottom]]);
  ctx.font = `10.5px ${theme.font}`;
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const value of ticks(...data.range, Math.max(2, (upper.right - upper.left) / 90)))
    if (Number.isInteger(value)) {
      const half = ctx.measureText(count(value)).width / 2;
      ctx.fillText(count(value), Math.min(x(value), width - half - 1), lower.bottom + 5);
    }
}

function paintScale(ctx, { data, theme, box, x, scale, limits, picked }) {
  const { scaling } = data;
  const powers = scaling.map((one) => Math.log2(one.scale));
  const tried = scale === RECORDED ? [] : [scale];
  const known = [...powers, ...tried, ...(powers.length ? limits.ys : [])];
  if (!known.length) {
    ctx.fillStyle = theme.muted;
    ctx.font = `11px ${theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const said = "no loss was scaled";
    ctx.fillText(said, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return;
  }
  const low = known.reduce((a, b) => Math.min(a, b)) - 1;
  const high = known.reduce((a, b) => Math.max(a, b)) + 1;
  const y = (/** @type {number} */ p) =>
    box.bottom - ((p - low) / (high - low)) * (box.bottom - box.top);
  sideTicks(ctx, theme, box, ticks(low, high, 3).filter(Number.isInteger), y, (p) => `2${superscript(p)}`);
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.alert;
  ctx.setLineDash([2, 3]);
  line(ctx, limits.xs.map((step, i) => [x(step), y(limits.ys[i])]));
  ctx.strokeStyle = theme.mark;
  ctx.setLineDash([5, 3]);
  for (const p of tried) line(ctx, [[box.left, y(p)], [box.right, y(p)]]);
  ctx.setLineDash([]);
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 1.6;
  line(
    ctx,
    scaling.flatMap((one, i) =>
      i && powers[i] !== powers[i - 1]
        ? [[x(one.step), y(powers[i - 1])], [x(one.step), y(powers[i])]]
        : [[x(one.step), y(powers[i])]],
    ),
  );
  ctx.fillStyle = theme.alert;
  scaling.forEach((one, i) => {
    if (!one.skipped) return;
    ctx.beginPath();
    ctx.arc(x(one.step), y(powers[i]), i === picked ? 5.5 : 3.6, 0, 2 * Math.PI);
    ctx.fill();
  });
}

function paintNorms(ctx, { all, one, box, x, theme }) {
  const logs = [...all.ys, ...one.ys].filter((v) => v > 0).map(Math.log10);
  if (!logs.length) return;
  const low = Math.floor(logs.reduce((a, b) => Math.min(a, b)) - 0.1);
  const high = Math.max(low + 1, Math.ceil(logs.reduce((a, b) => Math.max(a, b)) + 0.1));
  const y = (/** @type {number} */ v) =>
    box.bottom - ((Math.log10(v) - low) / (high - low)) * (box.bottom - box.top);
  const marks = Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k));
  const shown = marks.length > 4 ? marks.filter((_, k) => k % 2 === 0) : marks;
  const power = (/** @type {number} */ value) =>
    value >= 0.01 && value < 10_000 ? scientific(value) : `10${superscript(Math.round(Math.log10(value)))}`;
  sideTicks(ctx, theme, box, shown, y, power);
  for (const [series, colour, wide] of [
    [all, theme.category[1], 1.7],
    [one, theme.ink, 1.1],
  ]) {
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = wide;
    const points = series.xs.map((s, i) => [x(s), series.ys[i]]).filter((p) => p[1] > 0);
    line(ctx, points.map(([at, v]) => [at, y(v)]));
    if (points.length < 40)
      for (const [at, v] of points) ctx.fillRect(at - 1.5, y(v) - 1.5, 3, 3);
  }
}

function sideTicks(ctx, theme, box, values, y, words) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 1;
  for (const value of values) {
    const at = Math.round(y(value)) + 0.5;
    if (at < box.top || at > box.bottom) continue;
    ctx.strokeStyle = theme.line;
    line(ctx, [[box.left, at], [box.right, at]]);
    ctx.fillStyle = theme.muted;
    ctx.fillText(words(value), box.left - 5, at);
  }
}

function label(ctx, theme, text, box) {
  ctx.font = `600 11px ${theme.font}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  ctx.fillStyle = theme.ink;
  const [first, second] = text.split(" ");
  ctx.fillText(first, 4, box.top);
  ctx.fillText(second, 4, box.top + 13);
}

function line(ctx, points) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

/** The skipped step nearest to a place, by its position in the list; -1 for none near.
 * @param {any[]} scaling @param {(step: number) => number} x @param {number} at */
export function skippedNear(scaling, x, at) {
  let best = -1;
  let nearest = 9;
  scaling.forEach((one, i) => {
    const far = Math.abs(x(one.step) - at);
    if (one.skipped && far < nearest) [best, nearest] = [i, far];
  });
  return best;
}

/** The step of a list that is nearest to a value. @param {number[]} steps @param {number} value */
export function nearestStep(steps, value) {
  const i = lowerBound(steps, steps.length, value);
  if (i === 0) return steps[0];
  if (i === steps.length) return steps[i - 1];
  return value - steps[i - 1] < steps[i] - value ? steps[i - 1] : steps[i];
}

/** @param {number} value */
export function superscript(value) {
  const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  return [...String(value)].map((c) => (c === "-" ? "⁻" : digits[Number(c)])).join("");
}

/** A share with what matters of small ones. @param {number} share */
export function percent3(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return percent(share);
}

/** @param {number} value */
export function scientific(value) {
  if (value === 0) return "0";
  return value >= 0.01 && value < 10_000 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

function clipped(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let cut = text;
  while (cut && ctx.measureText(`…${cut}`).width > room) cut = cut.slice(1);
  return `…${cut}`;
}
