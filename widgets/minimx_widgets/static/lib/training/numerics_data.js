// Looks at arrays, as the numerics monitor draws them: rows of counts by power of two.

import { RunData } from "../data/live.js";

export const KINDS = ["weight", "activation", "gradient"];
/** What becomes of numbers in a type, from the smallest to the largest. */
export const ZONES = ["zero", "subnormal", "normal", "overflow"];
export const RECORDED = 99; // as a scale: none is tried
const KEPT = 40_000; // looks

/**
 * @typedef {{look: number, step: number, kind: string, layer: string, name: string,
 *   used: string, scale: number, size: number, zeros: number, infinite: number,
 *   nan: number, squares: number, powers: number[], counts: number[]}} Look
 * @typedef {{label: string, layer: string, names: string[], dtype: string, size: number,
 *   zeros: number, infinite: number, nan: number, squares: number,
 *   recorded: Map<number, number>, shown: Map<number, number>, shares: number[]}} Row
 */

export class NumericsData extends RunData {
  reset() {
    super.reset();
    /** @type {Map<number, Look>} */
    this.looks = new Map();
    /** @type {Map<string, Map<number, Look[]>>} kind -> step -> looks */
    this.byStep = new Map(KINDS.map((kind) => [kind, new Map()]));
    /** @type {{step: number, scale: number, skipped: boolean, tensor: string,
     *   layer: string, many: number}[]} */
    this.scaling = [];
    /** @type {Record<string, [number, number, number]>} type -> lowest, normal, highest */
    this.layouts = {};
    /** @type {Map<string, [number, number]>} kind -> lowest, highest power ever seen */
    this.spans = new Map();
  }

  /** @param {any} tables @param {any} header */
  add({ tensors, exponents, scaling }, header) {
    if (header.layouts) this.layouts = header.layouts;
    const text = (/** @type {number} */ number) => this.strings[number];
    for (let i = 0; i < (tensors?.look.length ?? 0); i += 1) {
      const look = {
        powers: [],
        counts: [],
        kind: text(tensors.kind[i]),
        layer: text(tensors.layer[i]),
        name: text(tensors.name[i]),
        used: text(tensors.used[i]),
      };
      for (const name of ["look", "step", "scale", "size", "zeros", "infinite", "nan", "squares"])
        look[name] = tensors[name][i];
      this.keep(/** @type {Look} */ (look));
    }
    for (let i = 0; i < (exponents?.look.length ?? 0); i += 1) {
      const look = this.looks.get(exponents.look[i]);
      if (!look) continue;
      look.powers.push(exponents.power[i]);
      look.counts.push(exponents.count[i]);
      const span = this.spans.get(look.kind) ?? [Infinity, -Infinity];
      this.spans.set(look.kind, [
        Math.min(span[0], exponents.power[i]),
        Math.max(span[1], exponents.power[i]),
      ]);
    }
    for (let i = 0; i < (scaling?.step.length ?? 0); i += 1)
      this.scaling.push({
        step: scaling.step[i],
        scale: scaling.scale[i],
        skipped: scaling.skipped[i] > 0,
        tensor: text(scaling.tensor[i]),
        layer: text(scaling.layer[i]),
        many: scaling.many[i],
      });
  }

  /** @param {Look} look */
  keep(look) {
    this.looks.set(look.look, look);
    const steps = this.byStep.get(look.kind);
    if (!steps) return;
    if (!steps.has(look.step)) steps.set(look.step, []);
    steps.get(look.step)?.push(look);
    if (this.looks.size <= KEPT) return;
    for (const [kind, known] of this.byStep) {
      const [first] = known.keys();
      if (known.size < 2) continue;
      for (const old of known.get(first) ?? []) this.looks.delete(old.look);
      this.byStep.get(kind)?.delete(first);
    }
  }

  /** The steps in which this kind was looked at, in order. @param {string} kind */
  steps(kind) {
    return [...(this.byStep.get(kind)?.keys() ?? [])];
  }

  /** All steps that are known: of looks and of scaled losses. @returns {[number, number]} */
  get range() {
    const steps = [...KINDS.flatMap((kind) => this.steps(kind)), ...this.scaling.map((s) => s.step)];
    if (!steps.length) return [0, 1];
    const low = steps.reduce((a, b) => Math.min(a, b));
    return [low, Math.max(low + 1, steps.reduce((a, b) => Math.max(a, b)))];
  }

  /**
   * The lines of the picture; see `NumericsMonitor.rows`.
   * @param {{kind: string, dtype: string, unit: string, scale: number}} settings
   * @param {number} step
   * @returns {Row[]}
   */
  rows({ kind, dtype, unit, scale }, step) {
    /** @type {Map<string, Look[]>} */
    const groups = new Map();
    for (const look of this.byStep.get(kind)?.get(step) ?? []) {
      const key = unit === "layers" ? look.layer : `${look.layer} ${look.name}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key)?.push(look);
    }
    return [...groups.values()].map((group) => {
      const type = dtype === "in use" ? group[0].used : dtype;
      const short = group[0].layer.split("/").slice(1).join("/") || group[0].layer;
      const { name } = group[0];
      const part = kind === "activation" ? name.replace(/^output( of)?/, "") : `.${name.split("_").at(-1)}`;
      const row = {
        label: unit === "tensors" ? short + part : short,
        layer: group[0].layer,
        names: group.map((look) => look.name),
        dtype: type,
        size: sum(group, "size"),
        zeros: sum(group, "zeros"),
        infinite: sum(group, "infinite"),
        nan: sum(group, "nan"),
        squares: group.reduce((all, look) => all + look.squares / look.scale ** 2, 0),
        recorded: new Map(),
        shown: new Map(),
        shares: [0, 0, 0, 0],
      };
      for (const look of group) {
        const shift = shiftOf(look, scale);
        look.powers.forEach((power, i) => {
          row.recorded.set(power, (row.recorded.get(power) ?? 0) + look.counts[i]);
          row.shown.set(power + shift, (row.shown.get(power + shift) ?? 0) + look.counts[i]);
        });
      }
      row.shares = shares(row, this.layouts[type]);
      return row;
    });
  }

  /** The largest scale, as a power of two, at which no gradient of a step overflows;
   * unknown where some did. @param {number} step @param {string} dtype @returns {number | null} */
  highestScale(step, dtype) {
    const layout = this.layouts[dtype];
    let found = Infinity;
    for (const look of this.byStep.get("gradient")?.get(step) ?? [])
      if (look.infinite + look.nan) return null;
      else if (look.powers.length)
        found = Math.min(
          found,
          Math.round(Math.log2(look.scale)) + layout[2] - look.powers.reduce((a, b) => Math.max(a, b)),
        );
    return Number.isFinite(found) ? found : null;
  }

  /** Steps and lengths of the gradients, of one layer or of all. @param {string} [layer] */
  norms(layer) {
    const xs = [];
    const ys = [];
    for (const [step, looks] of this.byStep.get("gradient") ?? []) {
      const chosen = layer ? looks.filter((look) => look.layer === layer) : looks;
      if (!chosen.length) continue;
      xs.push(step);
      ys.push(Math.sqrt(chosen.reduce((all, look) => all + look.squares / look.scale ** 2, 0)));
    }
    return { xs, ys };
  }
}

/** By how many places a scale that is tried moves a histogram. @param {Look} look @param {number} scale */
export function shiftOf(look, scale) {
  if (scale === RECORDED || look.kind !== "gradient") return 0;
  return scale - Math.round(Math.log2(look.scale));
}

/** The zone of a power: its place in `ZONES`. @param {number} power
 * @param {[number, number, number]} layout */
export function zoneOf(power, [lowest, normal, highest]) {
  if (power > highest) return 3;
  if (power >= normal) return 2;
  return power >= lowest ? 1 : 0;
}

/** @param {any} row @param {[number, number, number]} layout */
function shares(row, layout) {
  const found = [0, 0, 0, row.infinite + row.nan];
  for (const [power, count] of row.shown) found[zoneOf(power, layout)] += count;
  const whole = row.size - row.zeros || 1;
  return found.map((many) => many / whole);
}

/** @param {any[]} rows @param {string} name */
function sum(rows, name) {
  return rows.reduce((all, row) => all + row[name], 0);
}
