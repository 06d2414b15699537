// What all views of one run share on this page: the selection and the visible time.

const RUNS = Symbol.for("minimx.runs");
const HOLD = 10_000; // milliseconds for which a turned knob stays in sight
const LEAD = 0.3; // how much of the usual width is shown of the time before it
const NARROWEST = 200; // nanoseconds
const TOLD = ["op", "opTime", "follow", "range", "cursor"];
const EASE = 0.85; // by how much a wide window narrows again with each move

/**
 * The state that views of a run agree on. `range` is the visible time in nanoseconds,
 * `follow` says that its right edge keeps up with the newest event.
 */
class Store extends EventTarget {
  constructor() {
    super();
    this.op = 0;
    /** When the selected operation started, in nanoseconds. @type {number | null} */
    this.opTime = null;
    this.now = 0;
    this.follow = true;
    this.span = 1e9;
    /** @type {[number, number]} */
    this.range = [0, 1e9];
    /** @type {number | null} */
    this.cursor = null;
    /** True once the reader chose how wide the following window is. */
    this.own = false;
    /** True while a reader's choice of a stretch is shown. */
    this.picked = false;
    /** @type {{from: number, until: number}[]} what is to stay in sight for a while */
    this.held = [];
    this.clock = () => performance.now();
    /** What it was before several changes that are announced as one. @type {any} */
    this.before = null;
  }

  /**
   * Change something and tell the views which keys changed.
   * @param {Partial<{op: number, opTime: number | null, follow: boolean, range: [number, number], cursor: number | null}>} patch
   */
  set(patch) {
    const keys = Object.keys(patch).filter((key) => !same(this[key], patch[key]));
    if (keys.length === 0) return;
    Object.assign(this, patch);
    if (patch.range) {
      this.span = this.range[1] - this.range[0];
      this.held = []; // the reader looks elsewhere
    }
    this.tell(keys);
  }

  /** @param {string[]} keys */
  tell(keys) {
    if (!this.before && keys.length) this.dispatchEvent(new CustomEvent("change", { detail: keys }));
  }

  /**
   * Make several changes and tell the views once, of what is another afterwards: they draw
   * nothing of what was in between.
   * @param {() => void} change
   */
  together(change) {
    this.before = Object.fromEntries(TOLD.map((key) => [key, this[key]]));
    const { before } = this;
    try {
      change();
    } finally {
      this.before = null;
    }
    this.tell(TOLD.filter((key) => !same(before[key], this[key])));
  }

  /** The newest event known is at `time`: following views move on. @param {number} time */
  advance(time) {
    if (time <= this.now) return;
    this.now = time;
    if (this.follow) this.move();
  }

  /** Something happened at `time` that is to stay in sight with what comes of it: a window
   * that follows widens for ten seconds. One that the reader chose stays as it is.
   * @param {number} time */
  hold(time) {
    if (!this.follow || this.own) return;
    this.held.push({ from: time - LEAD * this.span, until: this.clock() + HOLD });
    this.move();
  }

  /** Show the newest part. */
  move() {
    const now = this.clock();
    this.held = this.held.filter(({ until }) => until > now);
    const usual = this.now - this.span;
    const eased = this.now - EASE * (this.range[1] - this.range[0]);
    const low = this.held.length
      ? Math.min(usual, ...this.held.map(({ from }) => from))
      : Math.min(usual, Math.max(eased, this.range[0]));
    // There is nothing before the record began, so no window is wasted on it.
    /** @type {[number, number]} */
    const range = [Math.min(Math.max(low, 0), this.now - NARROWEST), this.now];
    if (same(this.range, range)) return;
    this.range = range;
    this.tell(["range"]);
  }

  /** A new record begins: time starts again. */
  restart() {
    this.now = 0;
    this.span = 1e9;
    this.own = false;
    this.picked = false;
    this.held = [];
    this.set({ op: 0, opTime: null, follow: true, range: [0, 1e9], cursor: null });
  }
}

/** @param {any} a @param {any} b */
function same(a, b) {
  return Array.isArray(a) && Array.isArray(b) ? a[0] === b[0] && a[1] === b[1] : a === b;
}

/**
 * The store of a run; views of the same run get the same one.
 * @param {string} run
 * @returns {Store}
 */
export function storeOf(run) {
  const runs = (globalThis[RUNS] ??= new Map());
  if (!runs.has(run)) runs.set(run, new Store());
  return runs.get(run);
}

/**
 * Zoom a range by `factor` about `centre`, or shift it by `share` of its width.
 * @param {[number, number]} range @param {number} factor @param {number} centre
 * @returns {[number, number]}
 */
export function zoomed(range, factor, centre) {
  return [centre + (range[0] - centre) * factor, centre + (range[1] - centre) * factor];
}

/** @param {[number, number]} range @param {number} share @returns {[number, number]} */
export function shifted(range, share) {
  const by = (range[1] - range[0]) * share;
  return [range[0] + by, range[1] + by];
}
