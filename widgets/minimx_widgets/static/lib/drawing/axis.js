// The horizontal axis of a timeline: time shared by all views of a run, or event numbers.

import { moment, ticks, count } from "./scale.js";
import { shifted, zoomed } from "../data/store.js";

const NARROWEST = { time: 200, events: 4 };

/** What part of a run is visible, and where a value lies in pixels. */
export class Axis {
  /**
   * @param {any} store the run's shared store: visible time, following or not
   * @param {() => [number, number]} events the first and last event number that is known
   * @param {() => number} origin the earliest time that is known
   */
  constructor(store, events, origin) {
    this.store = store;
    this.events = events;
    this.origin = origin;
    /** @type {"time" | "events"} */
    this.mode = "time";
    this.width = 500;
    /** @type {[number, number] | null} the visible event numbers; null follows */
    this.fixed = null;
    this.fixedPicked = false;
    /** The moment that is called 0 s. */
    this.zero = 0;
    /** @type {() => [number, number] | null} what time may be shown, instead of what is known */
    this.bounds = () => null;
  }

  /** @returns {[number, number]} */
  get range() {
    if (this.mode === "time") return this.store.range;
    if (this.fixed) return this.fixed;
    // A short record fills the picture; of a long one the newest part is shown.
    const [first, last] = this.events();
    const whole = Math.max((last - first) * 1.02, NARROWEST.events);
    return [last - Math.min(this.width, whole), last];
  }

  /** True where the right edge keeps up with the newest event. */
  get following() {
    return this.mode === "time" ? this.store.follow : this.fixed === null;
  }

  /** The whole extent that may be shown. @returns {[number, number]} */
  get extent() {
    if (this.mode === "events") return this.events();
    const bounds = this.bounds();
    if (bounds) return bounds;
    return [this.origin(), Math.max(this.store.now, this.origin() + 1)];
  }

  /** Show a range, within what is known. @param {[number, number]} wanted */
  show(wanted) {
    const [low, high] = this.extent;
    const whole = Math.max(high - low, NARROWEST[this.mode]);
    const width = Math.min(Math.max(wanted[1] - wanted[0], NARROWEST[this.mode]), whole * 1.1);
    const start = Math.min(
      Math.max(wanted[0], low - width * 0.05),
      high + width * 0.05 - width,
    );
    /** @type {[number, number]} */
    const range = [start, start + width];
    this.picked = true;
    if (this.mode === "time") this.store.set({ follow: false, range });
    else {
      this.fixed = range;
      this.width = width;
    }
  }

  /** What was chosen to be shown: [] for all or the newest part, [width] for the newest
   * part in a width of one's own, [low, high]. */
  get window() {
    const [low, high] = this.range.map(Math.round);
    if (this.following) return this.mode === "time" && this.store.own ? [high - low] : [];
    return this.picked ? [low, high] : [];
  }

  set window(window) {
    if (window.length === 2) this.show(/** @type {[number, number]} */ (window));
    else if (window.length === 1 && this.mode === "time") {
      this.store.set({ range: [this.store.now - window[0], this.store.now] });
      this.follow(true);
    } else if (this.picked) this.fit();
  }

  /** Whether a reader chose the stretch that is shown. */
  get picked() {
    return this.mode === "time" ? this.store.picked : this.fixedPicked;
  }

  set picked(picked) {
    if (this.mode === "time") this.store.picked = picked;
    else this.fixedPicked = picked;
  }

  /** Keep up with the newest event from now on. @param {boolean} [own] whether somebody
   * chose how much is shown, which nothing changes then */
  follow(own = false) {
    if (this.mode === "events") this.fixed = null;
    else
      this.store.set({
        own,
        follow: true,
        range: [this.store.now - this.store.span, this.store.now],
      });
  }

  fit() {
    const [low, high] = this.extent;
    const margin = (high - low) * 0.01;
    this.show([low - margin, high + margin]);
    this.picked = false;
  }

  /** @param {number} factor @param {number} [share] where the fixed point is, 0 to 1 */
  zoom(factor, share = this.following ? 1 : 0.5) {
    const range = this.range;
    const centre = range[0] + (range[1] - range[0]) * share;
    const following = this.following;
    this.show(zoomed(range, factor, centre));
    if (following && share === 1) this.follow(true);
  }

  /** @param {number} share of the visible width */
  pan(share) {
    this.show(shifted(this.range, share));
  }

  /** The keys that both timelines understand; true if `key` was one.
   * @param {string} key */
  key(key) {
    const actions = {
      w: () => this.zoom(0.7),
      "+": () => this.zoom(0.7),
      "=": () => this.zoom(0.7),
      s: () => this.zoom(1 / 0.7),
      "-": () => this.zoom(1 / 0.7),
      a: () => this.pan(-0.2),
      d: () => this.pan(0.2),
      f: () => this.fit(),
      l: () => this.follow(),
      End: () => this.follow(),
    };
    const action = actions[key];
    action?.();
    return Boolean(action);
  }
}

/** The keys of `Axis.key`, for the help card. @type {[string, string][]} */
export const AXIS_KEYS = [
  ["W S", "zoom in, zoom out; also + −, a pinch, and the wheel once the view is clicked"],
  ["A D", "move to earlier, to later; also by dragging"],
  ["F", "fit the whole record"],
  ["L", "follow live: keep up with the newest event"],
  ["E", "switch the axis between time and events"],
];

/**
 * Draw ticks and labels of the horizontal axis below `top`.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{axis: Axis, left: number, right: number, top: number, bottom: number, theme: any}} options
 */
export function drawAxis(ctx, { axis, left, right, top, bottom, theme }) {
  const [low, high] = axis.range;
  const zero = axis.mode === "time" ? axis.zero : 0;
  const marks = ticks(low - zero, high - zero, Math.max(2, (right - left) / 110));
  const step = marks.length > 1 ? marks[1] - marks[0] : high - low;
  ctx.font = `11px ${theme.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.lineWidth = 1;
  for (const value of marks) {
    const x = left + ((value + zero - low) / (high - low)) * (right - left);
    ctx.strokeStyle = theme.line;
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + 0.5, top);
    ctx.lineTo(Math.round(x) + 0.5, bottom);
    ctx.stroke();
    const text = axis.mode === "time" ? moment(value, step) : `#${count(value)}`;
    const half = ctx.measureText(text).width / 2;
    if (value < 0 || x - half < left - 2 || x + half > right + 2) continue;
    ctx.fillStyle = theme.muted;
    ctx.fillText(text, x, bottom + 5);
  }
}

/**
 * Draw the knob changes as vertical lines, with labels where there is room; of labels that
 * would overlap the newest is drawn.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{marks: {x: number, text: string}[], left: number, right: number, top: number,
 *   bottom: number, theme: any}} options
 */
export function drawMarks(ctx, { marks, left, right, top, bottom, theme }) {
  ctx.font = `10.5px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const shown = marks.filter(({ x }) => x >= left && x <= right);
  for (const { x } of shown) {
    ctx.strokeStyle = theme.mark;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  const wide = shown.map(({ text }) => ctx.measureText(text).width + 10);
  for (const { i, start } of placeLabels(shown.map(({ x }) => x), wide, left, right)) {
    ctx.fillStyle = theme.mark;
    ctx.beginPath();
    ctx.roundRect(start, top, wide[i], 15, 3);
    ctx.fill();
    ctx.fillStyle = theme.paper;
    ctx.fillText(shown[i].text, start + 5, top + 8);
  }
}

/**
 * Where labels go: right of their lines, or left of them at the edge, the newest first.
 * @param {number[]} xs in order @param {number[]} wide @param {number} left @param {number} right
 * @returns {{i: number, start: number}[]} those for which there is room
 */
export function placeLabels(xs, wide, left, right) {
  const placed = [];
  let free = Infinity;
  for (let i = xs.length - 1; i >= 0; i -= 1) {
    const fits = [xs[i], xs[i] - wide[i]].find(
      (at) => at >= left && at + wide[i] <= Math.min(right, free),
    );
    if (fits === undefined) continue;
    placed.push({ i, start: fits });
    free = Math.min(fits, xs[i]) - 4;
  }
  return placed;
}

/** A knob change in few words: MXNET_ENGINE_TYPE from … to NaiveEngine.
 * @param {{name: string, new: string}} mark */
export function markText(mark) {
  const value = mark.new === "" ? "default" : mark.new;
  return `${mark.name.replace(/^(MXNET|MINIMX)_/, "")}=${value}`;
}
