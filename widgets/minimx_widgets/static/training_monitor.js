// How training goes: loss, accuracy, throughput, and where the time of a step went.

import { button, el } from "./lib/page/dom.js";
import { drawChart, plotBox } from "./lib/drawing/chart.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { PHASES, liveView } from "./lib/data/live.js";
import { count, duration, lowerBound, moment, percent } from "./lib/drawing/scale.js";
import { sourceOf } from "./lib/page/sources.js";
import { Surface } from "./lib/drawing/surface.js";
import { markText } from "./lib/drawing/axis.js";
import { TrainingData } from "./lib/training/training_data.js";
import { LANE, boxes, chartsHigh, drawLane } from "./lib/training/training_paint.js";

const HELP =
  "Loss per step with its running mean; accuracy on the last 50 training batches, and dots for " +
  "the test set after each epoch; samples per second, the median of the last 15 steps. On the " +
  "scale of nines 90, 99 and 99.9 % are equally far apart. Grey is the run before. A dashed line " +
  "marks a knob that was turned; several near each other are one line with their number. With a " +
  "loss scale, a lane shows it, red where a step was skipped. The bar at the bottom splits the " +
  "workers' busy time of the last second by phase. All figures are measured.";
/** @type {[string, string][]} */
const KEYS = [
  ["X", "horizontal axis: steps, time"],
  ["G", "loss: linear, logarithmic"],
  ["N", "accuracy: linear, nines"],
  ["← →", "point at the previous, next step"],
  ["T", "table"],
];
// What the tooltip says of each series, and how its values are written.
/** @type {[string, string, (value: number) => string][]} */
const SHOWN = [
  ["loss", "loss", (v) => v.toFixed(4)],
  ["batch accuracy", "right in this batch", (v) => share(v)],
  ["train accuracy", "right in this epoch", (v) => share(v)],
  ["test accuracy", "right in the test set", (v) => share(v)],
  ["samples/s", "samples per second", (v) => count(Math.round(v))],
  ["loss scale", "loss scale", (v) => v.toLocaleString("en")],
  ["skipped", "steps skipped so far", (v) => count(v)],
];

class TrainingView {
  constructor({ model, el: host, data, signal }) {
    this.model = model;
    this.data = data;
    this.axis = model.get("axis");
    this.lossScale = model.get("loss_scale") ?? "linear";
    this.accuracyScale = model.get("accuracy_scale") ?? "nines";
    /** @type {number | null} an axis value under the pointer */
    this.cursor = null;
    this.frame = new Frame({
      el: host,
      model,
      title: "Training",
      name: "training",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => this.surface?.invalidate(),
    });
    this.axes = this.frame.addChoice("Axis", ["steps", "time"], this.axis, (value) =>
      this.setAxis(value),
    );
    this.logButton = this.addSwitch("log loss", "Loss on a logarithmic scale (G)", () =>
      this.setLoss(this.lossScale === "log" ? "linear" : "log"),
    );
    this.ninesButton = this.addSwitch("nines", "Accuracy on a scale of nines (N)", () =>
      this.setAccuracy(this.accuracyScale === "nines" ? "linear" : "nines"),
    );
    this.high = model.get("height");
    this.surface = new Surface({
      parent: this.frame.picture,
      height: this.high,
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
    });
    this.split = el("div", { class: "mx-split", role: "img" }, ...PHASES.map(() => el("span")));
    this.frame.picture.append(this.split);
    this.splitDrawn = "";
    this.surface.node.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.surface.node.addEventListener("pointerleave", () => this.leave(), { signal });
    data.store.addEventListener("change", (event) => this.follow(event), { signal });
    this.kept = new Kept({
      model,
      signal,
      parts: {
        axis: { get: () => this.axis, set: (axis) => this.setAxis(axis) },
        loss_scale: { get: () => this.lossScale, set: (scale) => this.setLoss(scale) },
        accuracy_scale: { get: () => this.accuracyScale, set: (scale) => this.setAccuracy(scale) },
      },
    });
  }

  get theme() {
    return this.frame.theme;
  }

  /** @param {() => void} [painted] */
  update(painted) {
    this.surface.invalidate(painted);
  }

  addSwitch(label, title, onclick) {
    const node = button({ label, title, signal: this.frame.signal, onclick });
    this.frame.addTool(node);
    return node;
  }

  setAxis(axis) {
    this.axis = axis;
    this.axes?.show(axis);
    this.cursor = null;
    this.surface.invalidate();
  }

  setLoss(scale) {
    this.lossScale = scale;
    this.surface.invalidate();
  }

  setAccuracy(scale) {
    this.accuracyScale = scale;
    this.surface.invalidate();
  }

  key(event) {
    const press = event.key.toLowerCase();
    if (press === "x") this.setAxis(this.axis === "steps" ? "time" : "steps");
    else if (press === "g") this.logButton.click();
    else if (press === "n") this.ninesButton.click();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      this.walk(event.key === "ArrowLeft" ? -1 : 1);
    else return false;
    return true;
  }

  /** The key column of the axis. */
  get column() {
    return this.axis === "steps" ? "step" : "t";
  }

  /** What of the axis is shown: the run, and of the run before at most twice as much. */
  get range() {
    let [low, high] = this.extentOf(this.data.series);
    if (!(high >= low)) return [0, 1];
    high = Math.max(high, low + (this.axis === "steps" ? 10 : 1e9));
    const [, before] = this.extentOf(this.data.shadow);
    return [low, Math.max(high, Math.min(before, low + 3 * (high - low)))];
  }

  /** The first and last axis value of some series. @param {Map<string, any>} series */
  extentOf(series) {
    let low = Infinity;
    let high = -Infinity;
    for (const { at, n } of series.values()) {
      if (!n) continue;
      low = Math.min(low, at[this.column][0]);
      high = Math.max(high, at[this.column][n - 1]);
    }
    return [low, high];
  }

  get boxes() {
    return boxes(this.surface.width, this.high);
  }

  hover(event) {
    const { x, y } = this.surface.place(event);
    const third = this.boxes.find(
      (box) =>
        x >= plotBox(box.x, box.width).left &&
        x <= plotBox(box.x, box.width).right &&
        y >= box.y &&
        y <= box.y + box.height,
    );
    const loss = this.data.series.get("loss");
    if (!third || !loss?.n) return this.leave();
    const { left, right } = plotBox(third.x, third.width);
    const [low, high] = this.range;
    this.pointAt(low + ((x - left) / (right - left)) * (high - low));
    this.frame.showTip(x, y, this.describe());
    return undefined;
  }

  walk(by) {
    const loss = this.data.series.get("loss");
    if (!loss?.n) return;
    const keys = loss.at[this.column];
    const now = this.cursor === null ? loss.n - 1 : lowerBound(keys, loss.n, this.cursor) + by;
    this.pointAt(keys[Math.min(loss.n - 1, Math.max(0, now))]);
    const { x, width } = this.boxes[0];
    const { left, right } = plotBox(x, width);
    const [low, high] = this.range;
    this.frame.showTip(
      left + ((this.cursor - low) / (high - low)) * (right - left),
      24,
      this.describe(),
    );
  }

  pointAt(value) {
    this.cursor = value;
    if (this.axis === "time") this.data.store.set({ cursor: value });
    this.surface.invalidate();
  }

  leave() {
    if (this.cursor === null) return;
    this.cursor = null;
    this.data.store.set({ cursor: null });
    this.frame.hideTip();
    this.surface.invalidate();
  }

  /** Another view of the run points at a moment, or selected an operation. */
  follow(event) {
    if (this.axis === "time") this.cursor = this.data.store.cursor;
    if (this.axis === "time" || event.detail.includes("op")) this.surface.invalidate();
  }

  describe() {
    const lines = [
      tipHead(
        this.axis === "steps" ? `step ${Math.round(this.cursor)}` : duration(this.cursor),
      ),
    ];
    for (const [name, words, format] of SHOWN) {
      const one = this.data.series.get(name);
      if (!one || (name === "train accuracy" && this.data.series.has("batch accuracy"))) continue;
      const row = lowerBound(one.at[this.column], one.n, this.cursor + 1e-9) - 1;
      if (row >= 0) lines.push(tipRow(words, format(one.at.value[row])));
    }
    for (const mark of this.data.marks)
      if (Math.abs(this.placeOf(mark.t) - this.cursor) <= this.near)
        lines.push(tipRow("turned", markText(mark)));
    return lines;
  }

  /** How far from the pointer a mark may be to be named, on the axis. */
  get near() {
    const [low, high] = this.range;
    const { left, right } = plotBox(this.boxes[0].x, this.boxes[0].width);
    return ((high - low) / (right - left || 1)) * 6;
  }

  /**
   * The lines of a metric: the run before, what was observed, and its running value.
   * @param {string} name @param {string} colour @param {"line" | "dots"} [kind]
   */
  lines(name, colour, kind = "line") {
    const found = [];
    const before = this.data.shadow.get(name);
    const one = this.data.series.get(name);
    const add = (from, ys, more) =>
      found.push({ xs: from.at[this.column], ys, n: from.n, colour, kind, ...more });
    if (before?.n && one?.n)
      add(before, before.at.value, {
        colour: this.theme.muted,
        kind: kind === "dots" ? "points" : "shadow",
      });
    if (!one?.n) return found;
    if (name === "loss" || name === "samples/s") add(one, one.at.value, { kind: "faint" });
    add(one, kind === "dots" ? one.at.value : one.at.smooth, {});
    return found;
  }

  /** Where a moment lies on the axis: itself, or the step that was being taken. */
  placeOf(t) {
    if (this.axis === "time") return t;
    const loss = this.data.series.get("loss");
    return loss?.n ? loss.at.step[Math.min(loss.n - 1, lowerBound(loss.at.t, loss.n, t))] : NaN;
  }

  draw(ctx, width, height) {
    const { data, theme } = this;
    this.tell();
    this.kept.note();
    const scale = data.series.get("loss scale");
    const charts = chartsHigh(width, this.high);
    const wanted = charts + (data.scaled ? LANE : 0);
    if (wanted !== height) {
      this.surface.resize(wanted);
      return;
    }
    const [left, middle, right] = this.boxes;
    const shared = {
      theme,
      range: this.range,
      cursor: this.cursor,
      marks: data.marks.map((mark) => ({ at: this.placeOf(mark.t), text: markText(mark) })),
      labels: false,
      selected: data.store.opTime === null ? null : this.placeOf(data.store.opTime),
      formatX: (value) => (this.axis === "steps" ? count(value) : moment(value, 1e9)),
    };
    const logarithmic = this.lossScale === "log";
    const loss = data.last("loss");
    drawChart(ctx, {
      ...shared,
      ...left,
      labels: true,
      titles: logarithmic ? ["loss, logarithmic", "loss, log", "loss"] : ["loss"],
      value: number(loss, 4),
      alert: loss !== null && !Number.isFinite(loss),
      scale: this.lossScale,
      cover: logarithmic ? [] : [0],
      series: this.lines("loss", theme.phase[2]),
      format: (v) => (logarithmic ? String(v) : number(v, v < 1 ? 2 : 1)),
    });
    const nine = this.accuracyScale === "nines";
    drawChart(ctx, {
      ...shared,
      ...middle,
      titles: nine ? ["accuracy, scale of nines", "accuracy, nines", "accuracy"] : ["accuracy"],
      value: share(data.last("test accuracy") ?? data.last(data.trainName, "smooth")),
      series: [
        ...this.lines(data.trainName, theme.phase[2]),
        ...this.lines("test accuracy", theme.phase[5], "dots"),
      ],
      scale: this.accuracyScale,
      cover: [0, nine ? 0.9 : 1],
      format: (v) => `${Number((100 * v).toFixed(3))} %`,
    });
    const speed = data.last("samples/s", "smooth");
    drawChart(ctx, {
      ...shared,
      ...right,
      titles: ["samples per second", "samples/s"],
      value: speed === null ? "" : count(Math.round(speed)),
      series: this.lines("samples/s", theme.phase[4]),
      scale: "linear",
      cover: [0],
      format: count,
    });
    if (data.scaled) this.drawScale(ctx, scale, charts, width);
    if (data.series.size === 0) this.invite(ctx, width, height);
  }

  drawScale(ctx, { at, n }, top, width) {
    const { data } = this;
    const skipped = data.series.get("skipped");
    const total = data.last("skipped") ?? 0;
    const now = (data.last("loss scale") ?? 1).toLocaleString("en");
    drawLane(ctx, {
      scale: { xs: at[this.column], ys: at.value, n },
      skipped: data.skippedSteps.map((row) => skipped?.at[this.column][row]),
      range: this.range,
      top,
      left: 0,
      right: width,
      words: `${now} · ${count(total)} ${total === 1 ? "step" : "steps"} skipped`,
      theme: this.theme,
    });
  }

  invite(ctx, width, height) {
    ctx.fillStyle = this.theme.muted;
    ctx.font = `12px ${this.theme.font}`;
    ctx.textAlign = "center";
    ctx.fillText("Nothing was trained yet. Press Train.", width / 2, height / 2);
  }

  /** One bar: how the workers' busy time of the last second was spent. */
  tellSplit() {
    const { phases } = this.data;
    const total = phases.reduce((a, b) => a + b, 0);
    this.split.hidden = total === 0;
    const words = PHASES.map((name, i) => `${name} ${percent(total ? phases[i] / total : 0)}`);
    const drawn = `${words.join()} ${this.surface.width}`; // what fits depends on the width
    if (this.splitDrawn === drawn) return;
    this.splitDrawn = drawn;
    this.split.setAttribute("aria-label", words.join(", "));
    [...this.split.children].forEach((node, i) => {
      const part = total ? phases[i] / total : 0;
      node.hidden = part === 0;
      node.title = `${words[i]} of the busy time of the last second, measured`;
      node.textContent = part * this.surface.width > 7 * words[i].length + 12 ? words[i] : "";
      node.style.setProperty("--swatch", `var(--mx-phase-${i})`);
      node.style.flexGrow = part.toFixed(3);
    });
  }

  /** Numbers in the head, the split of the last second, and data attributes for tests. */
  tell() {
    const { data, theme } = this;
    const { status } = data;
    const session = status.state
      ? [
          ["state", status.state],
          ["epoch", `${status.epoch}/${status.epochs}`],
          ["step", count(status.step)],
        ]
      : [["steps", count(data.series.get("loss")?.n ?? 0)]];
    this.frame.setNumbers([
      ...session,
      ["test accuracy", share(data.last("test accuracy")) || "–"],
    ]);
    this.frame.setSource(data.series.size ? sourceOf(data.header) : "");
    this.frame.setNote(status.state === "failed" ? status.message : "", "error");
    this.tellSplit();
    this.frame.setLegend([
      ["training", theme.phase[2], "line"],
      ["test set", theme.phase[5]],
      ...(data.shadow.size ? [["the run before", theme.muted, "line"]] : []),
      ...(data.marks.length ? [["knob turned", theme.mark, "dash"]] : []),
      ...(data.last("skipped") ? [["step skipped", theme.alert, "line"]] : []),
    ]);
    this.logButton.setAttribute("aria-pressed", String(this.lossScale === "log"));
    this.ninesButton.setAttribute("aria-pressed", String(this.accuracyScale === "nines"));
    Object.assign(this.frame.root.dataset, {
      state: status.state,
      epoch: status.epoch,
      step: status.step,
      axis: this.axis,
      lossScale: this.lossScale,
      accuracyScale: this.accuracyScale,
      shadow: [...data.shadow.keys()].join("|"),
      skipped: data.last("skipped") ?? "",
      speed: data.last("samples/s", "smooth") ?? "",
      trainAccuracy: data.last(data.trainName, "smooth") ?? "",
      loss: data.last("loss") ?? "",
      testAccuracy: data.last("test accuracy") ?? "",
      marks: data.marks.map(markText).join("|"),
      selected: data.store.op,
    });
  }
}

/** @param {number | null} value @param {number} digits */
function number(value, digits) {
  return value === null ? "" : value.toFixed(digits);
}

/** @param {number | null} value */
function share(value) {
  return value === null ? "" : `${(100 * value).toFixed(1)} %`;
}

export default liveView(TrainingData, TrainingView);
