// What to train, how, and the buttons: train, pause, step, stop.

import { CodePanel } from "../lib/page/code_panel.js";
import { button, el } from "../lib/page/dom.js";
import { Frame } from "../lib/page/frame.js";
import { LIVE, WORDS } from "../lib/data/link.js";
import { refusal } from "../lib/page/refusal.js";
import { listeningView } from "../lib/page/state_view.js";

const HELP =
  "Choose what to train and press Train: it runs in the background, so notebook and knobs " +
  "stay free. A running training takes most settings up at its next step. One marked with ↺ " +
  "begins afresh: the lab asks before it does, and Undo brings the training back.";
/** @type {[string, string][]} */
const KEYS = [
  ["Space", "train, or pause and go on"],
  ["N", "one step"],
  ["S", "stop"],
  ["W", "write the run to a file"],
  ["O", "source: where an error was raised"],
];
const RUNNING = ["training", "evaluating"];

class LabControls {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    /** The error that is shown. */
    this.wrong = "";
    this.fields = new Map();
    this.frame = new Frame({
      el: host,
      model,
      title: "minimx lab",
      name: "lab",
      help: HELP,
      keys: KEYS,
      signal,
      table: false,
      onkey: (event) => this.key(event),
    });
    this.build();
    this.source = new CodePanel({
      model,
      frame: this.frame,
      signal,
      title: "Source: where the error was raised",
      what: () => (this.ended ? { name: "the error" } : "No error ended the training."),
    });
    this.source.button.hidden = true;
    model.on("change:settings", () => this.showSettings());
    model.on("change:fields", () => this.buildFields());
    model.on("change:status", () => this.showStatus(this.model.get("status")));
    model.on("msg:custom", (message) => this.hear(message));
    this.frame.root.addEventListener("mx-kernel", (event) => this.showKernel(event.detail), {
      signal,
    });
    this.showSettings();
    this.showStatus(model.get("status"));
    model.send({ kind: "hello" }); // from now on somebody reads the progress
  }

  build() {
    const { signal } = this;
    const press = (/** @type {string} */ command) => () => this.command(command);
    this.train = button({
      label: "Train",
      icon: "play",
      title: "Train (Space)",
      kind: "main",
      signal,
      onclick: press("train"),
    });
    this.pause = button({
      label: "Pause",
      icon: "pause",
      title: "Pause, or go on (Space)",
      kind: "solid",
      signal,
      onclick: press("pause"),
    });
    this.step = button({
      label: "Step",
      icon: "step",
      title: "One step, then pause (N)",
      kind: "solid",
      signal,
      onclick: press("step"),
    });
    this.stop = button({
      label: "Stop",
      icon: "stop",
      title: "Stop and forget where training was (S)",
      kind: "solid",
      signal,
      onclick: press("stop"),
    });
    this.bar = el(
      "div",
      {
        class: "mx-progress",
        role: "progressbar",
        "aria-label": "Progress",
        "aria-valuemin": "0",
        "aria-valuemax": "100",
      },
      el("i"),
    );
    this.words = el("div", { class: "mx-progress-words", role: "status" });
    this.busy = el("div", { class: "mx-busy", role: "status" });
    this.undo = button({
      label: "Undo",
      icon: "back",
      title: "Go back to the training that was left",
      kind: "solid",
      signal,
      onclick: press("undo"),
    });
    this.left = el("div", { class: "mx-left", hidden: true }, el("span"), this.undo);
    this.recall = button({
      label: "Bring it back",
      icon: "reset",
      title: "Its settings, knobs, record and views; the weights went with the kernel",
      kind: "solid",
      signal,
      onclick: press("recall"),
    });
    this.recall.dataset.command = "recall";
    this.before = el("div", { class: "mx-recall", hidden: true }, el("span"), this.recall);
    this.frame.addTool(
      button({
        label: "Save run",
        title: "Write the record and the views of this run to one file beside the notebook (W)",
        signal,
        onclick: press("save"),
      }),
    );
    this.form = el("div", { class: "mx-form" });
    const names = { train: this.train, pause: this.pause, step: this.step, stop: this.stop };
    for (const [name, node] of Object.entries(names)) node.dataset.command = name;
    this.frame.numbers.replaceWith(
      el("div", { class: "mx-buttons" }, this.train, this.pause, this.step, this.stop),
      el("div", { class: "mx-run-state" }, this.bar, this.words, this.busy),
    );
    this.frame.picture.append(this.before, this.left, this.form);
    this.buildFields();
  }

  buildFields() {
    const { signal } = this;
    this.fields.clear();
    this.form.replaceChildren(
      ...this.model.get("fields").flatMap((field) => {
        const id = `mx-${this.model.get("run_id")}-${field.name}`;
        const input = field.choices
          ? el(
              "select",
              {
                id,
                class: "mx-select",
                signal,
                onchange: (event) => this.choose(field, event.target.value),
              },
              ...field.choices.map(([value, text]) => el("option", { value, text })),
            )
          : el("input", {
              id,
              type: "text",
              class: "mx-entry",
              inputmode: "decimal",
              autocomplete: "off",
              spellcheck: "false",
              signal,
              onchange: (event) => this.choose(field, event.target.value),
              onkeydown: (event) => {
                if (event.key === "Escape") this.keep(field.name);
              },
            });
        const error = el("div", { class: "mx-field-error", role: "alert", hidden: true });
        const ask = field.rebuilds ? this.question(field) : null;
        const label = el("label", { for: id, text: field.label + (field.rebuilds ? " ↺" : "") });
        const node = el(
          "div",
          { class: "mx-field", title: field.meaning, data: { field: field.name } },
          label,
          input,
          error,
        );
        const refused = refusal(node, error, signal);
        this.fields.set(field.name, { input, ask, refused });
        return ask ? [node, ask.node] : [node];
      }),
    );
    this.showSettings();
  }

  /** What a field asks before it ends a training. */
  question(field) {
    const { signal } = this;
    const words = el("span");
    const begin = button({
      label: "Begin afresh",
      title: "Begin afresh; Undo goes back",
      kind: "solid",
      signal,
      onclick: () => {
        node.hidden = true;
        this.change(field.name, this.fields.get(field.name).input.value);
      },
    });
    const keep = button({
      label: "Keep",
      title: "Keep the training and the setting (Esc)",
      kind: "solid",
      signal,
      onclick: () => this.keep(field.name),
    });
    const node = el("div", { class: "mx-ask", role: "alert", hidden: true }, words, begin, keep);
    return { node, words };
  }

  /** A value was chosen: one that would end a training asks first. */
  choose(field, value) {
    const { ask } = this.fields.get(field.name);
    if (!ask || !this.loses || value === this.model.get("settings")[field.name]) {
      if (ask) ask.node.hidden = true;
      this.change(field.name, value);
      return;
    }
    ask.words.textContent = `${field.label} ${value} begins afresh, and leaves ${this.loses}.`;
    ask.node.hidden = false;
  }

  /** Leave a setting, and what is trained, as it is. */
  keep(name) {
    const { input, ask } = this.fields.get(name);
    input.value = this.model.get("settings")[name];
    if (ask) ask.node.hidden = true;
    input.focus();
  }

  showSettings() {
    const settings = this.model.get("settings");
    for (const [name, { input }] of this.fields) {
      if (document.activeElement !== input || input.tagName === "SELECT")
        input.value = settings[name] ?? "";
    }
  }

  showStatus(status) {
    this.loses = status.loses;
    if (!status.loses) for (const { ask } of this.fields.values()) if (ask) ask.node.hidden = true;
    this.left.hidden = !status.undo;
    this.left.firstChild.textContent = `A training was left: ${status.undo}.`;
    this.before.hidden = !status.left;
    this.before.firstChild.textContent = `A kernel ended and left a training: ${status.left}.`;
    this.busy.textContent = this.busy.title = status.busy;
    const running = RUNNING.includes(status.state);
    const alive = running || status.state === "paused";
    this.train.disabled = running;
    this.train.lastChild.textContent = status.state === "paused" ? "Go on" : "Train";
    this.pause.disabled = !running;
    this.step.disabled = running;
    this.stop.disabled = !alive;
    const part = status.total ? Math.min(1, status.done / status.total) : 0;
    this.bar.firstChild.style.width = `${(100 * part).toFixed(1)}%`;
    this.bar.setAttribute("aria-valuenow", String(Math.round(100 * part)));
    this.words.textContent = status.words;
    this.words.dataset.state = status.state;
    if (status.error !== this.wrong) this.frame.setNote(status.error, "error");
    this.wrong = status.error;
    this.ended = Boolean(status.message);
    this.source.button.hidden = !this.ended && !this.source.refused;
    Object.assign(this.frame.root.dataset, {
      state: status.state,
      done: status.done,
      total: status.total,
    });
  }

  /** Without a kernel nothing can be asked; what is shown is the past. @param {string} state */
  showKernel(state) {
    if (state === LIVE) {
      this.showStatus(this.model.get("status"));
      this.model.send({ kind: "hello" });
      return;
    }
    for (const node of [this.train, this.pause, this.step, this.stop]) node.disabled = true;
    this.busy.textContent = this.busy.title = "";
    this.words.textContent = WORDS[state];
    this.words.dataset.state = this.frame.root.dataset.state = state;
  }

  hear(message) {
    if (message.kind === "status") this.showStatus(message.status);
    if (message.kind === "said") this.frame.setNote(message.text, message.ok ? "info" : "error");
    if (message.kind === "source") this.source.show(message);
    if (message.kind !== "answer") return;
    this.source.answered(message.ok);
    this.source.button.hidden = message.ok && !this.ended;
    const field = this.fields.get(message.name);
    if (!field) return;
    if (message.ok) return field.refused.settle();
    field.refused.refuse(message.text);
    field.input.value = this.model.get("settings")[message.name];
  }

  change(name, value) {
    this.model.send({ kind: "set", name, value });
  }

  command(name) {
    this.model.send({ kind: "command", command: name });
  }

  key(event) {
    if ((this.frame.root.dataset.kernel ?? LIVE) !== LIVE) return false;
    const press = event.key.toLowerCase();
    if (press === " ") {
      if (event.target.closest("button")) return false;
      this.command(this.train.disabled ? "pause" : "train");
    } else if (press === "n") this.command("step");
    else if (press === "s") this.command("stop");
    else if (press === "w") this.command("save");
    else return false;
    return true;
  }
}

export default listeningView(LabControls, [
  "change:settings",
  "change:fields",
  "change:status",
  "msg:custom",
]);
