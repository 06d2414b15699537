// What is kept for the gradient and what is computed again: graph, memory, front.

import { CodePanel } from "./lib/page/code_panel.js";
import { CAMERA_KEYS } from "./lib/graph/camera.js";
import { button, el } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { GraphCanvas } from "./lib/graph/graph_canvas.js";
import {
  FATES,
  along,
  frontFrame,
  paintCurve,
  paintFront,
  pointAt,
  stepAt,
} from "./lib/graph/mirror_paint.js";
import { plannedView } from "./lib/page/state_view.js";
import { bytes, percent } from "./lib/drawing/scale.js";
import { Surface } from "./lib/drawing/surface.js";
import { Trials } from "./lib/page/trials.js";

const HELP =
  "Training keeps results of the forward pass until the gradient has read them. A result that " +
  "is not kept is computed again when it is needed: less memory, more work. On the left is " +
  "the forward pass; what is computed again has a dashed border, and a click on a node decides " +
  "otherwise. The curve shows the bytes over the steps, shaded where something is computed " +
  "again, dashed with everything kept. Below, each dot is one way to train: the line joins " +
  "those that no other beats, √N is memonger's plan. Click a dot to see it. “Measure” runs what " +
  "is drawn, and a diamond marks the bytes that it held and the time that it took.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "along the front: less work, less memory"],
  ["↑ ↓", "previous, next node"],
  ["Enter", "keep or drop the node"],
  ["[ ]", "fewer, more segments"],
  ["B", "segments: compute also convolutions again, or only what is cheap"],
  ["N", "keep everything"],
  ["M", "measure: run what is drawn"],
  ["O", "source: the rule that decided on the marked node"],
  ["X", "back to the knobs in force"],
  ["T", "table"],
  ...CAMERA_KEYS,
];

/** What becomes of a node's results, in a badge and in words. */
const BADGES = { recomputed: "again", fixed: "kept", "let go": "let go" };
const WORDS = {
  kept: "kept",
  recomputed: "computed again",
  fixed: "kept",
  "let go": "not kept, and no gradient reads it",
};

class MirrorExplorer {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.node = -1;
    this.hovered = { step: -1, point: -1 };
    this.frame = new Frame({
      el: host,
      model,
      title: "Mirror",
      name: "mirror",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        if (this.canvas) this.redraw();
      },
    });
    this.addChoices();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: what decided on the marked node",
      what: () => (this.node < 0 ? null : { name: this.state.boxes[this.node][0] }),
    });
    this.trials = new Trials({ model, frame: this.frame, signal });
    const high = model.get("height");
    this.stage = el("div", { class: "mx-stage" });
    const charts = el("div", { class: "mx-charts" });
    this.frame.picture.append(
      el("div", { class: "mx-beside mx-beside-even" }, this.stage, charts),
    );
    this.why = el("div", { class: "mx-why-line", role: "status" });
    this.frame.picture.append(this.why);
    this.canvas = new GraphCanvas({
      frame: this.frame,
      parent: this.stage,
      height: high,
      signal,
      looks: (index) => this.looks(index),
      line: () => ({ ink: this.frame.theme.muted, alpha: 0.6, width: 1.1, dash: false }),
      click: (index) => this.click(index),
      tell: (index) => this.tellNode(index),
    });
    this.curve = this.chart(charts, high / 2 - 3, paintCurve, (x) => this.overCurve(x));
    this.front = this.chart(charts, high / 2 - 3, paintFront, (x, y) => this.overFront(x, y));
    this.front.node.style.cursor = "pointer";
    this.front.node.addEventListener("click", () => this.pick(this.hovered.point), { signal });
    this.update();
  }

  addChoices() {
    const { signal } = this;
    this.policies = el("select", {
      class: "mx-select",
      title: "Who decides what is computed again",
      "aria-label": "Policy",
      signal,
      onchange: () => this.ask({ kind: "policy", name: this.policies.value }),
    });
    this.frame.addTool(this.policies);
    this.slider = el("input", {
      type: "range",
      min: "1",
      step: "1",
      "aria-label": "Segments",
      signal,
      oninput: () => this.cut(Number(this.slider.value)),
    });
    this.count = el("output", { class: "mx-count" });
    const box = el(
      "label",
      { class: "mx-trial", title: "Keep only what crosses the borders of so many segments" },
      el("span", { class: "mx-trial-name", text: "segments" }),
      this.slider,
      this.count,
    );
    this.dears = this.frame.addChoice("Computed again", ["cheap", "all"], "all", () => {
      this.cut(Math.max(2, this.state.segments || this.state.root));
    });
    this.frame.addTool(box);
    this.measures = button({
      label: "Measure",
      title: "Run what is drawn, beside keeping everything, and mark where it lies (M)",
      signal,
      onclick: () => this.measure(),
    });
    this.frame.addTool(this.measures);
    this.frame.addTool(
      button({
        label: "",
        icon: "fit",
        title: "Fit the whole graph (F)",
        signal,
        onclick: () => this.canvas.camera.fit(),
      }),
    );
  }

  chart(parent, height, paint, hover) {
    const { signal } = this;
    const holder = el("div", { class: "mx-stage" });
    parent.append(holder);
    const surface = new Surface({
      parent: holder,
      height,
      signal,
      draw: (ctx, width, tall) => {
        if (!this.state?.curve) return;
        const hovered = paint === paintCurve ? this.hovered.step : this.hovered.point;
        paint(ctx, { state: this.state, width, height: tall, theme: this.frame.theme, hovered });
      },
    });
    surface.node.addEventListener(
      "pointermove",
      (event) => {
        const { x, y } = surface.place(event);
        hover(x, y);
      },
      { signal },
    );
    surface.node.addEventListener("pointerleave", () => this.leave(), { signal });
    return surface;
  }

  get state() {
    return this.model.get("state");
  }

  ask(message) {
    this.frame.setNote("");
    this.model.send(message);
  }

  /** A new state from the kernel. */
  update() {
    const { state } = this;
    const picture = JSON.stringify([state.boxes, state.lines]);
    if (picture !== this.known) {
      this.known = picture;
      this.canvas.framed = false;
      this.canvas.show(state);
      this.node = -1;
    }
    this.trials.show(state);
    const names = [...state.policies];
    if (!names.includes(state.policy)) names.push(state.policy);
    if (this.policies.dataset.names !== names.join()) {
      this.policies.dataset.names = names.join();
      this.policies.replaceChildren(
        ...names.map((name) =>
          el("option", { value: name, text: name === "knobs" ? "knobs in force" : name }),
        ),
      );
    }
    this.policies.value = state.policy;
    this.slider.max = String(Math.min(state.most, 64));
    if (document.activeElement !== this.slider) this.slider.value = String(state.segments || 1);
    this.count.textContent = state.segments ? String(state.segments) : "–";
    this.dears.show(state.dear ? "all" : "cheap");
    this.frame.root.dataset.revision = state.revision;
    this.redraw();
  }

  redraw() {
    this.canvas.surface.invalidate();
    this.curve?.invalidate();
    this.front?.invalidate();
    if (this.front) this.tell();
  }

  /** Cut into segments. @param {number} count @param {boolean} [dear] */
  cut(count, dear) {
    const all = this.dears.root.querySelector("[aria-checked=true]")?.dataset.value !== "cheap";
    const most = Math.min(this.state.most, 64);
    const wanted = Math.min(most, Math.max(1, count));
    this.ask({ kind: "segments", count: wanted, dear: dear ?? all });
  }

  /** Have the way that is drawn run for real. */
  measure() {
    this.ask({ kind: "measure" });
    this.frame.setNote("Running it beside keeping everything …");
  }

  looks(index) {
    const { theme } = this.frame;
    const box = this.canvas.picture.boxes[index];
    const fate = FATES[this.state.decided[index]?.[0] ?? 0];
    const again = fate === "recomputed";
    const gone = fate === "let go";
    const pointed = this.hoveredNode === box.name;
    return {
      state: 0,
      dashed: again || gone,
      edge: again ? theme.mark : gone ? theme.muted : null,
      fill: theme.family[box.family],
      tint: again || gone ? 0 : 0.12,
      badge: box.what === "input" || fate === "kept" ? "" : BADGES[fate],
      ring: index === this.node || pointed ? theme.accent : null,
    };
  }

  click(index) {
    if (index < 0) return;
    this.node = index;
    this.toggle();
  }

  toggle() {
    const box = this.canvas.picture.boxes[this.node];
    if (box) this.ask({ kind: "toggle", name: box.name });
  }

  tellNode(index) {
    const [fate, reason] = this.state.decided[index] ?? [0, ""];
    const words = WORDS[FATES[fate]];
    return [el("div", { class: "mx-tip-note" }, el("b", { text: words }), `: ${reason}`)];
  }

  overCurve(x) {
    const step = stepAt(this.state, this.curve.width, x);
    if (step === this.hovered.step) return;
    this.hovered.step = step;
    this.curve.invalidate();
    if (step < 0) return this.frame.hideTip();
    const [name, role, nbytes] = this.state.curve[step];
    this.hoveredNode = name.replace(/_(backward|mirror)\d*$/, "");
    this.canvas.surface.invalidate();
    const what = ["forward", "gradient", "computed again"][role];
    this.frame.showTip(
      x,
      20,
      [
        tipHead(name),
        tipRow("step", `${step + 1} of ${this.state.curve.length}`),
        tipRow("it is", what),
        tipRow("needed", bytes(nbytes)),
      ],
      this.curve.node,
    );
  }

  overFront(x, y) {
    const point = pointAt(this.state, this.front.width, this.front.height, x, y);
    if (point === this.hovered.point) return;
    this.hovered.point = point;
    this.front.invalidate();
    if (point < 0) return this.frame.hideTip();
    this.showPoint(point);
  }

  showPoint(index) {
    const [name, segments, peak, extra, root, best] = this.state.points[index];
    const at = frontFrame(this.state, this.front.width, this.front.height);
    const seen = this.state.measured.find((dot) => dot[0] === name);
    this.frame.showTip(
      at.x(extra),
      at.y(peak) - 10,
      [
        tipHead(name, root ? this.frame.theme.mark : this.frame.theme.accent),
        tipRow("peak", `${bytes(peak)}, ${percent(peak / this.state.keeping)} of keeping all`),
        tipRow("extra work", percent(extra)),
        ...(seen ? [tipRow("measured", `${bytes(seen[1])}, ${percent(seen[2])} more time`)] : []),
        ...(segments ? [tipRow("segments", String(segments))] : []),
        tipRow("", best ? "no other way is better in both" : "another way is better in both"),
      ],
      this.front.node,
    );
  }

  leave() {
    this.hovered = { step: -1, point: -1 };
    this.hoveredNode = "";
    this.frame.hideTip();
    this.redraw();
  }

  /** Draw the way of a dot. @param {number} index */
  pick(index) {
    if (index >= 0) this.ask({ kind: "policy", name: this.state.points[index][0] });
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { state } = this;
    const last = this.canvas.picture.boxes.length - 1;
    if (press === "ArrowRight" || press === "ArrowLeft")
      this.pick(along(state, press === "ArrowRight" ? 1 : -1));
    else if (press === "ArrowDown" || press === "ArrowUp") {
      this.node = Math.min(last, Math.max(0, this.node + (press === "ArrowDown" ? 1 : -1)));
      this.canvas.look([this.node]);
      this.redraw();
    } else if (press === "Enter") this.toggle();
    else if (press === "[" || press === "]")
      this.cut((state.segments || 1) + (press === "]" ? 1 : -1));
    else if (press === "b") this.cut(Math.max(2, state.segments || state.root), !state.dear);
    else if (press === "n") this.ask({ kind: "policy", name: "none" });
    else if (press === "m") this.measure();
    else if (press === "x") this.trials.reset();
    else return this.canvas.camera.key(press);
    return true;
  }

  /** Numbers in the head, the legend, the reason, data attributes for tests. */
  tell() {
    const { state } = this;
    const { theme } = this.frame;
    const share = state.keeping ? state.peak / state.keeping - 1 : 0;
    this.frame.setNumbers([
      ["plan", bytes(state.peak)],
      ["keeping all", bytes(state.keeping)],
      ["memory", `${share > 0 ? "+" : share < 0 ? "−" : ""}${percent(Math.abs(share))}`],
      ["extra work", percent(Math.max(0, state.extra))],
      ["computed again", `${state.again}`],
    ]);
    this.frame.setLegend([
      ["computed again", theme.mark, "dash"],
      ...(state.decided.some(([fate]) => FATES[fate] === "let go")
        ? [["let go: no gradient reads it", theme.muted, "dash"]]
        : []),
      ["needed at each step", theme.ink, "line"],
      ["with everything kept", theme.muted, "dash"],
      ["not beaten by another way", theme.accent, "line"],
      [`√N: ${state.root} segments`, theme.mark],
      ...(state.measured.length ? [["◇ measured", theme.ink]] : []),
    ]);
    const box = this.canvas.picture.boxes[this.node];
    this.why.textContent = box
      ? `${box.name}: ${state.decided[this.node][1] || "kept; no policy was asked."}`
      : "Point at a node to read why it is kept or computed again; click to decide otherwise.";
    Object.assign(this.frame.root.dataset, {
      policy: state.policy,
      peak: state.peak,
      keeping: state.keeping,
      extra: state.extra,
      again: state.again,
      points: state.points.length,
      measured: state.measured.length,
      segments: state.segments,
      node: box?.name ?? "",
    });
  }
}

export default plannedView(MirrorExplorer);
