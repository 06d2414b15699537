// Numbers to pixels and numbers to words: pure functions, tested with `node --test`.

/**
 * Round steps that divide [low, high] into at most `count` parts: 1, 2 or 5 times ten.
 * @param {number} low @param {number} high @param {number} count
 * @returns {number[]}
 */
export function ticks(low, high, count) {
  if (!(high > low) || count < 1) return [];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? power * 10;
  const out = [];
  for (
    let k = Math.ceil(low / step - 1e-9);
    k * step <= high * (1 + 1e-12) + step * 1e-9;
    k += 1
  ) {
    out.push(k * step + 0); // never minus zero
  }
  return out;
}

/**
 * Round steps in powers of two, for bytes.
 * @param {number} high @param {number} count
 */
export function byteTicks(high, count) {
  if (!(high > 0)) return [];
  let step = 1;
  while (high / step > count) step *= 2;
  const out = [];
  for (let v = 0; v <= high; v += step) out.push(v);
  return out;
}

/** The smallest round number that is not below `value`, so that axes do not tremble.
 * @param {number} value */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 2 ** Math.floor(Math.log2(value));
  for (const part of [1, 1.25, 1.5, 1.75, 2]) {
    if (part * power >= value) return part * power;
  }
  return 2 * power;
}

/** @param {number} value */
function short(value) {
  const size = Math.abs(value);
  if (size % 1 === 0.5 && size >= 100) return String(2 * Math.round(value / 2)); // as Python
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Bytes in words: 131072 is "128 KiB". @param {number} count */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = count;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value.toFixed(0) : short(value)} ${units[unit]}`;
}

/** Nanoseconds in words: 1500 is "1.50 µs". @param {number} ns */
export function duration(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns.toFixed(0)} ns`;
  if (size < 1e6) return `${short(ns / 1e3)} µs`;
  if (size < 1e9) return `${short(ns / 1e6)} ms`;
  return `${short(ns / 1e9)} s`;
}

/**
 * A point in time on an axis whose ticks are `step` nanoseconds apart.
 * @param {number} ns @param {number} step
 */
export function moment(ns, step) {
  if (step >= 1e9) return `${(ns / 1e9).toFixed(0)} s`;
  if (step >= 1e6) return `${(ns / 1e9).toFixed(Math.ceil(9 - Math.log10(step)))} s`;
  if (step >= 1e3) return `${(ns / 1e6).toFixed(Math.ceil(6 - Math.log10(step)))} ms`;
  return `${(ns / 1e3).toFixed(step >= 100 ? 1 : 3)} µs`;
}

/** A count in words: 12800 is "12.8 k". @param {number} value */
export function count(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${short(value / 1e9)} G`;
  if (size >= 1e6) return `${short(value / 1e6)} M`;
  if (size >= 1e4) return `${short(value / 1e3)} k`;
  return short(value);
}

/** A share of one in per cent. @param {number} value */
export function percent(value) {
  return `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`;
}

/**
 * The first index in the ascending `values[0..n)` whose value is not below `wanted`.
 * @param {ArrayLike<number>} values @param {number} n @param {number} wanted
 */
export function lowerBound(values, n, wanted) {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
