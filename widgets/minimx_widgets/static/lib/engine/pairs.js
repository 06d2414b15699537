// What the timelines of a pair, and the curves above them, share on this page.

const PAIRS = Symbol.for("minimx.pairs");

/**
 * @typedef {{times: string, moving: boolean, views: Set<any>, range: [number, number] | null,
 *   moves: EventTarget}} Pair `range`: what both show, in nanoseconds from the first push,
 *   or null where each shows its own; `moves` dispatches "move" when it changes
 */

/**
 * @param {string} name @param {string} times
 * @returns {Pair}
 */
export function pairOf(name, times) {
  const pairs = (globalThis[PAIRS] ??= new Map());
  if (!pairs.has(name))
    pairs.set(name, { times, moving: false, views: new Set(), range: null, moves: new EventTarget() });
  return pairs.get(name);
}

/** @param {Pair} pair @param {[number, number] | null} range */
export function moveTo(pair, range) {
  pair.range = range;
  pair.moves.dispatchEvent(new Event("move"));
}
