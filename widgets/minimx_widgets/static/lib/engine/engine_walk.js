// From operation to operation by keys.

/** Select the next operation of the lane, or the one before.
 * @param {any} view @param {number} by 1 or -1 */
export function walk(view, by) {
  const { at, n } = view.data.ops;
  let row = view.data.rowOf(view.data.store.op);
  if (row < 0) row = by > 0 ? -1 : n;
  const lane = row >= 0 && row < n ? at.lane[row] : -1;
  for (let i = row + by; i >= 0 && i < n; i += by) {
    if (!at.holds[i] && (lane < 0 || at.lane[i] === lane)) return view.select(i);
  }
  return undefined;
}

/** Select the operation of about the same time in the lane above or below.
 * @param {any} view @param {number} by 1 or -1 */
export function climb(view, by) {
  const { at } = view.data.ops;
  const row = view.data.rowOf(view.data.store.op);
  if (row < 0) return walk(view, 1);
  const order = view.lanes;
  for (let k = order.indexOf(at.lane[row]) + by; k >= 0 && k < order.length; k += by) {
    const lane = view.data.byTime[order[k]];
    if (!lane?.n) continue;
    const next = lane.after(at.start[row]);
    const near = [next - 1, next].filter((i) => i >= 0 && i < lane.n);
    const away = (/** @type {number} */ i) =>
      Math.abs(at.start[lane.rows[i]] - at.start[row]);
    near.sort((a, b) => away(a) - away(b));
    return view.select(lane.rows[near[0]]);
  }
  return undefined;
}
