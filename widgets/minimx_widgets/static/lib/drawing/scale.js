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
  if (size >= 1e15) return value.toExponential(0);
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

/** Of shares above this one a scale of nines makes no difference: 100 % is at infinity. */
export const MOST = 0.9999;
/** Which shares a scale of nines labels, the most telling first. */
export const NINES = [0, 0.9, 0.99, 0.5, 0.999, 0.9999, 0.98, 0.95, 0.8, 0.995, 0.998, 0.97];

/** How many nines a share has: 0 % is 0, 90 % is 1, 99 % is 2. @param {number} share */
export function nines(share) {
  return -Math.log10(1 - Math.min(share, MOST));
}

/**
 * Shares between two bounds that are well apart on a scale of nines.
 * @param {number} low @param {number} high @param {number} count
 */
export function nineTicks(low, high, count) {
  const gap = (nines(high) - nines(low)) / count / 1.7;
  const found = [];
  for (const share of NINES) {
    const apart = found.every((one) => Math.abs(nines(share) - nines(one)) >= gap);
    if (low <= share && share <= high && apart && found.length < count) found.push(share);
  }
  return found.sort((a, b) => a - b);
}

/**
 * Round values between two bounds on a logarithmic axis.
 * @param {number} low @param {number} high @param {number} count
 */
export function logTicks(low, high, count) {
  if (!(low > 0 && high > low)) return [];
  let found = [];
  for (const parts of [[1, 2, 5], [1, 3], [1]]) {
    found = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1)
      found.push(...parts.map((part) => Number(`${part}e${k}`)));
    found = found.filter((value) => low <= value && value <= high);
    if (found.length <= count) return found;
  }
  return found.filter((_, i) => i % Math.ceil(found.length / count) === 0);
}

/** How values become heights, and back, and which of them are labelled. */
export const SCALES = {
  linear: { to: (v) => v, from: (h) => h, ticks },
  bytes: { to: (v) => v, from: (h) => h, ticks: (_, high, most) => byteTicks(high, most) },
  log: { to: (v) => (v > 0 ? Math.log10(v) : NaN), from: (h) => 10 ** h, ticks: logTicks },
  nines: { to: nines, from: (h) => 1 - 10 ** -h, ticks: nineTicks },
};
