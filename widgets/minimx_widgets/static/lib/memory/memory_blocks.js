// Each allocation as a shape: as wide as it lives, as high as it is large, stacked by age.

import { LEFT } from "./memory_paint.js";
import { tipHead, tipRow } from "../page/frame.js";
import { PHASES } from "../data/live.js";
import { bytes, duration } from "../drawing/scale.js";

/**
 * @typedef {{block: number, from: number, to: number, born: number, died: number | null,
 *   requested: number, rounded: number, category: number, phase: number, owner: number,
 *   layer: number, op: number, event: number}} Allocation
 * `from`, `to`: the numbers of the events that begin and end it, `to` is Infinity while it
 * lives; `born`, `died`: their times.
 */
/** @typedef {{one: Allocation, x0: number, x1: number, low: number, high: number}} Run */

/** The allocations of one device, in the order of their begins. */
export class Allocations {
  constructor() {
    /** @type {Allocation[]} */
    this.all = [];
    /** @type {Map<number, Allocation>} those that live, by number */
    this.living = new Map();
  }

  /** An event that changes what lives. @param {Allocation} one with its begin, or its end
   * if `requested` is negative */
  take(one) {
    if (one.requested > 0) {
      this.all.push(one);
      this.living.set(one.block, one);
      return;
    }
    const known = this.living.get(one.block);
    if (known) {
      this.living.delete(one.block);
      Object.assign(known, { to: one.from, died: one.born });
    } else this.shrink(one);
  }

  /** The end of one that began before anything that is kept: such ones of a category stand
   * together under the number 0, and become less. */
  shrink(one) {
    const together = [...this.living.values()].find(
      ({ block, category }) => block === 0 && category === one.category,
    );
    if (!together) return;
    Object.assign(together, { to: one.from, died: one.born });
    const rest = { requested: together.requested + one.requested, rounded: together.rounded + one.rounded };
    this.living.delete(0);
    if (rest.requested > 0)
      this.take({ ...together, ...rest, from: one.from, to: Infinity, born: one.born, died: null });
  }

  /** Forget those that ended before an event. @param {number} first */
  forget(first) {
    this.all = this.all.filter(({ to }) => to > first);
  }

  /** What lives after an event, the oldest first. @param {number} row its number */
  at(row) {
    return this.all.filter(({ from, to }) => from <= row && row < to);
  }

  /**
   * Stack what lives in each pixel: runs of pixels in which an allocation lies at one height.
   * @param {Int32Array} picks the event behind each pixel, -1 for none @param {number} gone
   * how many events were forgotten @param {"requested" | "rounded"} kind
   * @returns {Run[]}
   */
  runs(picks, gone, kind) {
    /** @type {Run[]} */
    const done = [];
    /** @type {Map<Allocation, Run>} */
    let open = new Map();
    let next = 0;
    /** @type {Allocation[]} */
    let living = [];
    let before = -1;
    picks.forEach((pick, x) => {
      const row = pick < 0 ? -1 : pick + gone;
      if (row === before) return;
      before = row;
      for (; next < this.all.length && this.all[next].from <= row; next += 1)
        living.push(this.all[next]);
      living = living.filter(({ to }) => row < to);
      const now = new Map();
      let low = 0;
      for (const one of row < 0 ? [] : living) {
        const known = open.get(one);
        if (known?.low === low) now.set(one, known);
        else now.set(one, { one, x0: x, x1: x, low, high: low + one[kind] });
        low += one[kind];
      }
      for (const [one, run] of open)
        if (now.get(one) !== run) done.push({ ...run, x1: x });
      open = now;
    });
    for (const run of open.values()) done.push({ ...run, x1: picks.length });
    return done;
  }
}

/**
 * Paint the runs; those lower than half a pixel are left to the ground below them.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{runs: Run[], y: (value: number) => number, theme: any, names: string[]}} options
 * @returns {number} how many were painted
 */
export function paintBlocks(ctx, { runs, y, theme, names }) {
  let painted = 0;
  ctx.font = `10.5px ${theme.font}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const { one, x0, x1, low, high } of runs) {
    const [top, tall, wide] = [y(high), y(low) - y(high), x1 - x0];
    if (tall < 0.5) continue;
    painted += 1;
    ctx.fillStyle = theme.category[one.category];
    const [right, down] = [wide > 4 ? 1 : 0, tall > 3 ? 1 : 0];
    ctx.fillRect(LEFT + x0, top, wide - right, tall - down);
    const words = tall > 12 && wide > 40 ? fitted(ctx, names[one.owner] ?? "", wide - 10) : "";
    if (!words) continue;
    ctx.fillStyle = theme.paper;
    ctx.fillText(words, LEFT + x0 + 5, top + tall / 2);
  }
  return painted;
}

function fitted(ctx, words, room) {
  const keep = Math.floor((words.length * room) / Math.max(1, ctx.measureText(words).width));
  if (keep >= words.length) return words;
  return keep > 4 ? `${words.slice(0, keep - 1)}…` : "";
}

/** A ring round all of an allocation. @param {CanvasRenderingContext2D} ctx */
export function paintRing(ctx, { runs, block, y, colour, wide }) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = wide;
  for (const { one, x0, x1, low, high } of runs)
    if (one.block === block)
      ctx.strokeRect(LEFT + x0, y(high), Math.max(2, x1 - x0), Math.max(2, y(low) - y(high)));
}

/** The run at a pixel and a number of bytes. @param {Run[]} runs @param {number} x from the
 * left end of the axis @param {number} value @returns {Run | undefined} */
export function runAt(runs, x, value) {
  return runs.find((run) => run.x0 <= x && x < run.x1 && run.low <= value && value < run.high);
}

/**
 * What is said of an allocation: what the page knows, or once it came what the kernel knows.
 * @param {any} view @param {Allocation} one @param {[string, string][] | undefined} facts
 */
export function aboutAllocation(view, one, facts) {
  const { strings } = view.data;
  const who = strings[one.owner] || "unknown";
  const head = tipHead(`${bytes(one.rounded)} for ${who}`, view.theme.category[one.category]);
  if (facts) return [head, ...facts.map(([label, text]) => tipRow(label, text))];
  const lived = duration((one.died ?? view.data.store.now) - one.born);
  return [
    head,
    tipRow("layer", strings[one.layer] || "none"),
    tipRow("phase", PHASES[one.phase]),
    tipRow("asked for", bytes(one.requested)),
    tipRow("got", bytes(one.rounded)),
    tipRow("lived", one.died === null ? `${lived}, in use still` : lived),
  ];
}
