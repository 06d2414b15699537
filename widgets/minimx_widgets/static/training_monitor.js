// How training goes: loss, accuracy, throughput, and where the time of a step went.

import { el } from "./lib/dom.js";
import { drawChart, plotBox, smooth } from "./lib/chart.js";
import { Columns } from "./lib/columns.js";
import { Frame, tipHead, tipRow } from "./lib/frame.js";
import { PHASES, RunData, liveView } from "./lib/live.js";
import { count, duration, lowerBound, moment, percent } from "./lib/scale.js";
import { Surface } from "./lib/surface.js";
import { markText } from "./lib/axis.js";

const HELP =
  "Loss per step with its running mean; accuracy on the training data so far in this epoch, " +
  "and dots for the test set after each epoch; samples per second. The bar below splits the " +
  "workers' busy time of the last second by phase. A dashed line marks a knob that was turned.";
/** @type {[string, string][]} */
const KEYS = [
  ["X", "horizontal axis: steps, time"],
  ["← →", "point at the previous, next step"],
  ["T", "table"],
];

class TrainingData extends RunData {
  reset() {
    super.reset();
    /** @type {Map<string, Columns>} */
    this.series = new Map();
    this.status = { state: "", epoch: 0, epochs: 0, step: 0, message: "" };
    this.phases = new Float64Array(PHASES.length);
    this.newest = 0;
  }

  /** @param {any} tables @param {any} header */
  add({ metrics }, header) {
    if (header.status?.state) this.status = header.status; // records without a session have none
    if (header.phases) this.phases = Float64Array.from(header.phases);
    if (!metrics) return;
    for (let i = 0; i < metrics.t.length; i += 1) {
      const name = this.strings[metrics.name[i]];
      if (!this.series.has(name))
        this.series.set(name, new Columns({ t: "f8", step: "f8", value: "f8" }, 100_000));
      this.series
        .get(name)
        ?.append({ t: [metrics.t[i]], step: [metrics.step[i]], value: [metrics.value[i]] });
      this.newest = Math.max(this.newest, metrics.t[i]);
    }
  }

  /** @param {string} name @returns {number | null} */
  last(name) {
    const one = this.series.get(name);
    return one?.n ? one.at.value[one.n - 1] : null;
  }
}

class TrainingView {
  constructor({ model, el: host, data, signal }) {
    this.model = model;
    this.data = data;
    this.axis = model.get("axis");
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
    this.surface = new Surface({
      parent: this.frame.picture,
      height: model.get("height"),
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
    });
    this.split = el("div", { class: "mx-split", role: "img" }, ...PHASES.map(() => el("span")));
    this.frame.picture.append(this.split);
    this.surface.node.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.surface.node.addEventListener("pointerleave", () => this.leave(), { signal });
    data.store.addEventListener("change", (event) => this.follow(event), { signal });
  }

  get theme() {
    return this.frame.theme;
  }

  /** @param {() => void} [painted] */
  update(painted) {
    this.surface.invalidate(painted);
  }

  setAxis(value) {
    this.axis = value;
    this.axes?.show(value);
    this.cursor = null;
    this.surface.invalidate();
  }

  key(event) {
    if (event.key.toLowerCase() === "x") this.setAxis(this.axis === "steps" ? "time" : "steps");
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      this.walk(event.key === "ArrowLeft" ? -1 : 1);
    else return false;
    return true;
  }

  /** The key column of the axis. */
  get column() {
    return this.axis === "steps" ? "step" : "t";
  }

  get range() {
    let low = Infinity;
    let high = -Infinity;
    for (const { at, n } of this.data.series.values()) {
      if (!n) continue;
      low = Math.min(low, at[this.column][0]);
      high = Math.max(high, at[this.column][n - 1]);
    }
    if (!(high >= low)) return [0, 1];
    return [low, Math.max(high, low + (this.axis === "steps" ? 10 : 1e9))];
  }

  get thirds() {
    const width = this.surface.width / 3;
    return [0, 1, 2].map((i) => ({ x: i * width, width: width - (i < 2 ? 10 : 0) }));
  }

  hover(event) {
    const { x, y } = this.surface.place(event);
    const third = this.thirds.find(
      (box) => x >= plotBox(box.x, box.width).left && x <= plotBox(box.x, box.width).right,
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
    const { x, width } = this.thirds[0];
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
    for (const [name, { at, n }] of this.data.series) {
      const row = lowerBound(at[this.column], n, this.cursor + 1e-9) - 1;
      if (row >= 0)
        lines.push(
          tipRow(name, at.value[row] < 1 ? at.value[row].toFixed(4) : count(at.value[row])),
        );
    }
    return lines;
  }

  line(name, colour, more = {}) {
    const one = this.data.series.get(name);
    if (!one?.n) return null;
    return {
      xs: one.at[this.column],
      ys: one.at.value,
      n: one.n,
      colour,
      kind: "line",
      ...more,
    };
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
    const [left, middle, right] = this.thirds;
    const shared = {
      height,
      theme,
      range: this.range,
      cursor: this.cursor,
      marks: data.marks.map((mark) => this.placeOf(mark.t)),
      selected: data.store.opTime === null ? null : this.placeOf(data.store.opTime),
      formatX: (value) => (this.axis === "steps" ? count(value) : moment(value, 1e9)),
    };
    const loss = this.line("loss", theme.phase[2], { faint: true });
    const trend = loss && { ...loss, ys: smooth(loss.ys, loss.n, 0.08), faint: false };
    drawChart(ctx, {
      ...shared,
      ...left,
      title: "loss",
      value: number(data.last("loss"), 4),
      low: 0,
      series: [loss, trend].filter(Boolean),
      format: (v) => number(v, v < 1 ? 2 : 1),
    });
    const train = this.line("train accuracy", theme.phase[2]);
    const test = this.line("test accuracy", theme.phase[5], { kind: "dots" });
    drawChart(ctx, {
      ...shared,
      ...middle,
      title: "accuracy",
      value: share(data.last("test accuracy") ?? data.last("train accuracy")),
      series: [train, test].filter(Boolean),
      low: 0,
      high: 1,
      format: (v) => `${Math.round(100 * v)} %`,
    });
    const speed = this.line("samples/s", theme.phase[4]);
    drawChart(ctx, {
      ...shared,
      ...right,
      title: "samples per second",
      value: speed ? count(Math.round(data.last("samples/s"))) : "",
      series: [speed].filter(Boolean),
      low: 0,
      format: count,
    });
    if (data.series.size === 0) this.invite(ctx, width, height);
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
    if (this.split.getAttribute("aria-label") === words.join(", ")) return;
    this.split.setAttribute("aria-label", words.join(", "));
    [...this.split.children].forEach((node, i) => {
      const part = total ? phases[i] / total : 0;
      node.hidden = part === 0;
      node.title = `${words[i]} of the busy time`;
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
    this.frame.setNote(status.state === "failed" ? status.message : "", "error");
    this.tellSplit();
    this.frame.setLegend([
      ["training", theme.phase[2]],
      ["test set", theme.phase[5]],
      ["knob turned", theme.mark, "dash"],
    ]);
    Object.assign(this.frame.root.dataset, {
      state: status.state,
      epoch: status.epoch,
      step: status.step,
      axis: this.axis,
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
