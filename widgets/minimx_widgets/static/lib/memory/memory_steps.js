// The peak of every step of a training over the whole run, with flags where knobs were
// turned: a change is seen here long after the moment has left the timeline above.

import { drawMarks, markText } from "../drawing/axis.js";
import { tipHead, tipRow } from "../page/frame.js";
import { LEFT } from "./memory_paint.js";
import { bytes, byteTicks, count, duration, lowerBound, ticks } from "../drawing/scale.js";
import { Surface } from "../drawing/surface.js";

export const PEAK = "step peak";
export const RESERVED = "step reserved";
export const PLANNED = "planned";
export const MILLISECONDS = "step ms";
const TOP = 20;
const BELOW = 18;
const HEIGHT = 96;

/**
 * The least and the most of the values on each pixel, or of the last one before it.
 * @param {{at: any, n: number}} series columns `step`, in order, and `value`
 * @param {[number, number]} range of steps @param {number} width
 * @returns {{low: Float64Array, high: Float64Array}} NaN where nothing is known
 */
export function extremes(series, range, width) {
  const { step, value } = series.at;
  const low = new Float64Array(width).fill(Number.NaN);
  const high = new Float64Array(width).fill(Number.NaN);
  const per = (range[1] - range[0]) / width;
  let i = lowerBound(step, series.n, range[0]);
  let last = i ? value[i - 1] : Number.NaN;
  for (let x = 0; x < width; x += 1) {
    const until = range[0] + (x + 1) * per;
    if (i < series.n && step[i] < until) {
      low[x] = Infinity;
      high[x] = -Infinity;
    } else {
      low[x] = last;
      high[x] = last;
    }
    for (; i < series.n && step[i] < until; i += 1) {
      low[x] = Math.min(low[x], value[i]);
      high[x] = Math.max(high[x], value[i]);
      last = value[i];
    }
  }
  return { low, high };
}

/** A scale on which a tenth is well seen: it begins at zero only if the values nearly do.
 * @param {number} least @param {number} most @returns {[number, number]} */
export function scaleOf(least, most) {
  const pad = Math.max(0.15 * (most - least), 0.06 * most, 1);
  const low = least - pad;
  return [low < 0.35 * most ? 0 : low, most + pad];
}

/** The step that is the first to end after a moment, less a half: where a flag stands.
 * @param {{at: any, n: number}} series @param {number} t */
export function stepAfter(series, t) {
  const i = lowerBound(series.at.t, series.n, t);
  return i < series.n ? series.at.step[i] - 0.5 : series.at.step[series.n - 1] + 0.5;
}

/** The chart below the memory timeline; there is none before the first step. */
export class StepChart {
  /**
   * @param {{parent: HTMLElement, data: any, frame: any, signal: AbortSignal}} options
   */
  constructor({ parent, data, frame, signal }) {
    this.data = data;
    this.frame = frame;
    this.cursor = -1;
    this.node = document.createElement("div");
    this.node.className = "mx-steps";
    this.node.hidden = true;
    parent.append(this.node);
    this.surface = new Surface({
      parent: this.node,
      height: HEIGHT,
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
      overlay: (ctx, width, height) => this.drawCursor(ctx, width, height),
    });
    const on = (name, call) => this.surface.node.addEventListener(name, call, { signal });
    on("pointermove", (event) => this.hover(this.surface.place(event)));
    on("pointerleave", () => this.leave());
    on("click", (event) => this.click(this.surface.place(event)));
  }

  /** The peaks, if any step has ended. */
  get peaks() {
    const found = this.data.metrics.get(PEAK);
    return found?.n ? found : null;
  }

  get range() {
    const { at, n } = this.peaks;
    return /** @type {[number, number]} */ ([at.step[0] - 0.5, at.step[n - 1] + 0.5]);
  }

  invalidate() {
    this.node.hidden = this.peaks === null;
    if (this.peaks) this.surface.invalidate();
  }

  x(step) {
    const [low, high] = this.range;
    return LEFT + ((step - low) / (high - low)) * (this.surface.width - LEFT);
  }

  /** The place of the step under a pixel, among the peaks. */
  at(x) {
    const [low, high] = this.range;
    const step = low + ((x - LEFT) / (this.surface.width - LEFT)) * (high - low);
    const i = lowerBound(this.peaks.at.step, this.peaks.n, step - 0.5);
    return Math.min(i, this.peaks.n - 1);
  }

  draw(ctx, width, height) {
    const { peaks, data } = this;
    const { theme } = this.frame;
    if (!peaks) return;
    const bottom = height - BELOW;
    const wide = Math.max(1, Math.floor(width - LEFT));
    const found = extremes(peaks, this.range, wide);
    const planned = data.metrics.get(PLANNED);
    const plan = planned?.n ? extremes(planned, this.range, wide).high : null;
    const known = [...found.low, ...found.high, ...(plan ?? [])].filter(Number.isFinite);
    const [low, high] = scaleOf(Math.min(...known), Math.max(...known));
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - TOP);
    this.drawScale(ctx, { low, high, y, width, bottom });
    paintBetween(ctx, found, y, theme.category[3]);
    paintLine(ctx, found.high, y, theme.ink, []);
    if (plan) paintLine(ctx, plan, y, theme.accent, [6, 4]);
    const marks = data.marks.map((mark) => ({
      x: this.x(stepAfter(peaks, mark.t)),
      text: markText(mark),
    }));
    drawMarks(ctx, { marks, left: LEFT, right: width, top: 2, bottom, theme });
  }

  drawScale(ctx, { low, high, y, width, bottom }) {
    const { theme } = this.frame;
    ctx.font = `11px ${theme.font}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillStyle = theme.muted;
    ctx.fillText("peak of", 2, TOP + 6);
    ctx.fillText("each step", 2, TOP + 19);
    ctx.textAlign = "right";
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    for (const value of byteTicks(high - low, 3).map((v) => v + firstTick(low, high))) {
      if (value > high || y(value) < TOP - 2) continue;
      ctx.fillText(bytes(value), LEFT - 8, Math.min(y(value), bottom - 3));
      ctx.beginPath();
      ctx.moveTo(LEFT, Math.round(y(value)) + 0.5);
      ctx.lineTo(width, Math.round(y(value)) + 0.5);
      ctx.stroke();
    }
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    for (const step of ticks(...this.range, Math.max(2, (width - LEFT) / 110))) {
      const text = `step ${count(step)}`;
      const half = ctx.measureText(text).width / 2;
      const x = this.x(step);
      if (Number.isInteger(step) && x - half > LEFT && x + half < width)
        ctx.fillText(text, x, bottom + 4);
    }
  }

  drawCursor(ctx, _width, height) {
    if (!this.peaks || this.cursor < 0) return;
    const x = Math.round(this.x(this.peaks.at.step[this.cursor])) + 0.5;
    ctx.strokeStyle = this.frame.theme.muted;
    ctx.beginPath();
    ctx.moveTo(x, TOP);
    ctx.lineTo(x, height - BELOW);
    ctx.stroke();
  }

  hover({ x }) {
    if (!this.peaks || x < LEFT) return this.leave();
    this.cursor = this.at(x);
    this.surface.invalidateTop();
    const step = this.peaks.at.step[this.cursor];
    const said = (name, words) => {
      const value = this.valueAt(name, step);
      return value === null ? null : tipRow(words, name === MILLISECONDS ? duration(1e6 * value) : bytes(value));
    };
    const lines = [
      tipHead(`step ${step}`),
      said(PEAK, "peak"),
      said(PLANNED, "planned"),
      said(RESERVED, "reserved at its end"),
      said(MILLISECONDS, "took"),
      tipRow("", "click: look at this moment"),
    ];
    return this.frame.showTip(x, TOP, lines.filter((line) => line !== null), this.surface.node);
  }

  /** The value of a metric at a step, or the last before it. */
  valueAt(name, step) {
    const series = this.data.metrics.get(name);
    if (!series?.n) return null;
    const i = lowerBound(series.at.step, series.n, step + 1e-6) - 1;
    return i < 0 ? null : series.at.value[i];
  }

  leave() {
    this.cursor = -1;
    this.frame.hideTip();
    this.surface.invalidateTop();
  }

  /** Show in the timelines what happened in a step. */
  click({ x }) {
    if (!this.peaks || x < LEFT) return;
    const { t } = this.peaks.at;
    const i = this.at(x);
    const took = i ? t[i] - t[i - 1] : 1e8;
    this.data.store.set({ follow: false, range: [t[i] - 2 * took, t[i] + took] });
  }
}

/** The first round number on a scale that need not begin at zero. */
function firstTick(low, high) {
  const [first, second] = byteTicks(high - low, 3);
  return Math.ceil(low / (second - first)) * (second - first);
}

function paintBetween(ctx, { low, high }, y, fill) {
  ctx.fillStyle = fill;
  ctx.globalAlpha = 0.35;
  const base = ctx.canvas.height;
  high.forEach((value, x) => {
    if (Number.isNaN(value)) return;
    ctx.fillRect(LEFT + x, y(value), 1, Math.min(base, Math.max(1, y(low[x]) - y(value))));
  });
  ctx.globalAlpha = 1;
}

function paintLine(ctx, line, y, colour, dash) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.setLineDash(dash);
  ctx.beginPath();
  line.forEach((value, x) => {
    if (Number.isNaN(value)) return;
    ctx.lineTo(LEFT + x, y(value));
    ctx.lineTo(LEFT + x + 1, y(value));
  });
  ctx.stroke();
  ctx.setLineDash([]);
}
