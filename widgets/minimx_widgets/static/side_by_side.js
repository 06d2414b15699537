// A training under two settings: four charts of the steps, the last steps, the figures.

import { drawChart, plotBox } from "./lib/drawing/chart.js";
import { button, el } from "./lib/page/dom.js";
import { figure } from "./lib/drawing/figure.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { bytes, count, percent } from "./lib/drawing/scale.js";
import { stateView } from "./lib/page/state_view.js";
import { LastSteps } from "./lib/training/last_steps.js";
import { Surface } from "./lib/drawing/surface.js";
import { smoothed } from "./lib/training/training_data.js";

const HELP =
  "The same network with the same data, from the same seed, under two settings: A trains its " +
  "steps, then B does. Thin lines are single steps, thick ones a running median or mean; dashed " +
  "is what the plan of a graph promised. The time of the first step, which also prepares, is not " +
  "drawn. Below the charts: the last two steps of either side, " +
  "from their beginning on, with the memory in use and what ran on each worker. The figures are " +
  "medians of the last steps of A and of B; same means: no further apart than single steps of A, " +
  "and for times: than A from A, which trains a few steps once more at the end. " +
  "Memory that other trainings hold is left out.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "previous, next step in all charts"],
  ["S", "stop"],
  ["T", "table"],
];
/** The running mean of accuracy goes over so many batches. */
const BATCHES = 10;
const millis = (/** @type {number} */ ms) => `${Number(ms.toPrecision(3))} ms`;
const CHARTS = [
  { key: "peak", titles: ["step peak, measured", "step peak"], format: bytes, cover: [0] },
  { key: "ms", titles: ["time per step"], format: millis, cover: [0], smooth: "samples/s" },
  { key: "loss", titles: ["loss"], format: count, cover: [0], smooth: "loss" },
  {
    key: "accuracy",
    titles: ["accuracy of batches", "accuracy"],
    format: percent,
    cover: [0, 1],
    smooth: "batch accuracy",
  },
];

class SideBySide {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    /** @type {number | null} */
    this.step = null;
    this.frame = new Frame({
      el: host,
      model,
      title: "A | B",
      name: "sides",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        if (this.charts) this.update();
      },
    });
    this.ending = button({
      label: "Stop",
      icon: "stop",
      title: "Stop after the step that is under way (S)",
      signal,
      onclick: () => this.model.send({ kind: "stop" }),
    });
    this.frame.addTool(this.ending);
    this.build(model.get("height"), signal);
    this.update();
  }

  build(height, signal) {
    this.bar = el("i", {});
    this.how = el("span", { class: "mx-sides-words", role: "status" });
    this.progress = el(
      "div",
      { class: "mx-sides-progress" },
      el("span", { class: "mx-sides-bar" }, this.bar),
      this.how,
    );
    const grid = el("div", { class: "mx-sides-charts" });
    const low = el("div", { class: "mx-sides-last" });
    this.strip = el("div", { class: "mx-strip", role: "list" });
    this.frame.picture.append(this.progress, this.strip, grid, low);
    this.charts = CHARTS.map((chart) => {
      const surface = new Surface({
        parent: grid,
        height,
        signal,
        draw: (ctx, width, high) => this.draw(chart, ctx, width, high),
      });
      surface.node.dataset.chart = chart.key;
      surface.node.addEventListener("pointermove", (event) => this.hover(surface, event), {
        signal,
      });
      surface.node.addEventListener("pointerleave", () => this.point(null), { signal });
      return surface;
    });
    this.last = new LastSteps({ parent: low, frame: this.frame, signal, ink: () => this.inks });
  }

  get state() {
    return this.model.get("state");
  }

  get inks() {
    return this.frame.theme.layer.slice(0, 2);
  }

  get span() {
    const { sides, steps } = this.state;
    return Math.min(steps, Math.max(2, ...sides.map(({ peak }) => peak.length)));
  }

  update() {
    const { state, frame } = this;
    const { sides, progress, rows, notes } = state;
    const [done, total, words] = progress;
    const running = state.state === "training";
    this.ending.hidden = !running;
    this.progress.hidden = !running;
    this.bar.style.width = `${(100 * done) / total}%`;
    this.how.textContent = words || "Preparing data and network…";
    frame.setNumbers(state.headline ? [["", state.headline]] : []);
    frame.setLegend([
      ...sides.map(({ name, words: what }, i) => [`${name}: ${what}`, this.inks[i]]),
      ...(sides.some(({ planned }) => planned.some(Boolean))
        ? [["planned", frame.theme.muted, "dash"]]
        : []),
    ]);
    frame.setNote(notes.join(" "), "error");
    this.strip.replaceChildren(...rows.map((row) => figure(row, ["for A", "for B"])));
    for (const surface of this.charts) surface.invalidate();
    this.last.show(state.last, sides);
    Object.assign(frame.root.dataset, {
      state: state.state,
      done: String(done),
      steps: sides.map(({ peak }) => peak.length).join(),
      lanes: state.last.map((one) => one.lanes?.length ?? 0).join(),
      headline: state.headline,
      revision: String(Number(frame.root.dataset.revision ?? 0) + 1),
    });
  }

  /** The lines of one chart: for A and for B the single steps, the trend, the plan. */
  series({ key, smooth }) {
    return this.state.sides.flatMap((side, i) => {
      const ys = side[key].map((/** @type {number | null} */ v) => v ?? NaN);
      const colour = this.inks[i];
      const from = key === "ms" ? 1 : 0; // the first step also prepares
      const line = (values, kind) => ({
        xs: values.slice(from).map((_, k) => k + 1 + from),
        ys: values.slice(from),
        n: Math.max(0, values.length - from),
        colour,
        kind,
      });
      const lines = smooth
        ? [line(ys, "faint"), line([...ys.slice(0, from), ...smoothed(smooth, ys.slice(from), BATCHES)], "line")]
        : [line(ys, "line")];
      if (key === "peak" && side.planned.some(Boolean))
        lines.push(line(side.planned.map((v) => v ?? NaN), "dash"));
      return lines.filter(({ n }) => n > 0);
    });
  }

  draw(chart, ctx, width, height) {
    const values = this.state.sides.map((side) => side[chart.key].at(-1));
    const known = values.filter((value) => value !== undefined && value !== null);
    drawChart(ctx, {
      x: 0,
      y: 0,
      width,
      height,
      titles: chart.titles,
      value: known.length ? known.map(chart.format).join(" | ") : "",
      series: this.series(chart),
      range: [1, this.span],
      scale: chart.format === bytes ? "bytes" : "linear",
      cover: chart.cover,
      format: chart.format,
      formatX: count,
      marks: [],
      labels: false,
      cursor: this.step,
      selected: null,
      theme: this.frame.theme,
    });
    if (known.length) return;
    ctx.fillStyle = this.frame.theme.muted;
    ctx.font = `12px ${this.frame.theme.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText("no step yet", width / 2, height / 2);
  }

  hover(surface, event) {
    const { left, right } = plotBox(0, surface.width);
    const share = (surface.place(event).x - left) / (right - left);
    const step = Math.round(1 + share * (this.span - 1));
    this.point(step >= 1 && step <= this.span ? step : null, surface);
  }

  /** Mark a step in every chart, and say what it measured. @param {number | null} step */
  point(step, surface = this.charts[0]) {
    this.step = step;
    for (const one of this.charts) one.invalidate();
    this.frame.root.dataset.step = step === null ? "" : String(step);
    if (step === null) return this.frame.hideTip();
    const { sides } = this.state;
    const lines = [tipHead(`step ${step}`)];
    for (const { key, titles, format } of CHARTS) {
      const pair = sides.map((side) => side[key][step - 1]);
      const said = pair.map((value) => (typeof value === "number" ? format(value) : "–"));
      lines.push(tipRow(titles.at(-1) ?? "", said.join(" | ")));
    }
    const { left, right } = plotBox(0, surface.width);
    const x = left + ((step - 1) / (this.span - 1)) * (right - left);
    this.frame.showTip(x, 20, lines, surface.node);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) this.point(Math.min(this.span, Math.max(1, (this.step ?? 1 - step) + step)));
    else if (event.key.toLowerCase() === "s") this.model.send({ kind: "stop" });
    else return false;
    return true;
  }
}

export default stateView(SideBySide);
