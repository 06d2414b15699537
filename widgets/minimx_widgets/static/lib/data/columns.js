// Events in the browser: typed columns that keep the newest and count what left.

const TYPES = {
  f8: Float64Array,
  f4: Float32Array,
  u4: Uint32Array,
  i4: Int32Array,
  u2: Uint16Array,
  u1: Uint8Array,
};

/**
 * One message's columns: the kernel names them with their types, the buffers follow.
 * Buffers arrive at any offset, typed arrays need an aligned one, so each is copied.
 * @param {[string, keyof typeof TYPES][]} layout
 * @param {DataView[]} buffers
 * @returns {Record<string, any>}
 */
export function unpack(layout, buffers) {
  const out = {};
  layout.forEach(([name, type], i) => {
    const view = buffers[i];
    const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
    out[name] = new TYPES[type](bytes);
  });
  return out;
}

/** Columns of equal length that grow up to a capacity, then forget the oldest half. */
export class Columns {
  /**
   * @param {Record<string, keyof typeof TYPES>} layout
   * @param {number} capacity
   */
  constructor(layout, capacity) {
    this.layout = layout;
    this.capacity = capacity;
    this.clear();
  }

  clear() {
    this.n = 0;
    /** How many rows left at the old end. */
    this.gone = 0;
    this.room = 1024;
    /** @type {Record<string, any>} */
    this.at = {};
    for (const [name, type] of Object.entries(this.layout)) {
      this.at[name] = new TYPES[type](this.room);
    }
  }

  /**
   * Add rows; returns how many old ones were forgotten to make room.
   * @param {Record<string, ArrayLike<number>>} rows
   */
  append(rows) {
    const names = Object.keys(this.layout);
    const added = rows[names[0]].length;
    let forgotten = 0;
    if (this.n + added > this.capacity) {
      forgotten = Math.min(
        this.n,
        Math.max(this.n + added - this.capacity, this.capacity >> 1),
      );
      for (const name of names) this.at[name].copyWithin(0, forgotten, this.n);
      this.n -= forgotten;
      this.gone += forgotten;
    }
    this.reserve(this.n + added);
    for (const name of names) this.at[name].set(rows[name], this.n);
    this.n += added;
    return forgotten;
  }

  /** @param {number} wanted */
  reserve(wanted) {
    if (wanted <= this.room) return;
    while (this.room < wanted) this.room *= 2;
    for (const [name, type] of Object.entries(this.layout)) {
      const wider = new TYPES[type](this.room);
      wider.set(this.at[name].subarray(0, this.n));
      this.at[name] = wider;
    }
  }
}
