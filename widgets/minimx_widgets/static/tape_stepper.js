// A tape as it was recorded and the walk back along it, one step at a time.

import { CAMERA_KEYS } from "./lib/graph/camera.js";
import { button, el, lookAt } from "./lib/page/dom.js";
import { Frame, tipHead, tipRow } from "./lib/page/frame.js";
import { GraphCanvas } from "./lib/graph/graph_canvas.js";
import { Kept } from "./lib/page/kept.js";
import { plannedView } from "./lib/page/state_view.js";
import { bytes } from "./lib/drawing/scale.js";
import { Surface } from "./lib/drawing/surface.js";
import { STATES, paintStrip, statesAt, stepAtPlace, stepOf } from "./lib/graph/tape_paint.js";

const NOTHING =
  "Nothing was recorded on a tape: compute in `with autograd.record():` inside `with Watch() as watch:`.";
const HELP =
  "Under record() every call is written on the tape, with what its gradient will need; results " +
  "that nobody else holds are kept by the tape alone, and the green band counts their bytes. " +
  "backward() walks from the last call to the first. A step sums the gradients that have " +
  "arrived at a call, applies its rule, sends gradients on (orange lines) and lets go of what " +
  "was kept. Point at a call: its line in the program, what it keeps, and how many bytes.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "step back, step on"],
  ["Space", "play, pause"],
  ["Home End", "first, last step"],
  ["B", "where backward begins"],
  ["P", "where the tape keeps most"],
  ["[ ]", "previous, next tape"],
  ["T", "table"],
  ...CAMERA_KEYS,
];
const TEMPO = 700; // milliseconds for a step

class TapeStepper {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.step = 0;
    this.run = 0;
    this.revision = -1;
    this.hovered = -1;
    this.playing = 0;
    this.frame = new Frame({
      el: host,
      model,
      title: "Tape",
      name: "tape",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
      ontheme: () => {
        this.repaint();
        if (this.steps) this.tell();
      },
    });
    this.addTools();
    this.strip = el("div", { class: "mx-passes", role: "tablist", "aria-label": "Tapes" });
    this.words = el("div", { class: "mx-why-line", "aria-live": "polite" });
    this.stage = el("div", { class: "mx-stage" });
    this.list = el("div", {
      class: "mx-changes",
      role: "listbox",
      tabindex: "0",
      "aria-label": "Steps",
    });
    const side = el("div", { class: "mx-side" }, this.list);
    side.style.height = `${model.get("height")}px`;
    const split = el("div", { class: "mx-beside" }, this.stage, side);
    this.chart = el("div", { class: "mx-tape-strip" });
    this.frame.picture.append(this.strip, this.words, split, this.chart);
    this.canvas = new GraphCanvas({
      frame: this.frame,
      parent: this.stage,
      height: model.get("height"),
      signal,
      looks: (index) => this.looks(index),
      line: (index) => this.lineLooks(index),
      click: (index) => this.click(index),
      tell: (index) => [tipRow("now", STATES[this.states[index]])],
    });
    this.addStrip();
    this.kept = new Kept({
      model,
      signal,
      parts: {
        tape: { get: () => this.run, set: (run) => this.showRun(run) },
        at: {
          get: () => (this.step === this.tape.peak ? -1 : this.step),
          set: (step) => this.go(step < 0 ? this.tape.peak : step),
        },
      },
    });
    signal.addEventListener("abort", () => clearInterval(this.playing), { once: true });
    this.update();
  }

  addTools() {
    const { signal } = this;
    const tool = (icon, title, onclick) => {
      const node = button({ label: "", icon, title, signal, onclick });
      this.frame.addTool(node);
      return node;
    };
    tool("back", "Step back (←)", () => this.go(this.step - 1));
    this.player = tool("play", "Play or pause (Space)", () => this.play());
    tool("step", "Step on (→)", () => this.go(this.step + 1));
    tool("fit", "Fit the whole tape (F)", () => this.canvas.camera.fit());
  }

  addStrip() {
    const { signal } = this;
    this.surface = new Surface({
      parent: this.chart,
      height: 112,
      signal,
      draw: (ctx, width, height) => {
        const { steps, step, hovered } = this;
        if (!steps.length) return;
        const { theme } = this.frame;
        paintStrip(ctx, { steps, most: this.most, step, hovered, width, height, theme });
      },
    });
    const at = (event) =>
      stepAtPlace(this.steps.length, this.surface.width, this.surface.place(event).x);
    const { node } = this.surface;
    node.addEventListener(
      "pointermove",
      (event) => {
        if (event.buttons) this.go(at(event));
        this.point(at(event));
      },
      { signal },
    );
    node.addEventListener("pointerleave", () => this.point(-1), { signal });
    node.addEventListener("pointerdown", (event) => this.go(at(event)), { signal });
  }

  get state() {
    return this.model.get("state");
  }

  /** The tape that is shown. */
  get tape() {
    return this.state.runs[this.run];
  }

  /** A new state from the kernel. */
  update() {
    const { state } = this;
    if (state.revision === this.revision) return;
    this.revision = state.revision;
    const all = state.runs.flatMap((run) => run.steps.map(stepOf));
    this.most = 1.1 * Math.max(1, ...all.map((one) => one.kept + one.flight));
    this.showRun(state.shown, state.step);
    // Once more when the page has the view: before that it has neither places nor colours.
    requestAnimationFrame(() => this.signal.aborted || this.go(this.step));
    this.frame.root.dataset.revision = String(state.revision);
  }

  /** Another tape. @param {number} run @param {number} [step] */
  showRun(run, step) {
    const { state } = this;
    if (run < 0 || run >= state.runs.length) return;
    this.run = run;
    this.steps = this.tape.steps.map(stepOf);
    this.strip.hidden = state.runs.length < 2;
    this.strip.replaceChildren(...state.runs.map((one, k) => this.tab(one, k)));
    this.list.replaceChildren(...this.steps.map((one, k) => this.row(one, k)));
    this.canvas.framed = false;
    this.canvas.show(this.tape);
    this.go(step ?? this.tape.peak);
  }

  tab(run, index) {
    const most = Math.max(0, ...run.steps.map((row) => stepOf(row).kept));
    return el(
      "button",
      {
        type: "button",
        class: "mx-pass",
        role: "tab",
        title: `${run.name}: ${run.calls} calls, at most ${most.toLocaleString("en")} bytes kept`,
        "aria-selected": String(index === this.run),
        signal: this.signal,
        data: { run: run.name },
        onclick: () => this.showRun(index),
      },
      el("span", { text: run.name }),
      el("small", { text: bytes(most) }),
    );
  }

  row(step, index) {
    const gist = { record: "record", begin: "backward", walk: "walk", store: "store", drop: "drop" };
    return el(
      "button",
      {
        type: "button",
        class: "mx-change",
        role: "option",
        tabindex: "-1",
        signal: this.signal,
        data: { step: index },
        onclick: () => this.go(index),
      },
      el("b", { text: `${index + 1} ${gist[step.kind]}` }),
      el("p", { text: step.words }),
    );
  }

  /** Show a step. @param {number} step */
  go(step) {
    if (!this.steps.length) return this.tell();
    this.step = Math.max(0, Math.min(this.steps.length - 1, step));
    const { boxes, outside } = this.tape;
    this.states = statesAt(this.steps, this.step, boxes.length, outside);
    for (const row of this.list.children) {
      const on = row.dataset.step === String(this.step);
      row.setAttribute("aria-selected", String(on));
      if (on) this.list.scrollTop = row.offsetTop - this.list.offsetTop - 60;
    }
    lookAt(this.list, this.list.children[this.step]);
    this.words.textContent = this.steps[this.step].words;
    this.repaint();
    this.tell();
    this.kept.note();
    return true;
  }

  /** One step after the other, until the last; again from the first after that. */
  play(on = !this.playing) {
    clearInterval(this.playing);
    this.playing = 0;
    if (on) {
      if (this.step === this.steps.length - 1) this.go(0);
      this.playing = setInterval(() => {
        this.go(this.step + 1);
        if (this.step >= this.steps.length - 1) this.play(false);
      }, TEMPO);
    }
    this.player.setAttribute("aria-pressed", String(Boolean(this.playing)));
    this.frame.root.dataset.playing = String(Boolean(this.playing));
  }

  repaint() {
    this.canvas?.surface.invalidate();
    this.surface?.invalidate();
  }

  /** How a box is painted; null for one that is not there yet. */
  looks(index) {
    const { theme } = this.frame;
    const state = STATES[this.states?.[index] ?? 0];
    if (state === "absent") return null;
    const one = this.steps[this.step];
    const box = this.canvas.picture.boxes[index];
    const edges = {
      reached: theme.category[1],
      retained: theme.mark,
      stored: theme.category[3],
      "let go": theme.muted,
    };
    const mine = this.tape.kept[index];
    return {
      state: 0,
      fill: theme.family[box.family],
      badge: mine && state !== "let go" ? bytes(mine) : "",
      ring: one.at === index ? theme.accent : null,
      edge: edges[state] ?? null,
      dashed: state === "let go",
      tint: state === "let go" ? -0.1 : 0,
    };
  }

  lineLooks(index) {
    const { theme } = this.frame;
    const line = this.canvas.picture.lines[index];
    if (!this.looks(line.a) || !this.looks(line.b)) return null;
    const one = this.steps[this.step];
    const lit = line.b === one.at && one.sent.includes(line.a);
    return {
      ink: lit ? theme.category[1] : theme.muted,
      alpha: lit ? 1 : 0.5,
      width: lit ? 3 : 1.1,
      dash: false,
    };
  }

  /** A click on a box goes to the next step that is about it. */
  click(index) {
    if (index < 0) return;
    const about = this.steps.map((one, k) => (one.at === index ? k : -1)).filter((k) => k >= 0);
    const next = about.find((k) => k > this.step) ?? about[0];
    if (next !== undefined) this.go(next);
  }

  /** Point at a step of the strip; -1 at none. @param {number} step */
  point(step) {
    if (step === this.hovered) return;
    this.hovered = step;
    this.surface.invalidate();
    if (step < 0) return this.frame.hideTip();
    const one = this.steps[step];
    const { theme } = this.frame;
    this.frame.showTip(
      (step / this.steps.length) * this.surface.width,
      20,
      [
        tipHead(`step ${step + 1}`, theme.category[3]),
        tipRow("kept", `${one.kept.toLocaleString("en")} B`),
        tipRow("between calls", `${one.flight.toLocaleString("en")} B`),
        tipRow("for variables", `${one.ready.toLocaleString("en")} B`),
      ],
      this.surface.node,
    );
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const begins = this.steps.findIndex((one) => one.kind === "begin");
    if (press === "ArrowLeft") this.go(this.step - 1);
    else if (press === "ArrowRight") this.go(this.step + 1);
    else if (press === " ") this.play();
    else if (press === "Home") this.go(0);
    else if (press === "End") this.go(this.steps.length - 1);
    else if (press === "b") begins >= 0 && this.go(begins);
    else if (press === "p") this.go(this.tape.peak);
    else if (press === "[") this.showRun(this.run - 1);
    else if (press === "]") this.showRun(this.run + 1);
    else return this.canvas.camera.key(press);
    return true;
  }

  /** Numbers in the head, the legend, and data attributes for tests. */
  tell() {
    const { frame, tape, steps } = this;
    const { theme } = frame;
    const one = steps[this.step] ?? { kept: 0, flight: 0, ready: 0 };
    frame.setNote(tape.walked ? "" : steps.length ? "backward() has not run on this tape." : NOTHING);
    frame.setNumbers([
      ["step", steps.length ? `${this.step + 1} of ${steps.length}` : "none: nothing was recorded"],
      ["kept by the tape", bytes(one.kept)],
      ["gradients between calls", bytes(one.flight)],
    ]);
    const used = new Set(this.canvas.picture.boxes.map((box) => box.family));
    const families = this.model.get("families");
    frame.setLegend([
      ...families.map((word, i) => [word, theme.family[i]]).filter((_, i) => used.has(i)),
      ["a gradient arrived", theme.category[1], "line"],
      ["let go", theme.muted, "dash"],
      ["retained", theme.mark, "line"],
      ["grad stored", theme.category[3], "line"],
      ["results that the tape keeps", theme.category[3]],
      ["gradients between calls", theme.category[1]],
    ]);
    Object.assign(frame.root.dataset, {
      step: String(this.step),
      steps: String(steps.length),
      run: tape.name,
      kept: String(one.kept),
      flight: String(one.flight),
      kind: one.kind ?? "",
      boxes: String((this.states ?? []).filter(Boolean).length),
      gone: String((this.states ?? []).filter((state) => STATES[state] === "let go").length),
    });
  }
}

export default plannedView(TapeStepper);
