// The metrics of a training and of the run before it, with their running values.

import { Columns } from "../data/columns.js";
import { PHASES, RunData } from "../data/live.js";

/** The lines that are kept of a run; the kernel sends their places in this list. */
export const KEPT = ["loss", "train accuracy", "test accuracy", "samples/s", "batch accuracy"];
/** Over how many values the running median of the throughput goes. */
export const STEADY = 15;
/** Over how many batches the running mean of their accuracy goes. */
export const BATCHES = 50;
/** The weight of the newest value in the running mean of the loss. */
export const TREND = 0.08;
const LAYOUT = /** @type {const} */ ({ t: "f8", step: "f8", value: "f8", smooth: "f8" });

/** Values one after the other, smoothed as suits their name. */
export class Smoother {
  /** @param {string} name @param {number} [batches] of the running mean of accuracy */
  constructor(name, batches = BATCHES) {
    this.name = name;
    this.batches = batches;
    this.n = 0;
    this.mean = 0;
    /** @type {number[]} */
    this.recent = [];
  }

  /** The running value after one more. @param {number} value */
  next(value) {
    if (this.name === "loss") {
      if (!Number.isFinite(value)) return NaN;
      this.n += 1;
      this.mean += Math.max(TREND, 1 / this.n) * (value - this.mean);
      return this.mean;
    }
    const window = { "samples/s": STEADY, "batch accuracy": this.batches }[this.name];
    if (!window) return value;
    this.recent.push(value);
    if (this.recent.length > window) this.recent.shift();
    return this.name === "samples/s" ? median(this.recent) : mean(this.recent);
  }
}

/**
 * All values of a line with their running value in their place.
 * @param {string} name @param {number[]} values @param {number} [batches]
 */
export function smoothed(name, values, batches) {
  const smoother = new Smoother(name, batches);
  return values.map((value) => smoother.next(value));
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

export class TrainingData extends RunData {
  reset() {
    super.reset();
    /** @type {Map<string, Columns>} */
    this.series = new Map();
    /** The lines of the run before. @type {Map<string, Columns>} */
    this.shadow = new Map();
    /** @type {Map<string, Smoother>} */
    this.smoothers = new Map();
    this.status = { state: "", epoch: 0, epochs: 0, step: 0, message: "" };
    this.phases = new Float64Array(PHASES.length);
    this.newest = 0;
    /** Whether losses were ever scaled by anything but one. */
    this.scaled = false;
  }

  /** @param {any} tables @param {any} header */
  add({ metrics, shadow }, header) {
    if (header.status?.state) this.status = header.status; // records without a session have none
    if (header.phases) this.phases = Float64Array.from(header.phases);
    for (let i = 0; i < (metrics?.t.length ?? 0); i += 1) {
      const name = this.strings[metrics.name[i]];
      if (!this.smoothers.has(name)) this.smoothers.set(name, new Smoother(name));
      const smooth = this.smoothers.get(name)?.next(metrics.value[i]);
      append(this.series, name, metrics, i, smooth);
      this.newest = Math.max(this.newest, metrics.t[i]);
      this.scaled ||= name === "loss scale" && metrics.value[i] !== 1;
    }
    for (let i = 0; i < (shadow?.t.length ?? 0); i += 1)
      append(this.shadow, KEPT[shadow.name[i]], shadow, i, shadow.value[i]);
  }

  /** The newest value, as it was observed or smoothed.
   * @param {string} name @param {"value" | "smooth"} [column] @returns {number | null} */
  last(name, column = "value") {
    const one = this.series.get(name);
    return one?.n ? one.at[column][one.n - 1] : null;
  }

  /** Which series says how much of the training data is recognised. */
  get trainName() {
    return this.series.has("batch accuracy") ? "batch accuracy" : "train accuracy";
  }

  /** The steps that were skipped: where their running total rises. */
  get skippedSteps() {
    const one = this.series.get("skipped");
    const found = [];
    for (let i = 0, before = 0; i < (one?.n ?? 0); i += 1) {
      if (one.at.value[i] > before) found.push(i);
      before = one.at.value[i];
    }
    return found;
  }
}

/** @param {Map<string, Columns>} series */
function append(series, name, rows, i, smooth) {
  let one = series.get(name);
  if (!one) {
    one = new Columns(LAYOUT, 100_000);
    series.set(name, one);
  }
  one.append({ t: [rows.t[i]], step: [rows.step[i]], value: [rows.value[i]], smooth: [smooth] });
}
