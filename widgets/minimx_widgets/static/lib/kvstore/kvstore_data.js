// A step of a store in the browser: bars as columns, and what is asked of them. No drawing.

import { unpack } from "../data/columns.js";
import { bytes, duration } from "../drawing/scale.js";

export const KINDS = ["backward", "forward", "update", "push", "reduce", "pull", "other"];
const [BACKWARD, FORWARD, , PUSH, REDUCE, PULL] = KINDS.map((_, kind) => kind);
/** The line of a row in which a kind lies: computing, push, reduce, pull. */
export const LINE_OF = [0, 0, 0, 1, 2, 3, 0];

/** What is drawn, from a widget's state. */
export class Step {
  /** @param {[any, DataView[]]} frozen facts, and the columns of the bars */
  constructor([facts, buffers]) {
    this.facts = facts;
    this.bars = unpack(facts.tables.bars, buffers);
    this.n = this.bars.start.length;
    /** The longest bar, so that those under way at a moment are found by their starts. */
    this.longest = 0;
    for (let i = 0; i < this.n; i += 1)
      this.longest = Math.max(this.longest, this.bars.end[i] - this.bars.start[i]);
  }

  /** The copies on their way at a moment. @param {number} t nanoseconds */
  underway(t) {
    const { start, end, route } = this.bars;
    const found = [];
    for (let i = this.after(t - this.longest); i < this.n && start[i] <= t; i += 1)
      if (route[i] >= 0 && t < end[i]) found.push(i);
    return found;
  }

  /** The first bar that starts at a moment or later. @param {number} t */
  after(t) {
    let low = 0;
    let high = this.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.bars.start[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The bar of a row at a moment, of the lines that are given; -1 for none.
   * @param {number} row @param {number} t @param {number[]} lines @param {number} slack */
  barAt(row, t, lines, slack) {
    const { bars } = this;
    let best = -1;
    let nearest = slack;
    for (let i = this.after(t - this.longest - slack); i < this.n; i += 1) {
      if (bars.start[i] > t + slack) break;
      if (bars.row[i] !== row || !lines.includes(LINE_OF[bars.kind[i]])) continue;
      const far = Math.max(bars.start[i] - t, t - bars.end[i], 0);
      if (far <= nearest) {
        nearest = far;
        best = i;
      }
    }
    return best;
  }

  /** The first bar of a recorded operation; -1 where this step does not hold it.
   * @param {number} op */
  barOf(op) {
    return op ? this.bars.op.indexOf(op) : -1;
  }

  /** The next bar after another, or before it, of a key or of all; itself at the end.
   * @param {number} i -1 for none @param {number} by 1 or -1 @param {number} key */
  next(i, by, key) {
    let k = i + by;
    while (k >= 0 && k < this.n && key >= 0 && this.bars.key[k] !== key) k += by;
    return k >= 0 && k < this.n ? k : i;
  }

  /** A bar in words. @param {number} i */
  about(i) {
    const { bars, facts } = this;
    const [start, end] = [bars.start[i], bars.end[i]];
    return (
      `${KINDS[bars.kind[i]]} of ${facts.keys[bars.key[i]][0]} at ${facts.rows[bars.row[i]][0]}, ` +
      `from ${duration(start)}, took ${duration(end - start)}`
    );
  }

  /** The links that copies of a key take. @param {number} key @returns {Set<number>} */
  wiresOf(key) {
    const found = new Set();
    for (let i = 0; i < this.n; i += 1)
      if (this.bars.key[i] === key && this.bars.route[i] >= 0)
        for (const wire of this.facts.routes[this.bars.route[i]]) found.add(wire);
    return found;
  }

  /** Of a key: copies, bytes, and from when to when each kind of work lasts.
   * @param {number} key */
  account(key) {
    const { bars } = this;
    const found = { copies: 0, nbytes: 0, spans: /** @type {any} */ ({}) };
    for (let i = 0; i < this.n; i += 1) {
      if (bars.key[i] !== key) continue;
      const span = (found.spans[bars.kind[i]] ??= [Infinity, -Infinity]);
      span[0] = Math.min(span[0], bars.start[i]);
      span[1] = Math.max(span[1], bars.end[i]);
      if (bars.route[i] < 0) continue;
      found.copies += 1;
      found.nbytes += bars.nbytes[i];
    }
    return found;
  }

  /** A key in words: bytes and priority, when it was pushed, summed and pulled.
   * @param {number} key @returns {[string, string]} its name, and the rest */
  words(key) {
    const [name, priority, nbytes] = this.facts.keys[key];
    const { copies, nbytes: sent, spans } = this.account(key);
    const said = [`priority ${priority}`, bytes(nbytes)];
    if (copies) said.push(`${copies} ${copies === 1 ? "copy" : "copies"}, ${bytes(sent)} in all`);
    for (const kind of [BACKWARD, PUSH, REDUCE, PULL, FORWARD])
      if (spans[kind])
        said.push(`${KINDS[kind]} ${duration(spans[kind][0])} – ${duration(spans[kind][1])}`);
    return [name, said.join(" · ")];
  }
}

/**
 * A point of a way, at a share of its length.
 * @param {[number, number][]} way @param {number} share @returns {[number, number]}
 */
export function along(way, share) {
  const lengths = way.slice(1).map(([x, y], i) => Math.hypot(x - way[i][0], y - way[i][1]));
  let left = share * lengths.reduce((sum, one) => sum + one, 0);
  for (const [i, long] of lengths.entries()) {
    if (left <= long && long > 0) {
      const part = left / long;
      return [
        way[i][0] + part * (way[i + 1][0] - way[i][0]),
        way[i][1] + part * (way[i + 1][1] - way[i][1]),
      ];
    }
    left -= long;
  }
  return way[way.length - 1];
}

/** Pixels of a link: 1.5 at 0.1 GB/s, and 2 more for each tenfold. @param {number} bandwidth */
export function thickness(bandwidth) {
  return Math.min(7, 1.5 + 2 * Math.log10(Math.max(bandwidth, 1e8) / 1e8));
}

/** Pixels of a packet's radius. @param {number} nbytes */
export function radius(nbytes) {
  return Math.min(8, Math.max(2.5, 2.5 + 1.4 * Math.log10(Math.max(nbytes, 1) / 3e4)));
}

/**
 * The points of a link on the map, moved aside so that two directions lie side by side.
 * @param {{points: [number, number][], curved: boolean}} wire
 * @param {(point: [number, number]) => [number, number]} at
 * @returns {[number, number][]}
 */
export function polyline({ points, curved }, at) {
  const [[ax, ay], [bx, by]] = points;
  if (curved) {
    const up = ay < 0.5 ? -1 : 1;
    const lift = up * Math.min(0.05 + 0.2 * Math.abs(bx - ax), 0.2) * (bx > ax ? 1 : 0.84);
    return Array.from({ length: 13 }, (_, k) => {
      const t = k / 12;
      return at([ax + (bx - ax) * t, ay + (by - ay) * t + 4 * lift * t * (1 - t)]);
    });
  }
  const [start, end] = points.map(at);
  const long = Math.hypot(end[0] - start[0], end[1] - start[1]) || 1;
  const dx = (-(end[1] - start[1]) / long) * 4;
  const dy = ((end[0] - start[0]) / long) * 4;
  return [
    [start[0] + dx, start[1] + dy],
    [end[0] + dx, end[1] + dy],
  ];
}

/**
 * A line that ends so many pixels before its first and its last point.
 * @param {[number, number][]} way @param {number[]} ends @returns {[number, number][]}
 */
export function trimmed(way, ends) {
  const long = way
    .slice(1)
    .reduce((sum, [x, y], i) => sum + Math.hypot(x - way[i][0], y - way[i][1]), 0);
  if (long <= ends[0] + ends[1]) return way;
  const inner = way.slice(1, -1);
  return [along(way, ends[0] / long), ...inner, along(way, 1 - ends[1] / long)];
}

/** A colour between two of the form #rrggbb. @param {string} a @param {string} b
 * @param {number} share */
export function mixed(a, b, share) {
  const part = (/** @type {string} */ text, /** @type {number} */ i) =>
    Number.parseInt(text.slice(i, i + 2), 16);
  return `#${[1, 3, 5]
    .map((i) => Math.floor(part(a, i) + (part(b, i) - part(a, i)) * share + 0.5))
    .map((value) => value.toString(16).padStart(2, "0"))
    .join("")}`;
}

/** From `idle` over `half` to `full`. @param {number} share @param {string[]} stops */
export function loadColour(share, stops) {
  const place = 2 * Math.min(Math.max(share, 0), 1);
  const low = Math.min(Math.floor(place), 1);
  return mixed(stops[low], stops[low + 1], place - low);
}

/** The colours of the kinds. @param {any} theme */
export function coloursOf({ phase, category }) {
  return [phase[3], phase[2], phase[4], category[6], category[4], category[5], phase[0]];
}

/** A bandwidth in words. @param {number} perSecond bytes */
export function speed(perSecond) {
  return perSecond ? `${Number((perSecond / 1e9).toPrecision(3))} GB/s` : "cut";
}
