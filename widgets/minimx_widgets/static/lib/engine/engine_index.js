// Operations of a lane in the order of time, with sums over 8, 64, 512, … neighbours, so
// that a picture of a million of them looks only at what it draws.

const FAN = 8;
const SUMS = ["start", "end", "busy", "longest"];

/** A typed array with room for so many numbers. */
function grown(/** @type {any} */ array, /** @type {number} */ wanted) {
  if (wanted <= array.length) return array;
  const wider = new array.constructor(Math.max(wanted, 2 * array.length, 64));
  wider.set(array);
  return wider;
}

/** The first place in a sorted list that is above `value`.
 * @param {(i: number) => number} at @param {number} n @param {number} value */
export function above(at, n, value) {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows of one lane, sorted by where they start. */
export class Lane {
  /** @param {(row: number) => number} start @param {(row: number) => number} end */
  constructor(start, end) {
    this.start = start;
    this.end = end;
    this.n = 0;
    this.rows = new Uint32Array(64);
    /** The latest end among the rows up to a place: what overlaps counts once. */
    this.reach = new Float64Array(64);
    /** Level k sums up 8^(k+1) rows: where they start and end, how long they keep the lane
     * busy, and which of them takes longest.
     * @type {{start: Float64Array, end: Float64Array, busy: Float64Array, longest: Uint32Array, made: number}[]} */
    this.levels = [];
  }

  /** Add rows; they may come in any order, but mostly are the newest. @param {number[]} fresh */
  add(fresh) {
    const { start } = this;
    for (let i = 1; i < fresh.length; i += 1) {
      if (start(fresh[i]) < start(fresh[i - 1])) {
        fresh.sort((a, b) => start(a) - start(b) || a - b);
        break;
      }
    }
    this.rows = grown(this.rows, this.n + fresh.length);
    const { rows } = this;
    const from = above((i) => start(rows[i]), this.n, start(fresh[0]));
    const late = rows.slice(from, this.n);
    let [a, b] = [0, 0];
    for (let to = from; to < this.n + fresh.length; to += 1) {
      const old =
        b >= fresh.length || (a < late.length && start(late[a]) <= start(fresh[b]));
      rows[to] = old ? late[a] : fresh[b];
      if (old) a += 1;
      else b += 1;
    }
    this.n += fresh.length;
    this.reach = grown(this.reach, this.n);
    for (let i = from; i < this.n; i += 1)
      this.reach[i] = Math.max(i ? this.reach[i - 1] : -Infinity, this.end(rows[i]));
    this.sumUp(from);
  }

  /** How long the row at a place keeps the lane busy between two moments, beyond what
   * rows before it do. @param {number} i @param {number} [low] @param {number} [high] */
  own(i, low = -Infinity, high = Infinity) {
    const from = Math.max(this.start(this.rows[i]), i ? this.reach[i - 1] : -Infinity, low);
    return Math.max(0, Math.min(this.end(this.rows[i]), high) - from);
  }

  /** Make the sums anew from a place on. @param {number} from */
  sumUp(from) {
    let count = this.n;
    let first = from;
    for (let k = 0; count > FAN; k += 1) {
      const blocks = Math.ceil(count / FAN);
      const level = (this.levels[k] ??= {
        start: new Float64Array(0),
        end: new Float64Array(0),
        busy: new Float64Array(0),
        longest: new Uint32Array(0),
        made: 0,
      });
      for (const name of SUMS) level[name] = grown(level[name], blocks);
      first = Math.min(Math.floor(first / FAN), level.made);
      level.made = blocks;
      for (let block = first; block < blocks; block += 1) this.sumUpOne(k, block, count);
      count = blocks;
    }
  }

  /** @param {number} k @param {number} block @param {number} count of what is below */
  sumUpOne(k, block, count) {
    let [end, busy, longest, most] = [-Infinity, 0, 0, -1];
    const below = this.levels[k - 1];
    const last = Math.min(count, (block + 1) * FAN);
    for (let i = block * FAN; i < last; i += 1) {
      const row = below ? below.longest[i] : this.rows[i];
      const took = this.end(row) - this.start(row);
      busy += below ? below.busy[i] : this.own(i);
      end = Math.max(end, below ? below.end[i] : this.end(row));
      if (took > most) [most, longest] = [took, row];
    }
    const level = this.levels[k];
    level.start[block] = below ? below.start[block * FAN] : this.start(this.rows[block * FAN]);
    level.end[block] = end;
    level.busy[block] = busy;
    level.longest[block] = longest;
  }

  /** How many there are of each level: of rows, of groups of 8, of 64, … */
  counts() {
    const counts = [this.n];
    while (counts[counts.length - 1] > FAN)
      counts.push(Math.ceil(counts[counts.length - 1] / FAN));
    return counts;
  }

  /**
   * What can be seen between two places: rows, and groups of rows that are together
   * narrower than `fine`.
   * @param {number} low @param {number} high @param {number} fine
   * @param {(row: number) => void} one
   * @param {(start: number, end: number, busy: number, longest: number) => void} group
   */
  visit(low, high, fine, one, group) {
    const { levels, rows, start, end } = this;
    const counts = this.counts();
    const look = (/** @type {number} */ k, /** @type {number} */ i) => {
      if (k === 0) {
        if (end(rows[i]) >= low && start(rows[i]) <= high) one(rows[i]);
        return;
      }
      const level = levels[k - 1];
      if (level.end[i] < low || level.start[i] > high) return;
      if (level.end[i] - level.start[i] < fine) {
        group(level.start[i], level.end[i], level.busy[i], level.longest[i]);
        return;
      }
      const last = Math.min(counts[k - 1], (i + 1) * FAN);
      for (let j = i * FAN; j < last; j += 1) look(k - 1, j);
    };
    const top = counts.length - 1;
    for (let i = 0; i < counts[top]; i += 1) look(top, i);
  }

  /** How long the lane was busy between two places. @param {number} low @param {number} high */
  busy(low, high) {
    const { levels } = this;
    // A group inside counts as a whole; only those at the edges are looked into.
    const part = (/** @type {number} */ k, /** @type {number} */ i) => {
      if (k === 0) return this.own(i, low, high);
      const level = levels[k - 1];
      if (level.end[i] <= low || level.start[i] >= high) return 0;
      if (level.start[i] >= low && level.end[i] <= high) return level.busy[i];
      let sum = 0;
      const last = Math.min(counts[k - 1], (i + 1) * FAN);
      for (let j = i * FAN; j < last; j += 1) sum += part(k - 1, j);
      return sum;
    };
    const counts = this.counts();
    let sum = 0;
    for (let i = 0; i < counts[counts.length - 1]; i += 1) sum += part(counts.length - 1, i);
    return sum;
  }

  /** The place of the first row that starts after `value`. @param {number} value */
  after(value) {
    return above((i) => this.start(this.rows[i]), this.n, value);
  }

  /** The row that is nearest to `value`, at most `reach` away, or -1.
   * @param {number} value @param {number} reach */
  nearest(value, reach) {
    const next = this.after(value + reach);
    let [found, least] = [-1, reach];
    // What started long ago may still run where lanes overlap; 64 back is far enough.
    for (let i = Math.min(next, this.n) - 1; i >= 0; i -= 1) {
      const row = this.rows[i];
      const [from, to] = [this.start(row), this.end(row)];
      const away = value < from ? from - value : Math.max(0, value - to);
      if (away < least || (away === 0 && found < 0)) [found, least] = [row, away];
      if (from < value - reach && (least === 0 || next - i > 64)) break;
    }
    return found;
  }
}

/** Numbers in order, such as the moments of pushes. */
export class Sorted {
  constructor() {
    this.n = 0;
    this.at = new Float64Array(64);
  }

  /** @param {Float64Array} fresh */
  add(fresh) {
    if (fresh.length === 0) return;
    fresh.sort();
    this.at = grown(this.at, this.n + fresh.length);
    const { at } = this;
    const from = above((i) => at[i], this.n, fresh[0]);
    const late = at.slice(from, this.n);
    let [a, b] = [0, 0];
    for (let to = from; to < this.n + fresh.length; to += 1) {
      const old = b >= fresh.length || (a < late.length && late[a] <= fresh[b]);
      at[to] = old ? late[a] : fresh[b];
      if (old) a += 1;
      else b += 1;
    }
    this.n += fresh.length;
  }

  /** How many there are up to `value`. @param {number} value */
  upTo(value) {
    return above((i) => this.at[i], this.n, value);
  }
}
