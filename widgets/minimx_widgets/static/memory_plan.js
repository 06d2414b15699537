// A memory plan: lifetimes of results, packed into the arena, with the reason of each.

import { CodePanel } from "./lib/page/code_panel.js";
import { CAMERA_KEYS, Camera } from "./lib/graph/camera.js";
import { button, el } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { Kept } from "./lib/page/kept.js";
import { ROLES, neighbour, peakStep, tensorAt, tensorsOf } from "./lib/memory/plan_data.js";
import {
  LEFT,
  TOP,
  paintAxes,
  paintBlocks,
  paintNeeded,
  paintTensor,
  scales,
} from "./lib/memory/plan_paint.js";
import { plannedView } from "./lib/page/state_view.js";
import { bytes, percent } from "./lib/drawing/scale.js";
import { Surface } from "./lib/drawing/surface.js";
import { Trials } from "./lib/page/trials.js";

const HELP =
  "Across are the steps of a run, one operator each; upwards the bytes of the arena. A " +
  "rectangle is one result: it begins where it is written, ends where it is last read, and " +
  "lies in the block that it was given. A cut corner says that it was written over an input. " +
  "The line is what the results need at each step, and the dashed one the most of it: no arena " +
  "can be smaller, whatever lies where. Point at a rectangle to read why it lies there. The " +
  "controls plan again; no knob is turned.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "previous, next result in the order of steps"],
  ["↑ ↓", "next, previous result in the same block"],
  ["P", "go to the step that needs the most"],
  ["C", "colour by storage block, or by what a result is"],
  ["[ ]", "halve, double the match range"],
  ["V", "training or prediction"],
  ["O", "source: the planner's lines that decided on the selected result"],
  ["Esc", "let go of what is selected"],
  ["X", "back to the knobs in force"],
  ["T", "table"],
  ...CAMERA_KEYS,
];

class MemoryPlan {
  constructor({ model, el: host, signal }) {
    this.model = model;
    /** @type {import("./lib/memory/plan_data.js").Tensor[]} */
    this.tensors = [];
    this.selected = -1;
    this.hovered = -1;
    this.colour = "block";
    this.frame = new Frame({
      el: host,
      model,
      title: "Memory plan",
      name: "plan",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        this.surface?.invalidate();
        if (this.side) this.tell();
      },
    });
    this.addTools(signal);
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: why the selected result lies where it lies",
      what: () => (this.selected < 0 ? null : { name: this.tensors[this.selected].name }),
    });
    this.trials = new Trials({ model, frame: this.frame, signal });
    this.kept = new Kept({
      model,
      signal,
      parts: { colour: { get: () => this.colour, set: (value) => this.setColour(value) } },
    });
    this.stage = el("div", { class: "mx-stage" });
    this.side = el("div", { class: "mx-side mx-facts", "aria-live": "polite" });
    this.side.style.height = `${model.get("height")}px`;
    this.frame.picture.append(el("div", { class: "mx-beside" }, this.stage, this.side));
    this.surface = new Surface({
      parent: this.stage,
      height: model.get("height"),
      signal,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
    });
    this.camera = new Camera({
      surface: this.surface,
      focus: this.frame.root,
      signal,
      nearest: 60,
      filled: true,
      whole: () => this.whole,
      hover: (x, y) => this.hover(x, y),
      leave: () => this.hover(-1e9, -1e9),
      click: (x, y) => this.select(this.hit(x, y)),
    });
    this.update();
  }

  addTools(signal) {
    this.modes = this.frame.addChoice(
      "Plan for",
      ["training", "prediction"],
      this.model.get("training") ? "training" : "prediction",
      (value) => this.model.send({ kind: "training", on: value === "training" }),
    );
    this.colours = this.frame.addChoice("Colour", ["block", "role"], this.colour, (value) =>
      this.setColour(value),
    );
    this.frame.addTool(
      button({
        label: "",
        icon: "fit",
        title: "Fit the whole plan (F)",
        signal,
        onclick: () => this.camera.fit(),
      }),
    );
  }

  get state() {
    return this.model.get("state");
  }

  /** The picture at its own size, which fills the surface. */
  get whole() {
    return { left: 0, top: 0, right: this.surface.width, bottom: this.surface.height };
  }

  get at() {
    const { state } = this;
    return scales({
      width: this.surface.width,
      height: this.surface.height,
      steps: state.steps.length,
      high: Math.max(state.arena, state.bound, 1) * 1.04,
      place: this.camera.place,
    });
  }

  /** A new plan. What was selected stays so, by its name. */
  update() {
    const { state } = this;
    const name = this.tensors[this.selected]?.name;
    this.tensors = tensorsOf(state);
    this.selected = this.tensors.findIndex((tensor) => tensor.name === name);
    this.hovered = -1;
    this.frame.hideTip();
    this.trials.show(state);
    this.modes?.show(this.model.get("training") ? "training" : "prediction");
    this.frame.root.dataset.revision = state.revision;
    this.tell();
    this.surface.invalidate();
  }

  /** The tensor at a place of the picture. */
  hit(x, y) {
    const { scale, x: dx, y: dy } = this.camera.place;
    const [u, v] = [x * scale + dx, y * scale + dy];
    if (u < LEFT) return -1;
    return tensorAt(this.tensors, this.at.step(u), this.at.byte(v));
  }

  hover(x, y) {
    const found = this.hit(x, y);
    if (found === this.hovered) return;
    this.hovered = found;
    this.surface.invalidate();
    if (found < 0) this.frame.hideTip();
    else this.showTip(found);
  }

  showTip(index) {
    const tensor = this.tensors[index];
    const { at } = this;
    const x = Math.min(at.right, Math.max(LEFT, at.x((tensor.first + tensor.last + 1) / 2)));
    const y = Math.max(0, at.y(tensor.offset + tensor.nbytes / 2));
    this.frame.showTip(
      x,
      y,
      [
        tipHead(tensor.name, this.fill(tensor)),
        tipRow("bytes", bytes(tensor.nbytes)),
        tipRow("steps", `${tensor.first + 1} to ${tensor.last + 1}`),
        ...reasons(tensor).map((text) => el("div", { class: "mx-tip-note", text })),
      ],
      this.surface.node,
    );
  }

  select(index) {
    this.selected = index === this.selected ? -1 : index;
    this.tell();
    this.surface.invalidate();
  }

  setColour(value) {
    this.colour = value;
    this.colours?.show(value);
    this.tell();
    this.surface.invalidate();
  }

  fill(tensor) {
    const { theme } = this.frame;
    if (this.colour === "block") return theme.layer[tensor.block % theme.layer.length];
    return [theme.phase[2], theme.phase[3], theme.mark][tensor.role];
  }

  draw(ctx, width, height) {
    const { state, at, tensors, selected, hovered } = this;
    const { theme } = this.frame;
    const chosen = selected >= 0 ? tensors[selected].block : -1;
    const inside = (/** @type {() => void} */ paint) => {
      ctx.save();
      ctx.beginPath();
      ctx.rect(LEFT, TOP - 4, width - LEFT, at.bottom - TOP + 5);
      ctx.clip();
      paint();
      ctx.restore();
    };
    inside(() => paintBlocks(ctx, { at, theme, blocks: state.blocks, chosen }));
    paintAxes(ctx, { at, theme, steps: state.steps.length });
    inside(() => {
      tensors.forEach((tensor, i) =>
        paintTensor(ctx, tensor, {
          at,
          theme,
          fill: this.fill(tensor),
          faint: chosen >= 0 && tensor.block !== chosen,
          ring: i === selected || i === hovered,
        }),
      );
      paintNeeded(ctx, { at, theme, needed: state.needed, bound: state.bound });
    });
    if (tensors.length === 0) {
      ctx.fillStyle = theme.muted;
      ctx.font = `12px ${theme.font}`;
      ctx.textAlign = "center";
      ctx.fillText("Nothing to plan: all results are outputs.", width / 2, height / 2);
    }
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const last = this.tensors.length - 1;
    const go = (/** @type {number} */ index) => {
      this.selected = Math.min(last, Math.max(0, index));
      this.tell();
      this.surface.invalidate();
    };
    if (press === "ArrowRight") go(this.selected + 1);
    else if (press === "ArrowLeft") go(this.selected < 0 ? last : this.selected - 1);
    else if (press === "ArrowUp" || press === "ArrowDown") {
      if (this.selected >= 0)
        go(neighbour(this.tensors, this.selected, press === "ArrowUp" ? 1 : -1));
    } else if (press === "p") this.goToPeak();
    else if (press === "c") this.setColour(this.colour === "block" ? "role" : "block");
    else if (press === "v")
      this.model.send({ kind: "training", on: !this.model.get("training") });
    else if (press === "[" || press === "]") this.stretch(press === "]");
    else if (press === "x") this.trials.reset();
    else if (press === "Escape") this.select(this.selected);
    else return this.camera.key(press);
    return true;
  }

  /** Halve or double the match range. */
  stretch(up) {
    const name = "NNVM_EXEC_MATCH_RANGE";
    const now = Number(this.state.values[name]);
    const text = String(up ? Math.max(1, now * 2) : Math.floor(now / 2));
    this.model.send({ kind: "set", name, text });
  }

  /** Select the largest result of the step that needs the most. */
  goToPeak() {
    const step = peakStep(this.state.needed);
    const there = this.tensors
      .map((tensor, i) => ({ tensor, i }))
      .filter(({ tensor }) => tensor.first <= step && step <= tensor.last)
      .sort((a, b) => b.tensor.nbytes - a.tensor.nbytes);
    if (there.length) this.selected = there[0].i;
    this.tell();
    this.surface.invalidate();
  }

  /** Numbers in the head, facts at the side, the legend, data attributes for tests. */
  tell() {
    this.kept?.note();
    const { state } = this;
    const { theme } = this.frame;
    this.frame.setNumbers([
      ["plan", bytes(state.total)],
      ["lower bound", bytes(state.bound)],
      ["without sharing", bytes(state.apart)],
      ["blocks", `${state.blocks.length} for ${state.tensors.length} results`],
    ]);
    this.frame.setLegend([
      ...(this.colour === "block"
        ? [["one hue, one storage block (after eight they repeat)", theme.layer[0]]]
        : ROLES.map((role, i) => [role, [theme.phase[2], theme.phase[3], theme.mark][i]])),
      ["needed at each step", theme.ink, "line"],
      ["the most of it: lower bound", theme.alert, "dash"],
    ]);
    this.side.replaceChildren(
      ...(this.selected < 0
        ? this.overview()
        : this.about(this.tensors[this.selected])),
    );
    Object.assign(this.frame.root.dataset, {
      total: state.total,
      bound: state.bound,
      tensors: state.tensors.length,
      blocks: state.blocks.length,
      range: state.range,
      colour: this.colour,
      selected: this.tensors[this.selected]?.name ?? "",
    });
  }

  /** What is told while nothing is selected. */
  overview() {
    const { state } = this;
    const saved = state.apart ? 1 - state.total / state.apart : 0;
    const over = state.bound ? state.total / state.bound - 1 : 0;
    const relation = over
      ? `${percent(over)} above what is needed at once`
      : "as small as what is needed at once: no other could be smaller";
    return [
      el("b", { text: `Sharing saves ${percent(saved)}` }),
      el("p", { text: `The plan is ${relation}.` }),
      ...(state.candidates.length > 1 ? [candidates(state)] : []),
      el("b", { text: "Largest blocks" }),
      this.blockList(),
    ];
  }

  blockList() {
    const { state, tensors } = this;
    const { theme } = this.frame;
    const rows = [...state.blocks]
      .sort((a, b) => b[2] - a[2])
      .slice(0, 12)
      .map(([id, , nbytes]) => {
        const swatch = el("i", { class: "mx-swatch mx-swatch-fill" });
        swatch.style.setProperty("--swatch", theme.layer[id % theme.layer.length]);
        const count = tensors.filter((tensor) => tensor.block === id).length;
        return el(
          "div",
          { class: "mx-fact" },
          el("span", {}, swatch, ` #${id}`),
          el("span", { text: bytes(nbytes) }),
          el("span", { text: `${count} result${count === 1 ? "" : "s"}` }),
        );
      });
    return el("div", { class: "mx-fact-list" }, ...rows);
  }

  /** What is shown of one tensor. @param {import("./lib/memory/plan_data.js").Tensor} tensor */
  about(tensor) {
    const { state, tensors } = this;
    const same = tensors.filter((other) => other.block === tensor.block);
    const rows = same.map((other) =>
      el(
        "div",
        { class: "mx-fact", "aria-current": String(other === tensor) },
        el("span", { text: other.short, title: other.name }),
        el("span", { text: bytes(other.nbytes) }),
        el("span", { text: `${other.first + 1}–${other.last + 1}` }),
      ),
    );
    return [
      el("b", { text: tensor.name }),
      el("p", {
        text:
          `${tensor.op}${tensor.layer ? ` of ${tensor.layer}` : ""}, ${bytes(tensor.nbytes)} in a ` +
          `block of ${bytes(state.blocks.find(([id]) => id === tensor.block)?.[2] ?? tensor.nbytes)}. Written at step ${tensor.first + 1}` +
          (tensor.last > tensor.first
            ? `, last read at step ${tensor.last + 1} by ${state.steps[tensor.last]}.`
            : ", read by nobody later."),
      }),
      ...reasons(tensor).map((text) => el("p", { class: "mx-why", text })),
      el("b", { text: `Block #${tensor.block}, one after the other` }),
      el("div", { class: "mx-fact-list" }, ...rows),
    ];
  }
}

/** Why a tensor lies where it lies, and why it was not written over its input. */
function reasons(tensor) {
  const first = tensor.reason[0].toUpperCase() + tensor.reason.slice(1);
  return tensor.apart ? [`${first}.`, `Not in place: ${tensor.apart}`] : [`${first}.`];
}

/** The totals of the match ranges that were tried. */
function candidates(state) {
  const most = Math.max(...state.candidates.map(([, total]) => total));
  const rows = state.candidates.map(([range, total]) => {
    const bar = el("i", { class: "mx-bar" });
    bar.style.width = `${Math.max(1, (100 * total) / most)}%`;
    return el(
      "div",
      { class: "mx-fact", "aria-current": String(range === state.range) },
      el("span", { text: `range ${range}` }),
      el("span", { text: bytes(total) }),
      el("span", { class: "mx-bar-box" }, bar),
    );
  });
  return el("div", { class: "mx-fact-list" }, ...rows);
}

export default plannedView(MemoryPlan);
