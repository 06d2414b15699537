// A memory plan in the browser: its rectangles, and what can be asked of them.

/** What a tensor is; rows hold the numbers. */
export const ROLES = ["forward", "gradient", "recomputed"];

/**
 * @typedef {{name: string, op: string, role: number, first: number, last: number,
 *   offset: number, nbytes: number, block: number, over: boolean, reason: string,
 *   apart: string, layer: string, short: string, until: number}} Tensor
 * `short` is the name without what all names begin with; `until` is where it is last seen.
 */

/** The tensors of a state. @param {any} state @returns {Tensor[]} */
export function tensorsOf(state) {
  const tensors = state.tensors.map(
    ([name, op, role, first, last, offset, nbytes, block, over, reason, apart, layer]) => ({
      name,
      op,
      role,
      first,
      last,
      offset,
      nbytes,
      block,
      over: Boolean(over),
      reason,
      apart,
      layer,
      short: name.startsWith(state.prefix) ? name.slice(state.prefix.length) : name,
      until: last + 1,
    }),
  );
  // Where a result is written over another one, that one is seen up to there.
  for (const [i, tensor] of tensors.entries()) {
    for (const other of tensors.slice(0, i))
      if (tensor.over && other.block === tensor.block && other.first < tensor.first)
        other.until = Math.min(other.until, tensor.first);
  }
  return tensors;
}

/** The tensor at a step and a byte of the arena, -1 for none; of several that share the
 * place the one written last. @param {Tensor[]} tensors @param {number} step
 * @param {number} byte */
export function tensorAt(tensors, step, byte) {
  let found = -1;
  tensors.forEach((tensor, i) => {
    const inside =
      step >= tensor.first &&
      step < tensor.last + 1 &&
      byte >= tensor.offset &&
      byte < tensor.offset + tensor.nbytes;
    if (inside && (found < 0 || tensor.first >= tensors[found].first)) found = i;
  });
  return found;
}

/** The step at which the most bytes are needed. @param {number[]} needed */
export function peakStep(needed) {
  return needed.indexOf(Math.max(...needed));
}

/** The tensor before or after another one in the same block.
 * @param {Tensor[]} tensors @param {number} index @param {number} by */
export function neighbour(tensors, index, by) {
  const same = tensors
    .map((tensor, i) => (tensor.block === tensors[index].block ? i : -1))
    .filter((i) => i >= 0);
  return same[Math.min(same.length - 1, Math.max(0, same.indexOf(index) + by))];
}
