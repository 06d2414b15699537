// The inside of a pool in the browser: what a history says of one moment, and of one size.
// Only bookkeeping: the kernel's policies have decided everything.

import { RunData } from "../data/live.js";
import { lowerBound } from "../drawing/scale.js";

/** Positions in `MEMORY_EVENTS`. */
export const EVENT = {
  live: 0,
  cached: 1,
  alloc: 2,
  hit: 3,
  free: 4,
  release: 5,
  flush: 6,
  oom: 7,
};
export const WORDS = {
  0: "was lent before",
  1: "was idle before",
  2: "from the driver",
  3: "used again",
  4: "came back",
  5: "went back to the driver",
  6: "flush",
  7: "refused",
};
/** What becomes of a block that comes back. */
const GIVEN_BACK = 2;
const IDLE_AT_END = 3;
export const STATES = ["in use", "cached", "stranded"];

/**
 * One pool's events with running totals.
 */
export class History {
  /** @param {Record<string, any>} rows columns from the kernel @param {boolean} ended */
  constructor(rows, ended) {
    this.at = rows;
    this.n = rows.step.length;
    this.ended = ended;
    this.steps = this.n ? rows.step[this.n - 1] + 1 : 0;
    this.total();
  }

  total() {
    const { event, size, requested } = this.at;
    const names = ["reserved", "lent", "asked", "alloc", "hit", "flush", "oom"];
    for (const name of names) this[name] = new Float64Array(this.n);
    const now = Object.fromEntries(names.map((name) => [name, 0]));
    this.peak = 0;
    this.highest = -1;
    for (let i = 0; i < this.n; i += 1) {
      const what = event[i];
      if (what === EVENT.alloc || what === EVENT.live || what === EVENT.cached)
        now.reserved += size[i];
      else if (what === EVENT.release || what === EVENT.flush) now.reserved -= size[i];
      const loan = this.loan(i);
      now.lent += loan * size[i];
      now.asked += loan * requested[i];
      for (const name of ["alloc", "hit", "flush", "oom"])
        if (what === EVENT[name] && (name !== "flush" || size[i] > 0)) now[name] += 1;
      for (const name of names) this[name][i] = now[name];
      if (now.reserved > this.peak || this.highest < 0) {
        this.peak = now.reserved;
        this.highest = i;
      }
    }
  }

  /** +1 where a loan begins, -1 where it ends. @param {number} i */
  loan(i) {
    const what = this.at.event[i];
    if (what === EVENT.free) return -1;
    return what === EVENT.alloc || what === EVENT.hit || what === EVENT.live ? 1 : 0;
  }

  /** The last event of a step; -1 before the first. @param {number} step */
  rowAt(step) {
    return lowerBound(this.at.step, this.n, step + 1) - 1;
  }

  /** The number of a total after an event. @param {string} name @param {number} row */
  after(name, row) {
    return row < 0 ? 0 : this[name][row];
  }

  /**
   * The blocks that the pool holds after an event, by address; `row` is the event that
   * lent a block or brought it back.
   * @param {number} row
   * @returns {{address: number, size: number, requested: number, state: number, row: number}[]}
   */
  regions(row) {
    const { event, address, size, requested, fate } = this.at;
    const held = new Map();
    for (let i = 0; i <= row; i += 1) {
      const what = event[i];
      if (this.loan(i) > 0)
        held.set(address[i], {
          address: address[i],
          size: size[i],
          requested: requested[i],
          state: 0,
          row: i,
        });
      else if (what === EVENT.free) {
        const lost = fate[i] === GIVEN_BACK || (this.ended && fate[i] === IDLE_AT_END);
        held.set(address[i], {
          address: address[i],
          size: size[i],
          requested: 0,
          state: lost ? 2 : 1,
          row: i,
        });
      } else if (what === EVENT.release) held.delete(address[i]);
      else if (what === EVENT.flush)
        for (const [place, block] of held) if (block.state > 0) held.delete(place);
    }
    return [...held.values()].sort((a, b) => a.address - b.address);
  }

  /** The highest address that was ever taken. */
  top() {
    const { address, size } = this.at;
    let most = 0;
    for (let i = 0; i < this.n; i += 1) most = Math.max(most, address[i] + size[i]);
    return most;
  }

  /**
   * The lives of all blocks of one size: for each place one line of stretches, in which it
   * was lent or idle. `to` is the step at which a stretch ends.
   * @param {number} wanted
   * @returns {{address: number, parts: {from: number, to: number, state: number, row: number}[]}[]}
   */
  lives(wanted) {
    const { event, address, size, step, fate } = this.at;
    const lines = new Map();
    const end = (/** @type {any} */ line, /** @type {number} */ to) => {
      const last = line?.parts.at(-1);
      if (last && last.to < 0) last.to = to;
    };
    for (let i = 0; i < this.n; i += 1) {
      const what = event[i];
      if (what === EVENT.flush) {
        for (const line of lines.values())
          if (line.parts.at(-1).state > 0) end(line, step[i]);
        continue;
      }
      if (size[i] !== wanted || (this.loan(i) === 0 && what !== EVENT.release)) continue;
      const line = lines.get(address[i]) ?? { address: address[i], parts: [] };
      lines.set(address[i], line);
      end(line, step[i]);
      if (what === EVENT.release) continue;
      const lost = fate[i] === GIVEN_BACK || (this.ended && fate[i] === IDLE_AT_END);
      const state = this.loan(i) > 0 ? 0 : lost ? 2 : 1;
      line.parts.push({ from: step[i], to: -1, state, row: i });
    }
    for (const line of lines.values()) end(line, this.steps);
    return [...lines.values()].sort((a, b) => a.address - b.address);
  }
}

/**
 * Blocks by size, the largest first: how many are in which state, what was asked for.
 * @param {ReturnType<History["regions"]>} regions
 */
export function sizeClasses(regions) {
  const found = new Map();
  for (const region of regions) {
    const one = found.get(region.size) ?? {
      size: region.size,
      counts: [0, 0, 0],
      requested: 0,
      nbytes: 0,
      lent: [],
    };
    found.set(region.size, one);
    one.counts[region.state] += 1;
    one.requested += region.requested;
    one.nbytes += region.size;
    if (region.state === 0) one.lent.push(region);
  }
  return [...found.values()].sort((a, b) => b.size - a.size);
}

/**
 * The free ranges between and behind blocks.
 * @param {{address: number, size: number}[]} regions @param {number} capacity
 * @returns {[number, number][]} start and length
 */
export function holes(regions, capacity) {
  /** @type {[number, number][]} */
  const found = [];
  let end = 0;
  for (const { address, size } of regions) {
    if (address > end) found.push([end, address - end]);
    end = Math.max(end, address + size);
  }
  if (capacity > end) found.push([end, capacity - end]);
  return found;
}

/** Neighbouring blocks as one range. @param {{address: number, size: number}[]} regions */
export function merged(regions) {
  /** @type {{address: number, size: number}[]} */
  const found = [];
  for (const { address, size } of regions) {
    const last = found.at(-1);
    if (last && last.address + last.size === address) last.size += size;
    else found.push({ address, size });
  }
  return found;
}

/** What the pool map draws: the shown history, perhaps a ghost's, and the settings. */
export class PoolData extends RunData {
  reset() {
    super.reset();
    this.shown = null;
    this.ghost = null;
  }

  /** @param {any} tables @param {any} header */
  add({ shown, ghost }, header) {
    if (!shown) return;
    this.shown = new History(shown, !header.live);
    this.ghost = ghost ? new History(ghost, !header.live) : null;
    if (this.shown.n) this.store.advance(this.shown.at.t[this.shown.n - 1]);
  }
}
