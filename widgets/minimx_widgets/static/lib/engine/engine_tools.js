// What one does with an engine timeline beside looking: find by name, measure, pin lanes.

import { button, el } from "../page/dom.js";
import { count, duration } from "../drawing/scale.js";

/** @type {[string, string][]} */
export const TOOL_KEYS = [
  ["/", "find operators, layers by name; N and Shift+N go to the next, the one before"],
  ["M", "mark this time; a second mark measures from the first"],
  ["P", "pin the lane of the selected operation at the top, or let it go"],
];

/** Find operations by the name of their operator or layer: the others are painted pale. */
export class Finder {
  /** @param {{data: any, signal: AbortSignal, focus: HTMLElement, select: (row: number) => void,
   *   place: () => number, changed: () => void}} options `place` is the selected row, or -1 */
  constructor({ data, signal, focus, select, place, changed }) {
    this.data = data;
    this.calls = { select, place, changed };
    this.text = "";
    this.known = 0;
    /** Whether each string matches. */
    this.matching = new Uint8Array(0);
    this.field = el("input", {
      type: "search",
      class: "mx-search",
      placeholder: "operator or layer",
      "aria-label": "Find operations by operator or layer",
      signal,
      oninput: () => this.find(this.field.value),
      onkeydown: (event) => {
        if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") {
          this.find("");
          this.toggle(false);
          focus.focus({ preventScroll: true });
        } else return;
        event.preventDefault();
      },
    });
    this.said = el("output", { "aria-live": "polite" });
    const step = (label, title, by) =>
      button({ label, title, signal, onclick: () => this.go(by) });
    this.root = el(
      "div",
      { class: "mx-find", role: "search", hidden: true },
      this.field,
      step("‹", "The one before (Shift+N)", -1),
      step("›", "The next one (N)", 1),
      this.said,
    );
  }

  get active() {
    return this.text !== "";
  }

  /** @param {boolean} [on] */
  toggle(on = this.root.hidden) {
    this.root.hidden = !on;
    if (on) this.field.focus();
  }

  /** @param {string} text */
  find(text) {
    this.text = text.trim().toLowerCase();
    this.field.value = text;
    this.known = 0;
    this.matching = new Uint8Array(0);
    this.say();
    this.calls.changed();
  }

  /** Look for a text that was looked for before. @param {string} text */
  bring(text) {
    this.root.hidden = !text;
    this.find(text);
  }

  /** Whether a row is looked for. @param {number} row */
  matches(row) {
    const { strings, ops } = this.data;
    if (this.known < strings.length) {
      this.matching = Uint8Array.from(strings, (one) => Number(one.toLowerCase().includes(this.text)));
      this.known = strings.length;
    }
    return Boolean(this.matching[ops.at.name[row]] || this.matching[ops.at.layer[row]]);
  }

  /** How many rows match; counted once for what is known. */
  total() {
    const { at, n, gone } = this.data.ops;
    const known = `${this.text} ${n} ${gone}`;
    if (this.counted?.[0] === known) return this.counted[1];
    let found = 0;
    for (let row = 0; row < n; row += 1) found += Number(!at.holds[row] && this.matches(row));
    /** @type {[string, number]} */
    this.counted = [known, found];
    return found;
  }

  say() {
    this.said.textContent = this.active ? `${count(this.total())} found` : "";
  }

  /** To the next match after the selected row, round the end. @param {number} by 1 or -1 */
  go(by) {
    const { at, n } = this.data.ops;
    if (!this.active || !n) return;
    const from = this.calls.place();
    for (let k = 1; k <= n; k += 1) {
      const row = ((((from < 0 ? (by > 0 ? -1 : 0) : from) + by * k) % n) + n) % n;
      if (at.holds[row] || !this.matches(row)) continue;
      this.calls.select(row);
      return;
    }
  }
}

/** Two moments, and the time between them. */
export class Ruler {
  constructor() {
    /** @type {number[]} */
    this.at = [];
  }

  /** One more mark; a third one begins anew. @param {number} time */
  mark(time) {
    this.at = this.at.length < 2 ? [...this.at, time] : [time];
  }

  clear() {
    this.at = [];
  }

  /** Nanoseconds between the two, or null. */
  get measured() {
    return this.at.length === 2 ? Math.abs(this.at[1] - this.at[0]) : null;
  }

  /** @param {CanvasRenderingContext2D} ctx */
  draw(ctx, { xAt, top, bottom, left, right, theme }) {
    if (!this.at.length) return;
    const places = this.at.map(xAt);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, 0, right - left, bottom + 20);
    ctx.clip();
    ctx.strokeStyle = theme.mark;
    ctx.fillStyle = theme.mark;
    ctx.lineWidth = 1.5;
    for (const x of places) {
      ctx.beginPath();
      ctx.moveTo(Math.round(x) + 0.5, top);
      ctx.lineTo(Math.round(x) + 0.5, bottom);
      ctx.stroke();
    }
    if (this.measured !== null) {
      const [from, to] = [Math.min(...places), Math.max(...places)];
      const y = bottom - 7;
      ctx.beginPath();
      ctx.moveTo(from, y);
      ctx.lineTo(to, y);
      ctx.stroke();
      ctx.font = `600 11px ${theme.font}`;
      ctx.textAlign = "center";
      ctx.textBaseline = "bottom";
      const text = duration(this.measured);
      const middle = Math.min(Math.max((from + to) / 2, left + 30), right - 30);
      const wide = ctx.measureText(text).width + 8;
      ctx.fillStyle = theme.paper;
      ctx.fillRect(middle - wide / 2, y - 17, wide, 15);
      ctx.fillStyle = theme.mark;
      ctx.fillText(text, middle, y - 3);
    }
    ctx.restore();
  }
}

/** Pinned lanes first, behind that of the pushing thread; the others in their order.
 * @param {number[]} lanes @param {Set<number>} pinned */
export function withPinned(lanes, pinned) {
  if (!pinned.size) return lanes;
  const rest = lanes.filter((lane) => lane !== 0 && !pinned.has(lane));
  return [...lanes.filter((lane) => lane === 0), ...pinned, ...rest];
}

/**
 * Why lanes were idle between two moments, in nanoseconds of all of them together: the
 * operation that came next was not pushed yet; it waited for others; or it was ready, and
 * its worker, or the interpreter, was not. What is after the last operation is `rest`.
 * @param {any} data @param {number[]} lanes @param {[number, number]} time
 */
export function idleCauses(data, lanes, [low, high]) {
  const { at } = data.ops;
  const found = { unpushed: 0, waiting: 0, late: 0, rest: 0 };
  for (const lane of lanes) {
    const order = data.byTime[lane];
    if (lane === 0 || !order?.n) continue;
    let free = low;
    for (let i = Math.max(0, order.after(low) - 1); i < order.n; i += 1) {
      const row = order.rows[i];
      if (at.start[row] >= high) break;
      const until = Math.min(at.start[row], high);
      if (until > free) {
        const pushed = Math.min(Math.max(at.push[row], free), until);
        const ready = Math.min(Math.max(at.ready[row], pushed), until);
        found.unpushed += pushed - free;
        found.waiting += ready - pushed;
        found.late += until - ready;
      }
      free = Math.max(free, Math.min(at.end[row], high));
    }
    found.rest += Math.max(0, high - free);
  }
  return found;
}
