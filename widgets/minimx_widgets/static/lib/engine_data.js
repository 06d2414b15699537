// The operations of a run in the browser: what ran where and when, and what waited for what.

import { Columns } from "./columns.js";
import { RunData } from "./live.js";

export const CAPACITY = 120_000;
export const OPS = {
  op: "u4",
  name: "u4",
  layer: "u4",
  phase: "u1",
  lane: "u2",
  failed: "u1",
  push: "f8",
  ready: "f8",
  start: "f8",
  end: "f8",
  forward: "u4",
  priority: "i4",
};
const DEPS = { src: "u4", dst: "u4", kind: "u1" };
export const KINDS = ["RAW", "WAR", "WAW"];
export const PUSHER = "python";

/** Operations, dependencies and lanes; what the engine timeline draws. */
export class EngineData extends RunData {
  reset() {
    super.reset();
    this.ops = new Columns(OPS, CAPACITY);
    this.deps = new Columns(DEPS, 2 * CAPACITY);
    /** @type {string[]} lanes in the order in which they first ran something */
    this.lanes = [PUSHER];
    /** Lane numbers in the order in which they are drawn: the pusher, then by name. */
    this.laneOrder = [0];
    /** @type {Map<number, number>} string number → lane */
    this.laneOf = new Map();
    this.failures = 0;
    this.skipped = 0;
    this.first = Infinity;
  }

  /** @param {any} tables @param {any} header */
  add({ ops, deps }, header) {
    this.skipped += header.skipped ?? 0;
    if (deps) this.deps.append(deps);
    if (!ops || ops.op.length === 0) return;
    ops.lane = Uint16Array.from(ops.worker, (worker) => this.laneNumber(worker));
    this.ops.append(ops);
    let newest = 0;
    for (let i = 0; i < ops.op.length; i += 1) {
      if (ops.end[i] > newest) newest = ops.end[i];
      if (ops.start[i] < this.first) this.first = ops.start[i];
      this.failures += ops.failed[i];
    }
    this.store.advance(newest);
  }

  /** @param {number} worker the worker's string number */
  laneNumber(worker) {
    let lane = this.laneOf.get(worker);
    if (lane === undefined) {
      lane = this.laneNamed(this.strings[worker]);
      this.laneOf.set(worker, lane);
    }
    return lane;
  }

  /** The number of a lane, which is new if nobody has heard of it. @param {string} name */
  laneNamed(name) {
    const known = this.lanes.indexOf(name);
    if (known >= 0) return known;
    const lane = this.lanes.push(name) - 1;
    this.laneOrder = [0, ...this.laneOrder.slice(1), lane].sort(
      (a, b) => Number(a !== 0) - Number(b !== 0) || this.compare(a, b),
    );
    return lane;
  }

  /** Which of two lanes is drawn first. @param {number} a @param {number} b */
  compare(a, b) {
    return this.lanes[a].localeCompare(this.lanes[b], "en", { numeric: true });
  }

  /** What a lane is called in the picture. @param {number} lane */
  label(lane) {
    return this.lanes[lane];
  }

  fit() {
    if (!this.ops.n) return;
    const margin = (this.store.now - this.first) * 0.01;
    this.store.set({ follow: false, range: [this.first - margin, this.store.now + margin] });
  }

  /** The row of an operation, or -1 if it is not here (any more). @param {number} op */
  rowOf(op) {
    const { at, n } = this.ops;
    for (let i = n - 1; i >= 0; i -= 1) if (at.op[i] === op) return i;
    return -1;
  }

  /**
   * What an operation waited for, and what waited for it, as rows of `ops`.
   * @param {number} op
   * @returns {{from: number, to: number, kind: number}[]}
   */
  arrowsOf(op) {
    const { at, n } = this.deps;
    const near = [];
    for (let i = 0; i < n; i += 1) {
      if (at.src[i] === op || at.dst[i] === op) near.push([at.src[i], at.dst[i], at.kind[i]]);
    }
    const wanted = new Map();
    for (const pair of near) for (const id of pair.slice(0, 2)) wanted.set(id, -1);
    const ops = this.ops.at;
    for (let i = 0; i < this.ops.n; i += 1) if (wanted.has(ops.op[i])) wanted.set(ops.op[i], i);
    return near
      .map(([src, dst, kind]) => ({ from: wanted.get(src), to: wanted.get(dst), kind }))
      .filter(({ from, to }) => from >= 0 && to >= 0);
  }
}

/**
 * How many nanoseconds of a range each lane was busy.
 * @param {EngineData} data @param {[number, number]} range
 */
export function busy(data, range) {
  const out = new Float64Array(data.lanes.length);
  const { at, n } = data.ops;
  for (let i = 0; i < n; i += 1) {
    if (at.end[i] <= range[0] || at.start[i] >= range[1]) continue;
    out[at.lane[i]] += Math.min(at.end[i], range[1]) - Math.max(at.start[i], range[0]);
  }
  return out;
}

/**
 * Sort what is visible into boxes wide enough to draw one by one, and pixels shared by
 * many short operations, which become one shade per pixel: how much of it was busy, in
 * the colour of whatever filled most of it.
 * @param {EngineData} data
 * @param {{from: (row: number) => number, to: (row: number) => number, width: number,
 *   colour: (row: number) => number, colours: number}} view
 */
export function layOut(data, { from, to, width, colour, colours }) {
  const lanes = data.lanes.length;
  const shade = new Float32Array(lanes * width);
  const best = new Float32Array(lanes * width);
  const tint = new Uint8Array(lanes * width);
  const boxes = [];
  const { at, n } = data.ops;
  for (let i = 0; i < n; i += 1) {
    const x0 = from(i);
    const x1 = to(i);
    if (x1 < 0 || x0 > width) continue;
    if (x1 - x0 >= 2) {
      boxes.push(i);
      continue;
    }
    const x = Math.floor(Math.max(0, x0));
    if (x >= width) continue;
    const cell = at.lane[i] * width + x;
    const part = Math.max(x1 - x0, 0.02);
    shade[cell] += part;
    if (part > best[cell]) {
      best[cell] = part;
      tint[cell] = colour(i) % colours;
    }
  }
  return { boxes, shade, tint };
}
