// The operations of a run in the browser: what ran where and when, and what waited for what.

import { Columns } from "../data/columns.js";
import { Lane, Sorted } from "./engine_index.js";
import { RunData } from "../data/live.js";

export const CAPACITY = 1_200_000;
const EVENT = 0.92; // the width of an operation where the axis counts them
export const OPS = {
  op: "u4",
  name: "u4",
  layer: "u4",
  phase: "u1",
  lane: "u2",
  failed: "u1",
  holds: "u1",
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
    /** @type {Map<number, number>} the layer's string → its number, as they appeared */
    this.layerNumber = new Map();
    /** Operators take numbers in the order in which they appear. @type {Map<number, number>} */
    this.operatorNumber = new Map();
    /** @type {Set<number>} the phases that occur */
    this.phases = new Set();
    this.failures = 0;
    this.skipped = 0;
    this.first = Infinity;
    this.indexAnew();
  }

  /** Forget the orders of rows; they are made again. */
  indexAnew() {
    /** @type {Lane[]} the rows of each lane by time, without those that hold others */
    this.byTime = [];
    /** @type {Lane[]} those that hold others, by time */
    this.holders = [];
    /** @type {Lane[] | null} the same by number, made when somebody asks */
    this.byEvent = null;
    this.pushes = new Sorted();
    this.found = new Map(); // what was looked up, until more rows come
  }

  /** Rows of operations arrived. */
  addOps(ops) {
    const forgotten = this.ops.append(ops);
    number(this.layerNumber, ops.layer);
    number(this.operatorNumber, ops.name);
    for (const phase of ops.phase) this.phases.add(phase);
    if (forgotten) this.indexAnew();
    this.index(forgotten ? 0 : this.ops.n - ops.op.length);
  }

  /** Put the rows from `first` on in order. @param {number} first */
  index(first) {
    const { at, n } = this.ops;
    const pushes = at.push.slice(first, n).filter((push, i) => at.lane[first + i] !== 0 && push >= 0);
    this.pushes.add(pushes);
    const start = (row) => this.ops.at.start[row];
    const end = (row) => this.ops.at.end[row];
    this.indexBy(this.byTime, first, start, end);
    this.indexBy(this.holders, first, start, end, 1);
    if (this.byEvent) this.indexByEvent(first);
    this.found.clear();
  }

  indexByEvent(first) {
    const { gone } = this.ops;
    this.indexBy(this.byEvent, first, (row) => row + gone, (row) => row + gone + EVENT);
  }

  /** @param {number} [holds] whether they are to be operations that hold others */
  indexBy(lanes, first, start, end, holds = 0) {
    const { at, n } = this.ops;
    const fresh = this.lanes.map(() => []);
    for (let row = first; row < n; row += 1)
      if (at.holds[row] === holds) fresh[at.lane[row]].push(row);
    fresh.forEach((rows, lane) => {
      lanes[lane] ??= new Lane(start, end);
      if (rows.length) lanes[lane].add(rows);
    });
  }

  /** The order of the rows of each lane along an axis. @param {"time" | "events"} mode */
  orders(mode) {
    if (mode === "time") return this.byTime;
    if (!this.byEvent) {
      this.byEvent = [];
      this.indexByEvent(0);
    }
    return this.byEvent;
  }

  /** What `find` says, remembered until more rows come. */
  remembered(key, find) {
    if (!this.found.has(key)) {
      if (this.found.size > 50) this.found.clear();
      this.found.set(key, find());
    }
    return this.found.get(key);
  }

  /** @param {any} tables @param {any} header */
  add({ ops, deps }, header) {
    this.skipped += header.skipped ?? 0;
    if (deps) {
      this.deps.append(deps);
      this.found.clear();
    }
    if (!ops || ops.op.length === 0) return;
    ops.lane = Uint16Array.from(ops.worker, (worker) => this.laneNumber(worker));
    ops.holds ??= new Uint8Array(ops.op.length);
    this.addOps(ops);
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

  /** The operation that a row is a member of, as a row; -1 for none. @param {number} row */
  holderOf(row) {
    const { at } = this.ops;
    if (at.holds[row]) return -1;
    const holder = this.holders[at.lane[row]]?.nearest(at.start[row], 0) ?? -1;
    return holder >= 0 && at.end[holder] >= at.end[row] ? holder : -1;
  }

  /** The row of an operation, or -1 if it is not here (any more). @param {number} op */
  rowOf(op) {
    return this.remembered(op, () => this.ops.at.op.subarray(0, this.ops.n).lastIndexOf(op));
  }

  /**
   * What an operation waited for, and what waited for it, as rows of `ops`.
   * @param {number} op
   * @returns {{from: number, to: number, kind: number}[]}
   */
  arrowsOf(op) {
    return this.remembered(`arrows ${op}`, () => this.findArrows(op));
  }

  /**
   * The operations that compute the gradient of an operation, or the one whose gradient it
   * computes, as rows; those that hold others do not count.
   * @param {number} op
   * @returns {number[]}
   */
  gradientOf(op) {
    return this.remembered(`gradient ${op}`, () => {
      const { at, n } = this.ops;
      const row = this.rowOf(op);
      if (row < 0 || at.holds[row]) return [];
      if (at.forward[row]) return [this.rowOf(at.forward[row])].filter((found) => found >= 0);
      const found = [];
      for (let i = 0; i < n; i += 1) if (at.forward[i] === op && !at.holds[i]) found.push(i);
      return found;
    });
  }

  findArrows(op) {
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

/** Give texts numbers in the order in which they appear. @param {Map<number, number>} known
 * @param {ArrayLike<number>} texts */
function number(known, texts) {
  for (let i = 0; i < texts.length; i += 1)
    if (!known.has(texts[i])) known.set(texts[i], known.size);
}

/**
 * How many nanoseconds of a range each lane was busy; what overlaps counts once.
 * @param {EngineData} data @param {[number, number]} range
 */
export function busy(data, range) {
  return Float64Array.from(data.lanes, (_, lane) => data.byTime[lane]?.busy(...range) ?? 0);
}

/**
 * Sort what is visible into boxes wide enough to draw one by one, and pixels shared by
 * many short operations, which become one shade per pixel: how much of it was busy, in
 * the colour of whatever filled most of it.
 * @param {EngineData} data
 * @param {{mode: "time" | "events", low: number, per: number, width: number,
 *   colour: (row: number) => number, colours: number}} view `low` is the place of the first
 *   pixel, `per` how many pixels one unit of the axis takes
 */
export function layOut(data, { mode, low, per, width, colour, colours }) {
  const lanes = data.lanes.length;
  const shade = new Float32Array(lanes * width);
  const best = new Float32Array(lanes * width);
  const tint = new Uint8Array(lanes * width);
  const boxes = [];
  data.orders(mode).forEach((order, lane) => {
    const put = (/** @type {number} */ x, /** @type {number} */ part, /** @type {number} */ row) => {
      if (x < 0 || x >= width) return;
      const cell = lane * width + x;
      shade[cell] += part;
      if (part > best[cell]) {
        best[cell] = part;
        tint[cell] = colour(row) % colours;
      }
    };
    const one = (/** @type {number} */ row) => {
      const x0 = (order.start(row) - low) * per;
      const x1 = (order.end(row) - low) * per;
      if (x1 - x0 >= 2) boxes.push(row);
      else put(Math.floor(Math.max(0, x0)), Math.max(x1 - x0, 0.02), row);
    };
    // A group lies on one pixel or across the border of two.
    const group = (start, end, filled, row) => {
      const x0 = (start - low) * per;
      const x1 = Math.max((end - low) * per, x0 + 1e-9);
      const x = Math.floor(x0);
      const share = Math.min(1, (x + 1 - x0) / (x1 - x0));
      const part = Math.max(filled * per, 0.02);
      put(x, part * share, row);
      if (share < 1) put(x + 1, part * (1 - share), row);
    };
    order.visit(low, low + width / per, 1 / per, one, group);
  });
  return { boxes, shade, tint };
}
