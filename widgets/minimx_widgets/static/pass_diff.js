// A graph before and after each pass, one decision after the other, with its source.

import { button, el, lookAt } from "./lib/page/dom.js";
import { CAMERA_KEYS } from "./lib/graph/camera.js";
import { Frame, tipRow } from "./lib/page/frame.js";
import { GraphCanvas } from "./lib/graph/graph_canvas.js";
import { STATES, stateAt } from "./lib/graph/graph_paint.js";
import { Kept } from "./lib/page/kept.js";
import { plannedView } from "./lib/page/state_view.js";
import { Trials } from "./lib/page/trials.js";

const HELP =
  "Each pass makes a new graph of the last one. The picture holds both: what a pass added " +
  "has a green border, what it removed a dashed red one, and a yellow border means that a " +
  "node now reads something else. The list says why, and which lines decided. Step through " +
  "the passes with ← →, through single decisions with ↑ ↓. In a training graph the forward " +
  "pass runs down on the left, the backward pass up on the right.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "previous, next pass"],
  ["↑ ↓", "previous, next decision"],
  ["Esc", "all decisions at once"],
  ["C", "colour by family of operators or by storage id"],
  ["V", "draw weights and other variables, or not"],
  ["X", "back to the knobs in force"],
  ["T", "table"],
  ...CAMERA_KEYS,
];

class PassDiff {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    /** @type {number | null} the decision that is looked at; null for all of them */
    this.step = null;
    this.colour = "family";
    this.known = "";
    this.frame = new Frame({
      el: host,
      model,
      title: "Passes",
      name: "passes",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        this.canvas?.surface.invalidate();
        if (this.canvas && this.part) this.tell();
      },
    });
    this.addTools();
    this.trials = new Trials({ model, frame: this.frame, signal });
    this.strip = el("div", { class: "mx-passes", role: "tablist", "aria-label": "Passes" });
    this.stage = el("div", { class: "mx-stage" });
    this.list = el("div", { class: "mx-changes", tabindex: "0", "aria-label": "Decisions" });
    this.source = el("div", { class: "mx-source" });
    this.side = el("div", { class: "mx-side" }, this.list, this.source);
    this.side.style.height = `${model.get("height")}px`;
    const split = el("div", { class: "mx-beside" }, this.stage, this.side);
    this.frame.picture.append(this.strip, split);
    this.canvas = new GraphCanvas({
      frame: this.frame,
      parent: this.stage,
      height: model.get("height"),
      signal,
      looks: (index) => this.looks(index),
      line: (index) => this.lineLooks(index),
      click: (index) => this.click(index),
      tell: (index) => this.reasons(index),
    });
    this.kept = new Kept({
      model,
      signal,
      parts: {
        colour: { get: () => this.colour, set: (value) => this.setColour(value) },
        part: {
          get: () => this.chosen ?? -1,
          set: (part) => {
            this.chosen = this.state.parts[String(part)] ? part : undefined;
            this.update();
          },
        },
      },
    });
    this.update();
  }

  addTools() {
    const { signal } = this;
    this.colours = this.frame.addChoice(
      "Colour",
      ["family", "storage"],
      this.colour,
      (value) => this.setColour(value),
    );
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

  get state() {
    return this.model.get("state");
  }

  /** The pass that is shown: its picture, decisions, sources. */
  get part() {
    return this.state.parts[String(this.index)];
  }

  get index() {
    return this.chosen ?? this.state.shown;
  }

  /** A new state from the kernel. */
  update() {
    const { state } = this;
    if (!state.parts[String(this.chosen)]) this.chosen = undefined;
    this.trials.show(state);
    this.frame.root.dataset.revision = state.revision;
    if (state.shown < 0) return;
    this.showPasses();
    this.showPart();
  }

  showPasses() {
    const { passes } = this.state;
    const nodes = passes.map(([name, before, after, changes], i) => {
      const by = after - before;
      const badge = by ? `${by > 0 ? "+" : "−"}${Math.abs(by)}` : changes ? `${changes}` : "";
      return el(
        "button",
        {
          type: "button",
          class: "mx-pass",
          role: "tab",
          title: `${name}: ${before} → ${after} nodes, ${changes} decisions`,
          "aria-selected": String(i === this.index),
          signal: this.signal,
          data: { pass: name, idle: String(!changes && !by) },
          onclick: () => this.go(i),
        },
        el("span", { text: name }),
        badge ? el("small", { text: badge }) : null,
      );
    });
    this.strip.replaceChildren(...nodes);
  }

  showPart() {
    const { part } = this;
    const picture = JSON.stringify([this.index, part.boxes, part.lines]);
    if (picture !== this.known) {
      const first = this.pass !== this.index || part.size.join() !== this.size;
      this.known = picture;
      this.size = part.size.join();
      if (this.pass !== this.index) this.step = null;
      this.pass = this.index;
      if (first) this.canvas.framed = false;
      this.canvas.show(part);
      this.showChanges();
    }
    if (this.step !== null && this.step >= part.changes.length) this.step = null;
    this.showStep(false);
  }

  showChanges() {
    const { changes } = this.part;
    const rows = changes.map(([rule, names, reason], i) =>
      el(
        "button",
        {
          type: "button",
          class: "mx-change",
          role: "option",
          tabindex: "-1",
          signal: this.signal,
          data: { change: i },
          onclick: () => this.setStep(this.step === i ? null : i),
        },
        el("b", { text: rule }),
        el("code", { text: names.join(", "), title: names.join("\n") }),
        el("p", { text: reason }),
      ),
    );
    const none = el("p", {
      class: "mx-empty",
      text: this.part.counts.added
        ? "This pass follows rules and weighs nothing: no decision to tell. Its source is below."
        : "This pass decided nothing here. Its source is below.",
    });
    this.list.setAttribute("role", rows.length ? "listbox" : "group"); // or words only
    this.list.replaceChildren(...(rows.length ? rows : [none]));
  }

  setColour(value) {
    this.colour = value;
    this.colours?.show(value);
    this.canvas.surface.invalidate();
    this.tell();
  }

  /** Look at another pass; the kernel draws it if it has not yet. */
  go(index) {
    const { state } = this;
    if (index < 0 || index >= state.passes.length || index === this.index) return;
    if (state.parts[String(index)] && Object.keys(state.parts).length > 1) {
      this.chosen = index;
      this.update();
    } else this.model.send({ kind: "pass", index });
  }

  setStep(step) {
    this.step = step;
    this.showStep(true);
  }

  /** Mark the decision that is looked at, and bring its nodes into sight. */
  showStep(move) {
    const { part, step } = this;
    const rows = [...this.list.querySelectorAll(".mx-change")];
    lookAt(this.list, rows[step ?? -1]);
    for (const row of rows) {
      const on = row.dataset.change === String(step);
      row.setAttribute("aria-selected", String(on));
      if (on && move) row.scrollIntoView({ block: "nearest" });
    }
    const rule = step === null ? null : part.changes[step][0];
    this.showSource((rule !== null && part.sources[rule]) || part.source);
    if (move && step !== null) this.canvas.look(this.about(step));
    this.canvas.surface.invalidate();
    this.tell();
  }

  /** The boxes that a decision is about. */
  about(step) {
    return this.canvas.picture.boxes
      .map((box, i) => (box.decided.includes(step) ? i : -1))
      .filter((i) => i >= 0);
  }

  showSource(source) {
    const text = source ? `${source[0]}:${source[1]}` : "";
    if (this.source.dataset.at === text) return;
    this.source.dataset.at = text;
    this.source.replaceChildren(
      ...(source
        ? [el("small", { text }), el("pre", { text: source[2], tabindex: "0" })]
        : [el("small", { text: "this pass is not one of minimx/core/graph" })]),
    );
  }

  /** How a box is painted; null for one that is not there yet. */
  looks(index) {
    const box = this.canvas.picture.boxes[index];
    const { theme } = this.frame;
    const state = stateAt(box, this.step, this.part.changes.length - 1);
    if (state === null) return null;
    const stored = this.colour === "storage" && box.storage >= 0;
    const plain = this.colour === "storage" ? theme.line : theme.family[box.family];
    return {
      state,
      fill: stored ? theme.layer[box.storage % theme.layer.length] : plain,
      tint: stored ? 0.2 : 0,
      badge: stored ? `#${box.storage}` : "",
      ring: this.step !== null && box.decided.includes(this.step) ? theme.accent : null,
    };
  }

  lineLooks(index) {
    const { theme } = this.frame;
    const line = this.canvas.picture.lines[index];
    if (!this.looks(line.a) || !this.looks(line.b)) return null;
    const whole = this.step === null || this.step >= this.part.changes.length - 1;
    const state = whole ? line.state : 0;
    const kept = state === 0;
    return {
      ink: kept ? theme.muted : theme.state[state],
      alpha: kept ? 0.5 : 0.9,
      width: kept ? 1.1 : 1.8,
      dash: STATES[state] === "removed",
    };
  }

  /** A click on a node goes to the next decision about it. */
  click(index) {
    const decided = index < 0 ? [] : this.canvas.picture.boxes[index].decided;
    const now = decided.indexOf(this.step ?? -1);
    this.setStep(decided.length ? decided[(now + 1) % decided.length] : null);
  }

  reasons(index) {
    const box = this.canvas.picture.boxes[index];
    const rows = [];
    if (box.storage >= 0) rows.push(tipRow("storage", `#${box.storage}`));
    rows.push(tipRow("in this pass", STATES[box.state]));
    for (const step of box.decided.slice(0, 2)) {
      const [rule, , reason] = this.part.changes[step];
      rows.push(el("div", { class: "mx-tip-note" }, el("b", { text: rule }), ` ${reason}`));
    }
    return rows;
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const count = this.part?.changes.length ?? 0;
    if (press === "ArrowLeft") this.go(this.index - 1);
    else if (press === "ArrowRight") this.go(this.index + 1);
    else if (press === "ArrowDown") {
      if (count) this.setStep(this.step === null ? 0 : Math.min(count - 1, this.step + 1));
    } else if (press === "ArrowUp") this.setStep(this.step ? this.step - 1 : null);
    else if (press === "Escape") this.setStep(null);
    else if (press === "c") this.setColour(this.colour === "family" ? "storage" : "family");
    else if (press === "v")
      this.model.send({ kind: "parameters", on: !this.model.get("parameters") });
    else if (press === "x") this.trials.reset();
    else return this.canvas.camera.key(press);
    return true;
  }

  /** Numbers in the head, the legend, and data attributes for tests. */
  tell() {
    this.kept?.note();
    const { state, part, index } = this;
    const { theme } = this.frame;
    const [name, before, after] = state.passes[index];
    const first = state.passes[0][1];
    const last = state.passes[state.passes.length - 1][2];
    this.frame.setNumbers([
      ["pass", `${index + 1} of ${state.passes.length}`],
      ["nodes", `${before} → ${after}`],
      ["all passes", `${first} → ${last}`],
      ["decisions", this.step === null ? `${part.changes.length}` : `${this.step + 1} of ${part.changes.length}`],
    ]);
    const families = this.model.get("families");
    const used = new Set(this.canvas.picture.boxes.map((box) => box.family));
    const states = STATES.map((word, i) => [word, theme.state[i], "line"]);
    this.frame.setLegend([
      ...(this.colour === "family"
        ? families.map((word, i) => [word, theme.family[i]]).filter((_, i) => used.has(i))
        : [["#n: the planner's storage id", theme.layer[0]]]),
      ...states.filter(([word]) => word !== "kept" && part.counts[word] > 0),
    ]);
    Object.assign(this.frame.root.dataset, {
      pass: name,
      passes: state.passes.length,
      step: this.step ?? "",
      changes: part.changes.length,
      boxes: this.canvas.picture.boxes.length,
      added: part.counts.added,
      removed: part.counts.removed,
      colour: this.colour,
    });
  }
}

export default plannedView(PassDiff);
