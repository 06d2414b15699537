// The roofline: operations per byte to the right, operations per second upwards, both by powers.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 46;
const TOP = 8;
const RIGHT = 18; // half of the last number
const BOTTOM = 34;

/** @param {string} tag @param {Record<string, any>} attributes @param {string} [text] */
function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}

/** The powers of ten round some values. @param {number[]} values @returns {[number, number]} */
export function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.ceil(Math.log10(Math.max(...values)) + 0.1);
  return [low, Math.max(high, low + 1)];
}

/** A rate with a prefix: 2.5e7 is "25 M". @param {number} rate */
export function rateWords(rate) {
  for (const [size, prefix] of [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (rate >= size) return `${Number((rate / size).toPrecision(3))} ${prefix}`;
  return `${Number(rate.toPrecision(3))} `;
}

/**
 * Where a point of the plot is, in pixels.
 * @param {any} state @param {number} width @param {number} height
 */
export function scaleOf(state, width, height) {
  const shown = state.operators.filter((each) => each.flops && each.ns);
  const ridges = state.roofs.map(([flops, bandwidth]) => flops / bandwidth);
  const across = [...shown.map((each) => each.intensity), ...ridges];
  const upwards = [...shown.map((each) => each.rate), ...state.roofs.map(([flops]) => flops)];
  const xs = decades(across.length ? across : [0.1, 10]);
  const ys = decades(upwards.length ? upwards : [1e6, 1e9]);
  const part = (value, [low, high]) => (Math.log10(value) - low) / (high - low);
  return {
    xs,
    ys,
    x: (value) => LEFT + (width - LEFT - RIGHT) * part(value, xs),
    y: (value) => TOP + (height - TOP - BOTTOM) * (1 - part(value, ys)),
  };
}

/**
 * The operators as points: [x, y, index].
 * @param {any} state @param {number} width @param {number} height
 * @returns {[number, number, number][]}
 */
export function dots(state, width, height) {
  const scale = scaleOf(state, width, height);
  return state.operators.flatMap((each, i) =>
    each.flops && each.ns ? [[scale.x(each.intensity), scale.y(each.rate), i]] : [],
  );
}

/**
 * The index of the point nearest to a place, -1 if none is within reach.
 * @param {[number, number, number][]} points @param {number} x @param {number} y
 * @param {number} reach
 */
export function nearest(points, x, y, reach) {
  let best = -1;
  let closest = reach;
  for (const [px, py, index] of points) {
    const far = Math.hypot(px - x, py - y);
    if (far < closest) [best, closest] = [index, far];
  }
  return best;
}

/**
 * The corners of a roof between the edges of the plot, as intensities and rates.
 * @param {number} flops @param {number} bandwidth @param {[number, number]} xs
 * @param {[number, number]} ys @returns {[number, number][]}
 */
export function corners(flops, bandwidth, xs, ys) {
  const ridge = flops / bandwidth;
  const left = 10 ** xs[0];
  const low = Math.max(left, 10 ** ys[0] / bandwidth);
  /** @type {[number, number][]} */
  const found = low < ridge ? [[low, low * bandwidth]] : [];
  return [...found, [Math.max(ridge, left), flops], [10 ** xs[1], flops]];
}

/** The whole plot. @param {any} state @param {number} width @param {number} height */
export function roofline(state, width, height) {
  const scale = scaleOf(state, width, height);
  const svg = shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "mx-roof",
    role: "img",
    "aria-label": "Operators under the roof",
  });
  const [left, right] = scale.xs.map((power) => scale.x(10 ** power));
  const [low, high] = scale.ys.map((power) => scale.y(10 ** power));
  for (let power = scale.xs[0]; power <= scale.xs[1]; power += 1) {
    const x = scale.x(10 ** power);
    const words = String(Number((10 ** power).toPrecision(1)));
    svg.append(shape("path", { class: "mx-roof-grid", d: `M${x} ${low}V${high}` }));
    svg.append(shape("text", { x, y: low + 13, "text-anchor": "middle" }, words));
  }
  for (let power = scale.ys[0]; power <= scale.ys[1]; power += 1) {
    const y = scale.y(10 ** power);
    svg.append(shape("path", { class: "mx-roof-grid", d: `M${left} ${y}H${right}` }));
    svg.append(shape("text", { x: left - 5, y: y + 3, "text-anchor": "end" }, rateWords(10 ** power)));
  }
  svg.append(
    shape("text", { x: right, y: low + 27, "text-anchor": "end" }, "operations per byte →"),
    shape("text", { x: 2, y: low + 27 }, "↑ operations per second"),
  );
  for (const [flops, bandwidth] of state.roofs) {
    const points = corners(flops, bandwidth, scale.xs, scale.ys);
    const path = points.map(([x, y]) => `${scale.x(x)},${scale.y(y)}`).join(" ");
    svg.append(shape("polyline", { class: "mx-roof-line", points: path }));
  }
  for (const [cx, cy, index] of dots(state, width, height)) {
    const each = state.operators[index];
    const dot = shape("circle", { class: "mx-roof-dot", cx, cy, r: 4.5 });
    dot.style.setProperty("--dot", `var(--mx-bucket-${state.buckets.indexOf(each.kind)})`);
    Object.assign(dot.dataset, {
      kind: "operators",
      index: String(index),
      guessed: String(2 * each.guessed > each.ns),
    });
    svg.append(dot);
  }
  return svg;
}
