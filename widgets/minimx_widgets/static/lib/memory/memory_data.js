// The memory of a run in the browser: pool events per device, and running totals.

import { Columns } from "../data/columns.js";
import { Allocations } from "./memory_blocks.js";
import { RunData } from "../data/live.js";
import { lowerBound } from "../drawing/scale.js";

export const CATEGORIES = [
  "parameter",
  "gradient",
  "optimizer state",
  "activation",
  "workspace",
  "data",
  "communication",
  "temporary",
];
export const EVENTS = ["live", "cached", "alloc", "hit", "free", "release", "flush", "oom"];
const CAPACITY = 120_000;

/** @type {Record<string, "f8" | "f4" | "u4" | "u1">} */
const LAYOUT = {
  t: "f8",
  reserved: "f8",
  delta: "f8",
  event: "u1",
  category: "u1",
  phase: "u1",
  owner: "u4",
  layer: "u4",
  op: "u4",
  block: "u4",
};
CATEGORIES.forEach((_, i) => {
  LAYOUT[`requested${i}`] = "f4";
  LAYOUT[`rounded${i}`] = "f4";
});

/** The events of one device with the bytes that live in each category after them. */
class Series extends Columns {
  constructor() {
    super(LAYOUT, CAPACITY);
    this.blocks = new Allocations();
    this.live = { requested: new Float64Array(8), rounded: new Float64Array(8), reserved: 0 };
    this.peak = {
      requested: { bytes: 0, t: 0 },
      rounded: { bytes: 0, t: 0 },
      reserved: { bytes: 0, t: 0 },
    };
  }

  /** Add one device's rows of a message. @param {Record<string, any>} rows @param {number[]} pick */
  take(rows, pick) {
    const n = pick.length;
    const out = {};
    for (const [name, type] of Object.entries(LAYOUT)) {
      out[name] =
        type === "f8"
          ? new Float64Array(n)
          : new (type === "f4" ? Float32Array : Uint32Array)(n);
    }
    const { requested, rounded } = this.live;
    pick.forEach((from, i) => {
      const category = rows.category[from];
      requested[category] += rows.requested[from];
      rounded[category] += rows.rounded[from];
      this.live.reserved += rows.reserved[from];
      for (const name of ["t", "event", "category", "phase", "owner", "layer", "op", "block"]) {
        out[name][i] = rows[name][from];
      }
      out.delta[i] = rows.requested[from];
      out.reserved[i] = this.live.reserved;
      for (let c = 0; c < 8; c += 1) {
        out[`requested${c}`][i] = requested[c];
        out[`rounded${c}`][i] = rounded[c];
      }
      this.raise(rows.t[from]);
      if (rows.requested[from]) this.blocks.take(this.allocation(rows, from, i));
    });
    if (this.append(out)) this.blocks.forget(this.gone);
  }

  /** A row as the begin, or the end, of an allocation. @param {Record<string, any>} rows
   * @param {number} from @param {number} i how many of this message come before it */
  allocation(rows, from, i) {
    const [event, category, phase, owner, layer, op, block] = [
      "event", "category", "phase", "owner", "layer", "op", "block",
    ].map((name) => rows[name][from]); // prettier-ignore
    const place = { from: this.gone + this.n + i, to: Infinity, born: rows.t[from], died: null };
    const size = { requested: rows.requested[from], rounded: rows.rounded[from] };
    return { ...place, ...size, event, category, phase, owner, layer, op, block };
  }

  /** Note new peaks. @param {number} t */
  raise(t) {
    for (const measure of ["requested", "rounded", "reserved"]) {
      const now = this.total(measure);
      if (now > this.peak[measure].bytes) this.peak[measure] = { bytes: now, t };
    }
  }

  /** Bytes alive now. @param {string} measure */
  total(measure) {
    if (measure === "reserved") return this.live.reserved;
    return this.live[measure].reduce((a, b) => a + b, 0);
  }

  /** Bytes by category after row `i`. @param {string} measure @param {number} i */
  stack(measure, i) {
    const kind = measure === "requested" ? "requested" : "rounded";
    return CATEGORIES.map((_, c) => (i < 0 ? 0 : this.at[`${kind}${c}`][i]));
  }

  /** The last row at or before an axis position; -1 before the first.
   * @param {"time" | "events"} mode @param {number} position */
  rowAt(mode, position) {
    if (mode === "events") return Math.min(this.n - 1, Math.floor(position - this.gone));
    return lowerBound(this.at.t, this.n, position + 1e-6) - 1;
  }
}

/** Every device's series; what the memory timeline draws. */
export class MemoryData extends RunData {
  reset() {
    super.reset();
    /** @type {Map<string, Series>} */
    this.devices = new Map();
    /** What was observed of every step, by name. @type {Map<string, Columns>} */
    this.metrics = new Map();
  }

  /** @param {any} metrics columns t, step, name, value */
  observe(metrics) {
    for (let i = 0; i < metrics.t.length; i += 1) {
      const name = this.strings[metrics.name[i]];
      if (!this.metrics.has(name))
        this.metrics.set(name, new Columns({ t: "f8", step: "f8", value: "f8" }, CAPACITY));
      const [t, step, value] = ["t", "step", "value"].map((column) => [metrics[column][i]]);
      this.metrics.get(name)?.append({ t, step, value });
    }
  }

  /** The newest value of a metric, or null. @param {string} name */
  last(name) {
    const one = this.metrics.get(name);
    return one?.n ? one.at.value[one.n - 1] : null;
  }

  /** @param {any} tables */
  add({ mem, metrics }) {
    if (metrics) this.observe(metrics);
    if (!mem || mem.t.length === 0) return;
    /** @type {Map<number, number[]>} */
    const rows = new Map();
    mem.device.forEach((device, i) => {
      if (!rows.has(device)) rows.set(device, []);
      rows.get(device)?.push(i);
    });
    for (const [device, pick] of rows) {
      const name = this.strings[device];
      if (!this.devices.has(name)) this.devices.set(name, new Series());
      this.devices.get(name)?.take(mem, pick);
    }
    this.store.advance(mem.t[mem.t.length - 1]);
  }

  fit() {
    const first = Math.min(
      ...[...this.devices.values()].filter((s) => s.n).map((s) => s.at.t[0]),
    );
    if (Number.isFinite(first)) {
      const margin = (this.store.now - first) * 0.01;
      this.store.set({ follow: false, range: [first - margin, this.store.now + margin] });
    }
  }
}

/**
 * One stack per pixel column: of all samples in a column, the one with the highest total.
 * Returns rows chosen per pixel; -1 where nothing is known yet.
 * @param {Series} series
 * @param {{mode: "time" | "events", range: [number, number], width: number, measure: string}} view
 * @returns {Int32Array}
 */
export function columnsOf(series, { mode, range, width, measure }) {
  const out = new Int32Array(width).fill(-1);
  if (series.n === 0) return out;
  const per = (range[1] - range[0]) / width;
  const kind = measure === "requested" ? "requested" : "rounded";
  const parts = CATEGORIES.map((_, c) => series.at[`${kind}${c}`]);
  const total = (/** @type {number} */ i) => {
    let sum = 0;
    for (let c = 0; c < 8; c += 1) sum += parts[c][i];
    return sum;
  };
  let row = series.rowAt(mode, range[0]);
  for (let x = 0; x < width; x += 1) {
    const last = series.rowAt(mode, range[0] + (x + 1) * per);
    let best = row;
    let most = row < 0 ? -1 : total(row);
    for (let i = row + 1; i <= last; i += 1) {
      const here = total(i);
      if (here > most) {
        most = here;
        best = i;
      }
    }
    out[x] = best;
    row = last;
  }
  // What an event left behind holds until the next number.
  const end = Math.ceil((series.n + series.gone - range[0]) / per) + 1;
  if (mode === "events" && end < width) out.fill(-1, Math.max(0, end));
  return out;
}

/**
 * What happened between two positions of the axis: bytes taken and given back, how often
 * each event, and the highest total.
 * @param {Series} series
 * @param {{mode: "time" | "events", from: number, to: number, measure: string}} stretch
 * @returns {Record<string, number>}
 */
export function between(series, { mode, from, to, measure }) {
  const first = series.rowAt(mode, from) + 1;
  const last = series.rowAt(mode, to);
  const sums = { rows: Math.max(0, last - first + 1), taken: 0, given: 0, most: 0 };
  for (const name of EVENTS) sums[name] = 0;
  for (let i = first; i <= last; i += 1) {
    sums[EVENTS[series.at.event[i]]] += 1;
    const change = series.at.delta[i];
    if (change > 0) sums.taken += change;
    else sums.given -= change;
    const total = series.stack(measure, i).reduce((a, b) => a + b, 0);
    sums.most = Math.max(sums.most, total);
  }
  return sums;
}
