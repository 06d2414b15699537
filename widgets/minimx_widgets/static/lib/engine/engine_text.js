// What the engine timeline says in words: about an operation, and about a stretch of time.

import { busy } from "./engine_data.js";
import { idleCauses } from "./engine_tools.js";
import { tipHead, tipRow } from "../page/frame.js";
import { PHASES } from "../data/live.js";
import { duration, percent } from "../drawing/scale.js";

/** About an operation. @param {any} view @param {number} row */
export function aboutOperation(view, row) {
  const { data, palette } = view;
  const { at } = data.ops;
  const { strings } = data;
  const holder = data.holderOf(row);
  const whole = holder < 0 ? "" : `${strings[at.name[holder]]} #${at.op[holder]}`;
  const forward = at.forward[row] ? `, gradient of #${at.forward[row]}` : "";
  const lines = [
    tipHead(strings[at.name[row]], palette[view.colourOf(row) % palette.length]),
    tipRow("layer", strings[at.layer[row]] || "none"),
    tipRow("phase", PHASES[at.phase[row]]),
    tipRow("took", duration(at.end[row] - at.start[row])),
    tipRow("waited for data", duration(Math.max(0, at.ready[row] - at.push[row]))),
    tipRow("in queue", duration(Math.max(0, at.start[row] - at.ready[row]))),
    tipRow("started at", duration(at.start[row])),
    tipRow("operation", `#${at.op[row]}${forward}`),
    whole ? tipRow("joined with others in", whole) : null,
    at.failed[row] ? tipRow("failed", "its error is raised at the next wait") : null,
  ];
  return lines.filter((line) => line !== null);
}

/**
 * How long each operator ran between two moments; those that only hold others do not count,
 * as their members do.
 * @param {any} data @param {[number, number]} time
 * @returns {[string, number][]} the longest first
 */
export function longest(data, [low, high]) {
  const { at, n } = data.ops;
  const byName = new Float64Array(data.strings.length);
  for (let i = 0; i < n; i += 1) {
    if (at.holds[i] || at.end[i] <= low || at.start[i] >= high) continue;
    byName[at.name[i]] += Math.min(at.end[i], high) - Math.max(at.start[i], low);
  }
  return Array.from(byName, (ns, i) => /** @type {[string, number]} */ ([data.strings[i], ns]))
    .filter(([, ns]) => ns > 0)
    .sort((a, b) => b[1] - a[1]);
}

/** How long operations of each phase ran between two moments. @returns {[string, number][]} */
export function byPhase(data, [low, high]) {
  const { at, n } = data.ops;
  const sums = new Float64Array(PHASES.length);
  for (let i = 0; i < n; i += 1) {
    if (at.holds[i] || at.end[i] <= low || at.start[i] >= high) continue;
    sums[at.phase[i]] += Math.min(at.end[i], high) - Math.max(at.start[i], low);
  }
  return PHASES.map((name, i) => /** @type {[string, number]} */ ([name, sums[i]]))
    .filter(([, ns]) => ns > 0)
    .sort((a, b) => b[1] - a[1]);
}

/** Idle time of the lanes by its cause, as lines. */
function idle(data, lanes, time) {
  const causes = idleCauses(data, lanes, time);
  const words = [
    ["idle: nothing was pushed", causes.unpushed + causes.rest],
    ["idle: waited for another", causes.waiting],
    ["idle: ready, not started", causes.late],
  ];
  return words.filter(([, ns]) => ns > 0).map(([word, ns]) => tipRow(word, duration(ns)));
}

/** The busy share, phases, longest operators and idle time between two moments.
 * @param {any} view @param {[number, number]} time */
export function aboutStretch({ data, theme }, time) {
  const used = busy(data, time);
  const span = time[1] - time[0];
  return [
    tipHead(duration(span), theme.accent),
    ...data.laneOrder
      .filter((lane) => used[lane] > 0)
      .map((lane) => tipRow(data.label(lane), percent(used[lane] / span))),
    ...byPhase(data, time).map(([name, ns]) => tipRow(name, duration(ns))),
    ...longest(data, time)
      .slice(0, 4)
      .map(([name, ns]) => tipRow(name, duration(ns))),
    ...idle(data, data.laneOrder.filter((lane) => used[lane] > 0), time),
  ];
}
