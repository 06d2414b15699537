// The dependency engine stopped after each move: queues, ready set, workers, memory.

import { CodePanel } from "./lib/page/code_panel.js";
import { button, el } from "./lib/page/dom.js";
import { Frame } from "./lib/page/frame.js";
import { stateView } from "./lib/page/state_view.js";
import { bytes } from "./lib/drawing/scale.js";
import { DONE, Parts, STARTING, momentOf } from "./lib/engine/scheduler_parts.js";

const HELP =
  "The main thread pushes operations in the order of the program. Each asks for its variables: " +
  "reads share one, a write has it alone, and what cannot be granted waits in the variable's " +
  "queue (dashed). An operation with all its variables is ready, and a free worker starts it. " +
  "Step on and back, or choose yourself: drag a ready operation to a worker, or select it and " +
  "press the worker's number. What may not start says why. Moves of your own are a line beside " +
  "the engine's.";
/** @type {[string, string][]} */
const KEYS = [
  ["← →", "step back, step on"],
  ["Space", "play, pause"],
  ["Home End", "first, last move"],
  ["↑ ↓", "select an operation"],
  ["1 … 8", "start the selected one on this worker"],
  ["W", "start nothing: wait"],
  ["E", "let the engine go on"],
  ["B", "breakpoint at the selected one"],
  ["R", "run to the next breakpoint"],
  ["[ ]", "previous, next line"],
  ["O", "source: of the move, or of why the selected operation waits"],
  ["T", "table"],
];
const TEMPO = 650; // milliseconds for a move

class SchedulerStepper {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.revision = -1;
    this.step = 0;
    this.selected = 0;
    this.playing = 0;
    this.breaks = new Set();
    this.frame = new Frame({
      el: host,
      model,
      title: "Scheduler",
      name: "scheduler",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.addTools();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source of this move, or of why the selected operation waits",
      what: () => ({ step: this.step, op: this.selected }),
    });
    this.strip = el("div", { class: "mx-passes", role: "tablist", "aria-label": "Lines of moves" });
    this.words = el("p", { class: "mx-sch-words", "aria-live": "polite" });
    this.slider = el("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": "Move",
      signal,
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.place = el("output");
    const scrub = el("div", { class: "mx-sch-scrub" }, this.slider, this.place);
    this.parts = new Parts({
      signal,
      select: (op) => this.select(op),
      start: (op, worker) => this.start(op, worker),
      go: (step) => this.go(step),
    });
    this.frame.picture.append(this.strip, scrub, this.words, ...this.parts.roots);
    signal.addEventListener("abort", () => clearInterval(this.playing), { once: true });
    this.update();
  }

  addTools() {
    const { signal } = this;
    const tool = (label, icon, title, onclick) => {
      const node = button({ label, icon, title, signal, onclick });
      this.frame.addTool(node);
      return node;
    };
    this.workers = el(
      "select",
      {
        class: "mx-select",
        "aria-label": "Workers",
        title: "Workers",
        signal,
        onchange: () => this.ask({ kind: "workers", count: Number(this.workers.value) }),
      },
      ...[0, 1, 2, 3, 4, 6, 8].map((count) =>
        el("option", { value: count, text: count ? `${count} worker${count > 1 ? "s" : ""}` : "NaiveEngine" }),
      ),
    );
    this.frame.addTool(this.workers);
    tool("", "back", "Step back (←)", () => this.go(this.step - 1));
    this.player = tool("", "play", "Play or pause (Space)", () => this.play());
    tool("", "step", "Step on (→)", () => this.go(this.step + 1));
    tool("Run to", undefined, "Run to the next breakpoint (R)", () => this.runTo());
    this.waiter = tool("Wait", undefined, "Start nothing now: time goes on (W)", () =>
      this.ask({ kind: "wait" }),
    );
    this.engine = tool("Engine", undefined, "Let the engine go on to the end (E)", () =>
      this.ask({ kind: "finish" }),
    );
  }

  get state() {
    return this.model.get("state");
  }

  /** A new state from the kernel. */
  update() {
    const { state } = this;
    if (state.revision === this.revision) return;
    this.revision = state.revision;
    this.moments = state.moments.map(momentOf);
    this.slider.max = String(this.moments.length - 1);
    this.workers.value = String(state.workers);
    this.selected = Math.min(this.selected, state.operations.length - 1);
    this.strip.hidden = state.lines.length < 2;
    this.strip.replaceChildren(...state.lines.map((one, k) => this.tab(one, k)));
    this.parts.show(state, this.moments, this.breaks);
    this.go(state.step);
    this.frame.root.dataset.revision = String(state.revision);
  }

  tab([name, makespan, over], index) {
    return el(
      "button",
      {
        type: "button",
        class: "mx-pass",
        role: "tab",
        title: over ? `${name}: done after ${makespan} µs` : `${name}: ${makespan} µs so far`,
        "aria-selected": String(index === this.state.shown),
        signal: this.signal,
        data: { line: name },
        onclick: () => this.ask({ kind: "show", name }),
      },
      el("span", { text: name }),
      el("small", { text: over ? `${makespan} µs` : `${makespan} µs …` }),
    );
  }

  /** Ask the kernel for a move at the moment that is shown. */
  ask(message) {
    this.play(false);
    this.model.send({ step: this.step, ...message });
  }

  /** @param {{ok: boolean, text: string}} answer */
  hear(answer) {
    if (answer.ok && !answer.text) return;
    this.say(answer.text, answer.ok ? "" : "refused");
  }

  say(text, kind = "") {
    this.words.textContent = text;
    this.words.dataset.kind = kind;
    this.frame.root.dataset.refused = kind === "refused" ? text : "";
  }

  /** Show the state after so many moves. @param {number} step */
  go(step) {
    this.step = Math.max(0, Math.min(this.moments.length - 1, step));
    this.say(this.moments[this.step].text + this.verdict());
    this.slider.value = String(this.step);
    this.draw();
    return true;
  }

  /** At the end of a line of one's own: how it compares with the best. */
  verdict() {
    const { state, moments, step } = this;
    const [, makespan, over] = state.lines[state.shown];
    if (state.own < 0 || !over || step < moments.length - 1) return "";
    const engine = state.lines[0][1];
    if (makespan <= state.best)
      return ` ${makespan} µs: no schedule is faster${makespan < engine ? `, and the engine needs ${engine} µs` : ""}.`;
    const goal = state.exact ? `${state.best} µs can be reached` : `the bound is ${state.best} µs`;
    return ` ${makespan} µs; ${goal}, the engine needs ${engine} µs.`;
  }

  draw() {
    const { state, step, moments } = this;
    const now = moments[step];
    this.place.textContent = `move ${step} of ${moments.length - 1} · ${now.time} µs`;
    this.parts.draw(step, this.selected);
    const over = state.lines[state.shown][2];
    this.waiter.disabled = now.states.every((one) => one === DONE);
    this.engine.disabled = over;
    this.frame.setNumbers([
      ["time", `${now.time} µs`],
      ["ready", String(now.ready.length)],
      ["in use", bytes(now.live)],
      [over ? "done after" : "so far", `${state.lines[state.shown][1]} µs`],
      [state.exact ? "the best" : "no schedule below", `${state.best} µs`],
    ]);
    this.frame.setSource("virtual");
    this.frame.setLegend([
      ["waiting", "var(--mx-op-1)"],
      ["ready", "var(--mx-op-2)"],
      ["running", "var(--mx-op-3)"],
      ["done", "var(--mx-op-4)"],
      ["granted", "var(--mx-fg2)", "line"],
      ["waits in the queue", "var(--mx-fg2)", "dash"],
    ]);
    Object.assign(this.frame.root.dataset, {
      step: String(step),
      moves: String(moments.length - 1),
      time: String(now.time),
      kind: now.kind,
      line: state.lines[state.shown][0],
      selected: state.operations[this.selected][0],
      ready: now.ready.map((op) => state.operations[op][0]).join(" "),
      done: String(now.states.filter((one) => one === DONE).length),
      live: String(now.live),
    });
  }

  /** @param {number} op */
  select(op) {
    const count = this.state.operations.length;
    this.selected = (op + count) % count;
    this.draw();
    const waits = this.step === this.state.step && this.state.waits[this.selected];
    if (waits) this.say(waits);
    else if ([0, 1].includes(this.moments[this.step].states[this.selected]))
      this.model.send({ kind: "why", op: this.selected, step: this.step });
    return true;
  }

  /** @param {number} op @param {number | undefined} worker */
  start(op, worker) {
    this.selected = op;
    this.ask({ kind: "start", op, ...(worker === undefined ? {} : { worker }) });
    return true;
  }

  play(on = !this.playing) {
    clearInterval(this.playing);
    this.playing = 0;
    if (on) {
      if (this.step === this.moments.length - 1) this.go(0);
      this.playing = setInterval(() => {
        this.go(this.step + 1);
        if (this.step >= this.moments.length - 1) this.play(false);
      }, TEMPO);
    }
    this.player.setAttribute("aria-pressed", String(Boolean(this.playing)));
    this.frame.root.dataset.playing = String(Boolean(this.playing));
    return true;
  }

  toggleBreak() {
    if (!this.breaks.delete(this.selected)) this.breaks.add(this.selected);
    this.draw();
    return true;
  }

  /** To the next start of an operation with a breakpoint, or to the end. */
  runTo() {
    const stop = this.moments.findIndex(
      (one, k) => k > this.step && one.kind === STARTING && this.breaks.has(one.op),
    );
    return this.go(stop < 0 ? this.moments.length - 1 : stop);
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { shown, lines } = this.state;
    const other = (index) =>
      index >= 0 && index < lines.length && this.ask({ kind: "show", name: lines[index][0] });
    if (press === "ArrowLeft") return this.go(this.step - 1);
    if (press === "ArrowRight") return this.go(this.step + 1);
    if (press === "ArrowUp") return this.select(this.selected - 1);
    if (press === "ArrowDown") return this.select(this.selected + 1);
    if (press === " ") return this.play();
    if (press === "Home") return this.go(0);
    if (press === "End") return this.go(this.moments.length - 1);
    if (press >= "1" && press <= "8" && press.length === 1)
      return this.start(this.selected, Number(press) - 1);
    if (press === "b") return this.toggleBreak();
    if (press === "r") return this.runTo();
    if (press === "w") this.ask({ kind: "wait" });
    else if (press === "e") this.ask({ kind: "finish" });
    else if (press === "[") other(shown - 1);
    else if (press === "]") other(shown + 1);
    else return false;
    return true;
  }
}

export default stateView(SchedulerStepper, {
  answers: { answer: (view, message) => view.hear(message) },
});
