// How large the numbers of a network are, layer by layer, and what a type makes of them.

import { button, el } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { liveView } from "./lib/data/live.js";
import { NumericsData, RECORDED, ZONES, shiftOf } from "./lib/training/numerics_data.js";
import {
  BELOW,
  TOP,
  kindColour,
  laneBoxes,
  nearestStep,
  paintLanes,
  paintRows,
  percent3,
  powerAxis,
  scientific,
  skippedNear,
  stepAxis,
  superscript,
  zoneColours,
} from "./lib/training/numerics_paint.js";
import { count } from "./lib/drawing/scale.js";
import { Surface } from "./lib/drawing/surface.js";

const KINDS = ["weight", "activation", "gradient"];
const WORDS = { weight: "weights", activation: "activations", gradient: "gradients" };
const TYPES = ["in use", "float16", "bfloat16", "float32"];
const LOWEST = -12;
const HIGHEST = 24;
const HELP =
  "Every number has a power of two: 0.3 lies from 2⁻² up to 2⁻¹. A row counts a layer's numbers " +
  "by power; heights are logarithmic, so that one in ten thousand is seen. The shaded zones " +
  "belong to the type in which the layer computes, or to one that you try: what lies left of all " +
  "becomes zero, subnormal numbers lose digits, what lies right of all overflows. A loss scale " +
  "moves gradients to the right: the slider shows where they would lie under another one; what " +
  "is zero already stays zero. The outline is what was recorded. Below, red dots are steps that " +
  "were skipped: click one to see what overflowed. The dotted line is the largest scale at which " +
  "no gradient of that step would overflow in float16.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "previous, next look"],
  ["Home End", "first, newest look"],
  ["↑ ↓", "previous, next row"],
  ["Enter", "mark the newest operation of the row's layer in all views"],
  ["1 2 3", "weights, activations, gradients"],
  ["Z", "zones of the next type"],
  ["- +", "half, twice the loss scale"],
  ["X", "the recorded scale"],
  ["L", "layers, tensors"],
  ["S", "next skipped step"],
  ["T", "table"],
];

class NumericsView {
  constructor({ model, el: host, data, signal }) {
    this.model = model;
    this.data = data;
    this.signal = signal;
    this.kind = model.get("kind");
    this.dtype = model.get("dtype");
    this.unit = model.get("unit");
    this.scale = model.get("scale");
    this.at = model.get("at");
    this.rowHeight = model.get("height");
    this.pointed = -1; // row under the pointer or chosen by key
    this.picked = -1; // a skipped step
    /** @type {any[]} */
    this.rows = [];
    this.frame = new Frame({
      el: host,
      model,
      title: "Numbers",
      name: "numerics",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.repaint(),
    });
    this.addTools();
    const scroll = el("div", { class: "mx-numerics-rows" });
    this.frame.picture.append(scroll);
    this.surface = new Surface({
      parent: scroll,
      height: 120,
      signal,
      draw: (ctx, width) => this.drawRows(ctx, width),
    });
    this.said = el("div", { class: "mx-why-line", role: "status" });
    this.frame.picture.append(this.said);
    this.lanes = new Surface({
      parent: this.frame.picture,
      height: 150,
      signal,
      draw: (ctx, width, height) => this.drawLanes(ctx, width, height),
    });
    this.listen();
    const marked = () => this.repaint();
    model.on("change:marked", marked);
    signal.addEventListener("abort", () => model.off("change:marked", marked), { once: true });
  }

  addTools() {
    const { signal } = this;
    this.kinds = this.frame.addChoice("Numbers", Object.values(WORDS), WORDS[this.kind], (word) =>
      this.set({ kind: KINDS.find((kind) => WORDS[kind] === word) }),
    );
    this.types = this.frame.addChoice("Zones of", TYPES, this.dtype, (dtype) => this.set({ dtype }));
    this.units = this.frame.addChoice("Rows", ["layers", "tensors"], this.unit, (unit) =>
      this.set({ unit }),
    );
    this.slider = el("input", {
      type: "range",
      min: String(LOWEST),
      max: String(HIGHEST),
      step: "1",
      "aria-label": "Loss scale, as a power of two",
      signal,
      oninput: () => this.set({ scale: Number(this.slider.value) }),
    });
    this.power = el("output", { class: "mx-count" });
    this.trial = el(
      "label",
      { class: "mx-trial mx-numerics-scale", title: "Show gradients under another loss scale" },
      el("span", { class: "mx-trial-name", text: "scale" }),
      this.slider,
      this.power,
    );
    this.back = button({
      label: "",
      icon: "reset",
      title: "The recorded scale (X)",
      signal,
      onclick: () => this.set({ scale: RECORDED }),
    });
    this.frame.addTool(this.trial);
    this.frame.addTool(this.back);
  }

  listen() {
    const { signal } = this;
    const { node } = this.surface;
    node.addEventListener("pointermove", (event) => this.hoverRow(event), { signal });
    node.addEventListener("pointerleave", () => this.point(-1), { signal });
    node.addEventListener("click", () => this.mark(), { signal });
    const lanes = this.lanes.node;
    lanes.addEventListener("pointerdown", (event) => this.press(event), { signal });
    lanes.addEventListener("pointermove", (event) => this.hoverLane(event), { signal });
    lanes.addEventListener("pointerleave", () => this.frame.hideTip(), { signal });
  }

  /** @param {() => void} [painted] */
  update(painted) {
    this.repaint(painted);
  }

  /** @param {() => void} [painted] */
  repaint(painted) {
    if (!this.lanes) return;
    this.refresh();
    this.surface.invalidate();
    this.lanes.invalidate(painted);
  }

  /** Change what is shown, and tell the kernel, so that its table says the same. */
  set(change, tell = true) {
    Object.assign(this, change);
    this.kinds.show(WORDS[this.kind]);
    this.types.show(this.dtype);
    this.units.show(this.unit);
    if (tell) this.model.send({ kind: "show", ...renamed(change) });
    this.pointed = Math.min(this.pointed, this.rows.length - 1);
    this.repaint();
  }

  /** The kernel changed a setting. @param {any} message */
  hear(message) {
    const { kind, ...rest } = message.settings ?? {};
    this.set({ ...rest, ...(kind ? { kind } : {}) }, false);
  }

  get settings() {
    return { kind: this.kind, dtype: this.dtype, unit: this.unit, scale: this.scale };
  }

  get steps() {
    return this.data.steps(this.kind);
  }

  /** The step of the picture: the newest that is not behind `at`. */
  get step() {
    const { steps } = this;
    if (!steps.length) return 0;
    if (this.at < 0) return steps.at(-1);
    return steps.filter((step) => step <= this.at).at(-1) ?? steps[0];
  }

  get scaleNow() {
    const look = this.data.byStep.get("gradient")?.get(this.step)?.[0];
    return look ? Math.round(Math.log2(look.scale)) : 0;
  }

  // Pointing

  hoverRow(event) {
    const { x, y } = this.surface.place(event);
    const row = Math.floor((y - TOP) / this.high);
    this.point(row >= 0 && row < this.rows.length ? row : -1, x, y);
  }

  point(index, x = Math.max(150, this.surface.width - 400), y = TOP + (index + 1) * this.high) {
    this.pointed = index;
    this.repaint();
    const row = this.rows[index];
    if (!row) return this.frame.hideTip();
    return this.frame.showTip(x, y, this.describe(row), this.surface.node);
  }

  describe(row) {
    const powers = [...row.shown.keys()].sort((a, b) => a - b);
    return [
      tipHead(row.layer, kindColour(this.frame.theme, this.kind)),
      tipRow(row.names.length > 1 ? "arrays" : "array", row.names.join(", ")),
      tipRow("numbers", count(row.size)),
      ...(powers.length
        ? [tipRow("from … to", `2${superscript(powers[0])} … 2${superscript(powers.at(-1))}`)]
        : []),
      tipRow("zones of", row.dtype),
      ...ZONES.map((name, i) => tipRow(name === "zero" ? "become zero" : name, percent3(row.shares[i]))),
      tipRow("are zero", count(row.zeros)),
      ...(row.infinite ? [tipRow("infinite", count(row.infinite))] : []),
      ...(row.nan ? [tipRow("NaN", count(row.nan))] : []),
      tipRow("norm", scientific(Math.sqrt(row.squares))),
    ];
  }

  stepAt(x) {
    const [box] = laneBoxes(this.lanes.width, this.lanes.height);
    const [first, last] = this.data.range;
    return first + ((x - box.left) / (box.right - box.left)) * (last - first);
  }

  press(event) {
    const { x, y } = this.lanes.place(event);
    const [upper] = laneBoxes(this.lanes.width, this.lanes.height);
    const near = skippedNear(this.data.scaling, stepAxis(upper, this.data.range), x);
    this.lanes.node.setPointerCapture?.(event.pointerId);
    if (near >= 0 && y <= upper.bottom + 6) this.pick(near);
    else this.scrub(x);
  }

  hoverLane(event) {
    const { x, y } = this.lanes.place(event);
    if (event.buttons & 1) return this.scrub(x);
    const [upper] = laneBoxes(this.lanes.width, this.lanes.height);
    const near = skippedNear(this.data.scaling, stepAxis(upper, this.data.range), x);
    const lines = near >= 0 ? this.tellSkipped(near) : this.tellStep(this.stepAt(x));
    return this.frame.showTip(x, y, lines, this.lanes.node);
  }

  tellSkipped(index) {
    const one = this.data.scaling[index];
    return [
      tipHead(`step ${count(one.step)} was skipped`, this.frame.theme.alert),
      tipRow("overflowed first", one.tensor || "unknown"),
      tipRow("layer", one.layer),
      tipRow("arrays with ∞ or NaN", count(one.many)),
      tipRow("loss scale", `2${superscript(Math.round(Math.log2(one.scale)))}`),
    ];
  }

  tellStep(value) {
    const { xs, ys } = this.data.norms();
    if (!xs.length) return [tipHead("no gradients were looked at")];
    const step = nearestStep(xs, value);
    const scaled = this.data.scaling.filter((one) => one.step <= step).at(-1);
    return [
      tipHead(`step ${count(step)}`),
      tipRow("gradient norm", scientific(ys[xs.indexOf(step)])),
      ...(scaled ? [tipRow("loss scale", count(scaled.scale))] : []),
    ];
  }

  scrub(x) {
    const { steps } = this;
    if (!steps.length) return;
    this.picked = -1;
    this.set({ at: nearestStep(steps, this.stepAt(x)) });
  }

  /** Show a skipped step and say what overflowed. @param {number} index */
  pick(index) {
    this.picked = index;
    const one = this.data.scaling[index];
    this.set({ kind: "gradient", at: one.step });
    const row = this.rows.findIndex((each) => each.names.includes(one.tensor));
    this.pointed = row;
    this.repaint();
  }

  // Keys

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { steps } = this;
    const place = steps.indexOf(this.step);
    const actions = {
      ArrowLeft: () => steps.length && this.set({ at: steps[Math.max(0, place - 1)] }),
      ArrowRight: () => steps.length && this.set({ at: steps[Math.min(steps.length - 1, place + 1)] }),
      Home: () => steps.length && this.set({ at: steps[0] }),
      End: () => this.set({ at: -1 }),
      ArrowDown: () => this.point(Math.min(this.rows.length - 1, this.pointed + 1)),
      ArrowUp: () => this.point(Math.max(0, this.pointed - 1)),
      1: () => this.set({ kind: "weight" }),
      2: () => this.set({ kind: "activation" }),
      3: () => this.set({ kind: "gradient" }),
      z: () => this.set({ dtype: TYPES[(TYPES.indexOf(this.dtype) + 1) % TYPES.length] }),
      "+": () => this.move(1),
      "=": () => this.move(1),
      "-": () => this.move(-1),
      x: () => this.set({ scale: RECORDED }),
      l: () => this.set({ unit: this.unit === "layers" ? "tensors" : "layers" }),
      s: () => this.nextSkipped(),
      Enter: () => this.mark(),
    };
    actions[press]?.();
    return press in actions;
  }

  /** Mark the layer of the row that is pointed at in all views of the run. */
  mark() {
    const row = this.rows[this.pointed];
    if (row) this.model.send({ kind: "layer", layer: row.layer });
  }

  move(by) {
    const now = this.scale === RECORDED ? this.scaleNow : this.scale;
    this.set({ scale: Math.min(HIGHEST, Math.max(LOWEST, now + by)) });
  }

  nextSkipped() {
    const { scaling } = this.data;
    const order = [...scaling.keys()].filter((i) => scaling[i].skipped);
    if (order.length) this.pick(order[(order.indexOf(this.picked) + 1) % order.length]);
  }

  // Drawing

  get tried() {
    return this.scale !== RECORDED && this.kind === "gradient";
  }

  /** Rows are made once for both pictures. */
  refresh() {
    this.rows = this.data.rows(this.settings, this.step);
    this.high = this.rows.length > 14 ? Math.max(13, this.rowHeight - 8) : this.rowHeight;
    const height = TOP + Math.max(2, this.rows.length) * this.high + BELOW;
    if (this.surface.height !== height) this.surface.resize(height);
    this.tell();
  }

  drawRows(ctx, width) {
    const { theme } = this.frame;
    if (!this.rows.length) return this.invite(ctx, width);
    const look = this.data.byStep.get("gradient")?.get(this.step)?.[0];
    const shift = this.tried && look ? shiftOf(look, this.scale) : 0;
    const axis = powerAxis(this.data.spans.get(this.kind), width, shift);
    return paintRows(ctx, {
      rows: this.rows,
      axis,
      high: this.high,
      width,
      layouts: this.data.layouts,
      theme,
      kind: this.kind,
      pointed: this.pointed,
      marked: this.model.get("marked"),
      tried: shift !== 0,
    });
  }

  drawLanes(ctx, width, height) {
    const xs = this.data.steps("gradient");
    const limits = { xs: [], ys: [] };
    for (const step of xs) {
      const limit = this.data.highestScale(step, "float16");
      if (limit === null) continue;
      limits.xs.push(step);
      limits.ys.push(limit);
    }
    const layer = this.rows[this.pointed]?.layer ?? "";
    const { data, step, scale, picked } = this;
    paintLanes(ctx, { data, theme: this.frame.theme, width, height, step, scale, limits, layer, picked });
  }

  invite(ctx, width) {
    ctx.fillStyle = this.frame.theme.muted;
    ctx.font = `12px ${this.frame.theme.font}`;
    ctx.textAlign = "center";
    ctx.fillText("Nothing was looked at: mx.numerics.watch(net, trainer) does.", width / 2, 40);
  }

  /** Numbers in the head, the sentence, and data attributes for tests. */
  tell() {
    const { data, frame, rows, step } = this;
    const theme = frame.theme;
    const whole = rows.reduce((all, row) => all + row.size - row.zeros, 0) || 1;
    const share = (/** @type {number} */ zone) =>
      rows.reduce((all, row) => all + row.shares[zone] * (row.size - row.zeros), 0) / whole;
    const skipped = data.scaling.filter((one) => one.skipped).length;
    frame.setNumbers([
      ["step", count(step)],
      ["lost", percent3(share(0))],
      ["overflow", percent3(share(3))],
      ...(data.scaling.length ? [["skipped", count(skipped)]] : []),
    ]);
    const colours = zoneColours(theme);
    frame.setLegend([
      [WORDS[this.kind], kindColour(theme, this.kind)],
      ["become zero", colours[0]],
      ["subnormal: fewer digits", colours[1]],
      ["overflow, skipped step", colours[3]],
      ...(data.scaling.length ? [["largest scale without overflow", colours[3], "dash"]] : []),
      ...(this.tried ? [["scale that is tried", theme.mark, "dash"]] : []),
    ]);
    const scale = this.scale === RECORDED ? this.scaleNow : this.scale;
    this.trial.dataset.tried = String(this.scale !== RECORDED);
    this.trial.hidden = this.back.hidden = this.kind !== "gradient";
    this.back.disabled = this.scale === RECORDED;
    if (document.activeElement !== this.slider) this.slider.value = String(scale);
    this.power.textContent = `2${superscript(scale)}`;
    this.said.textContent = this.sentence(share(0), share(3), scale);
    Object.assign(frame.root.dataset, {
      step,
      marked: this.model.get("marked") ?? "",
      numbers: this.kind,
      dtype: this.dtype,
      unit: this.unit,
      scale: this.scale,
      rows: rows.length,
      lost: share(0).toFixed(6),
      overflow: share(3).toFixed(6),
      pointed: rows[this.pointed]?.label ?? "",
      picked: data.scaling[this.picked]?.tensor ?? "",
      highest: data.highestScale(step, "float16") ?? "",
      skipped,
      revision: data.looks.size,
    });
  }

  sentence(lost, over, scale) {
    if (!this.rows.length) return "";
    const one = this.data.scaling[this.picked];
    if (one && one.step === this.step)
      return `Step ${count(one.step)} was skipped: ${one.tensor} of ${one.layer} overflowed first, ${one.many} arrays hold ∞ or NaN.`;
    if (this.kind !== "gradient") return "";
    const type = this.dtype === "in use" ? this.rows[0].dtype : this.dtype;
    const limit = this.data.highestScale(this.step, type);
    const words = `Under a loss scale of 2${superscript(scale)}, ${percent3(lost)} of the gradients become zero in ${type}, ${percent3(over)} overflow.`;
    return limit === null || limit > 40
      ? words
      : `${words} The largest scale without overflow is 2${superscript(limit)}.`;
  }
}

/** @param {any} change */
function renamed({ kind, ...rest }) {
  return kind === undefined ? rest : { ...rest, shown: kind };
}

export default liveView(NumericsData, NumericsView);
