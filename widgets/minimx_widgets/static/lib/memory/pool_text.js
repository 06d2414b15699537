// What the pool map says in words: tooltips, key numbers, legend.

import { tipHead, tipRow } from "../page/frame.js";
import { PHASES } from "../data/live.js";
import { CATEGORIES } from "./memory_data.js";
import { STATES, WORDS, sizeClasses } from "./pool_data.js";
import { bytes, duration, percent } from "../drawing/scale.js";

/** What of an allocation's facts the block itself does not say. */
const MORE = ["", "line", "lived", "written by", "read last by", "reads"];

/** About the blocks of one size. @param {any} view @param {number} size */
export function aboutClass(view, size) {
  const one = sizeClasses(view.held.mine).find((known) => known.size === size);
  const shadow = sizeClasses(view.held.ghost).find((known) => known.size === size);
  const waste = one ? one.counts[0] * size - one.requested : 0;
  return [
    tipHead(`Blocks of ${bytes(size)}`),
    ...STATES.map((state, k) => tipRow(state, String(one?.counts[k] ?? 0))),
    tipRow("wasted by rounding", bytes(waste)),
    tipRow("holds", bytes(one?.nbytes ?? 0)),
    ...(view.data.ghost ? [tipRow("ghost holds", bytes(shadow?.nbytes ?? 0))] : []),
    tipRow("", "click: the lives of these blocks"),
  ];
}

/** About a block at the play head; with what the kernel told of its allocation, if it did.
 * @param {any} view @param {any} block @param {[string, string][]} [facts] */
export function aboutBlock(view, block, facts = []) {
  const { at } = view.history;
  const { strings } = view.data;
  const { row, state } = block;
  return [
    tipHead(`${bytes(block.size)}, ${STATES[state]}`, view.theme.category[at.category[row]]),
    ...(state ? [] : [tipRow("asked for", bytes(block.requested))]),
    tipRow(state ? "was lent to" : "operator", strings[at.owner[row]] || "unknown"),
    tipRow("layer", strings[at.layer[row]] || "none"),
    tipRow("phase", PHASES[at.phase[row]]),
    tipRow("memory for", CATEGORIES[at.category[row]]),
    tipRow("address", block.address.toLocaleString("en")),
    tipRow(state ? "came back" : "lent", `step ${at.step[row]}, ${duration(at.t[row])}`),
    ...facts.filter(([label]) => MORE.includes(label)).map(([label, text]) => tipRow(label, text)),
  ];
}

/** About an event. @param {any} view @param {number} row */
export function aboutEvent(view, row) {
  if (row < 0) return [tipHead("before the first event")];
  const { history, data } = view;
  const { at } = history;
  const who = data.strings[at.owner[row]] || "unknown";
  return [
    tipHead(`${bytes(at.size[row])} ${WORDS[at.event[row]]} · ${who}`),
    tipRow("layer", data.strings[at.layer[row]] || "none"),
    tipRow("at", `step ${at.step[row]}, ${duration(at.t[row])}`),
    tipRow("in use", `${bytes(history.lent[row])} of ${bytes(history.reserved[row])}`),
    tipRow("driver calls so far", String(history.alloc[row])),
  ];
}

/** The numbers of the head, at the play head. @param {any} view
 * @returns {[string, string][]} */
export function headNumbers(view) {
  const { history, data, now: row } = view;
  const { ghost, header } = data;
  const calls = history.after("alloc", row);
  const hits = history.after("hit", row);
  /** @type {[string, string][]} */
  const numbers = [
    ["reserved", bytes(history.after("reserved", row))],
    ["in use", bytes(history.after("lent", row))],
    ["wasted", bytes(history.after("lent", row) - history.after("asked", row))],
    ["driver calls", String(calls)],
    ["used again", percent(calls + hits ? hits / (calls + hits) : 0)],
    ["flushes", String(history.after("flush", row))],
  ];
  if (history.after("oom", history.n - 1))
    numbers.push(["refused", String(history.after("oom", row))]);
  if (ghost) {
    const at = view.rowOf(ghost);
    const held = bytes(ghost.after("reserved", at));
    numbers.push([`ghost: ${header.ghost}`, `${held}, ${ghost.after("alloc", at)} calls`]);
  }
  return numbers;
}

/** @param {any} history @param {string} ghost @param {any} theme
 * @returns {[string, string, string?][]} */
export function legend(history, ghost, theme) {
  /** @type {[string, string, string?][]} */
  const entries = CATEGORIES.map((name, i) => [name, theme.category[i]]);
  return [
    ...entries.filter((_, i) => history.at.category.includes(i)),
    ["wasted by rounding", theme.alert],
    ["cached", theme.edge],
    ["stranded (hatched)", theme.muted],
    ["reserved", theme.ink, "line"],
    ...(ghost ? [[`ghost: ${ghost}`, theme.mark, "dash"]] : []),
  ];
}
