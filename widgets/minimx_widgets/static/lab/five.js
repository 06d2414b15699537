// The five switches: a control each, what it moves, and what came of the last turn.

import { CodePanel } from "../lib/page/code_panel.js";
import { button, el } from "../lib/page/dom.js";
import { Frame } from "../lib/page/frame.js";
import { answers } from "../lib/page/answers.js";
import { listeningView } from "../lib/page/state_view.js";
import { radioRow, toggle } from "../lib/page/switches.js";

const HELP =
  "These five are what the framework is about. Each acts while a network trains: engine and " +
  "pool at once, in-place, mirror and precision at the next step. A bar in colour marks a " +
  "switch that is not at its default. Below each stands what came of its last turn, or why " +
  "it cannot act in this run; the views that show it light up. Stories turn several " +
  "together, as the documents do.";
/** @type {[string, string][]} */
const KEYS = [
  ["Tab", "next switch"],
  ["← →", "turn the switch in focus"],
  ["Space", "on, or off"],
  ["1 – 5", "to a switch"],
  ["O", "source of what was refused"],
];
const SEEN = "minimx-hint-seen";

class FiveSwitches {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.sent = 0;
    /** @type {Map<string, any>} */
    this.switches = new Map();
    /** @type {Map<string, any>} */
    this.parts = new Map();
    this.frame = new Frame({
      el: host,
      model,
      title: "Five switches",
      name: "five",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.addTools();
    this.source = new CodePanel({ model, frame: this.frame, signal, refusals: true });
    this.addHint();
    this.build();
    model.on("change:state", () => this.show());
    model.on("change:hint", () => this.showHint());
    model.on("msg:custom", (message) => this.hear(message));
    this.show();
  }

  addTools() {
    const { signal } = this;
    this.stories = el(
      "select",
      {
        class: "mx-select",
        title: "Switches that the documents turn together",
        "aria-label": "Stories of the documents",
        signal,
        onchange: () => {
          this.ask({ kind: "story", name: this.stories.value });
          this.stories.value = "";
        },
      },
      el("option", { value: "", text: "Stories…" }),
      ...this.model
        .get("stories")
        .map(([name, meaning]) => el("option", { value: name, text: name, title: meaning })),
    );
    this.frame.addTool(this.stories);
  }

  build() {
    const row = el("div", { class: "mx-five" });
    for (const declared of this.model.get("declared")) {
      const made = this.switch(declared);
      this.switches.set(declared.name, made);
      row.append(made.node);
    }
    this.frame.picture.append(row);
  }

  /** What a first-time user should do, until it was read or done. */
  addHint() {
    this.hint = el("div", { class: "mx-hint", role: "note" }, el("span"));
    this.hint.append(
      button({
        label: "Got it",
        title: "Do not show this hint again",
        signal: this.signal,
        onclick: () => {
          remember(SEEN);
          this.ask({ kind: "hint" });
          this.hint.hidden = true;
        },
      }),
    );
    this.frame.numbers.replaceWith(this.hint);
  }

  switch(declared) {
    const controls = declared.parts.map((part) => this.part(declared, part));
    const moves = `moves ${declared.moves}`;
    const state = el("div", { class: "mx-five-state", role: "status" });
    const node = el(
      "div",
      {
        class: "mx-five-switch",
        role: "group",
        "aria-label": `${declared.label}: ${declared.meaning}`,
        data: { switch: declared.name },
      },
      el(
        "div",
        { class: "mx-five-name" },
        el("b", { text: declared.label }),
        el("small", { text: moves, title: moves }),
      ),
      el("div", { class: "mx-five-controls" }, ...controls),
      state,
    );
    return { declared, node, state, refused: "", answer: null };
  }

  part(declared, part) {
    const { signal } = this;
    const label = [declared.label, part.meaning].filter(Boolean).join(", ");
    const turn = (/** @type {string} */ text) => this.turn(part.name, declared.name, text);
    const make = { choice: radioRow, toggle, select: dropDown }[part.kind];
    const made = make({ label, choices: part.choices, signal, onchange: turn });
    made.node.dataset.control = part.name;
    this.parts.set(part.name, { made, owner: declared.name });
    if (!part.label) return made.node;
    return el("label", { class: "mx-five-with" }, part.label, made.node);
  }

  /** Values, marks and lines as the kernel knows them. */
  show() {
    const state = this.model.get("state");
    for (const [name, { made }] of this.parts) {
      const value = state.values[name];
      if (made.node.dataset.value !== value) this.settle(name);
      made.node.dataset.value = value;
      made.node.title = state.targets[name];
      made.show(value);
    }
    for (const made of this.switches.values()) this.showSwitch(made, state);
    Object.assign(this.frame.root.dataset, {
      turned: state.turned.join("|"),
      revision: state.revision,
    });
    const { note } = this.frame;
    const refused = [...this.switches.values()].some((made) => made.refused);
    this.source.answered(!refused && (note.hidden || note.dataset.kind !== "error"));
    this.showHint();
  }

  showSwitch(made, state) {
    const { declared, node } = made;
    const line = state.lines[declared.name];
    const kind = made.refused ? "refused" : line.kind;
    made.state.textContent = made.refused || line.text || declared.meaning;
    made.state.title = made.state.textContent;
    made.state.dataset.kind = kind;
    node.dataset.changed = String(declared.parts.some((p) => state.turned.includes(p.name)));
    if (made.answer !== null && line.answer && line.answer !== made.answer)
      answers(this.frame.root, declared.views);
    made.answer = line.answer;
  }

  /** A value that was refused is no longer asked for. @param {string} control */
  settle(control) {
    const part = this.parts.get(control);
    const owner = this.switches.get(part.owner);
    owner.refused = "";
    part.made.node.setAttribute("aria-invalid", "false");
  }

  showHint() {
    const text = this.model.get("hint");
    this.hint.firstChild.textContent = text;
    this.hint.hidden = !text || remembered(SEEN) || this.model.get("state").turns > 0;
  }

  turn(control, owner, text) {
    this.switches.get(owner).node.dataset.busy = "true";
    this.ask({ kind: "set", name: control, text });
  }

  ask(message) {
    this.sent += 1;
    this.frame.root.dataset.asked = String(this.sent);
    this.model.send({ ...message, id: this.sent });
  }

  /** The kernel answers: applied, or refused with a reason. */
  hear(message) {
    if (message.kind === "table") this.frame.setTable(message.html);
    if (message.kind === "source") this.source.show(message);
    if (message.kind !== "answer") return;
    const part = this.parts.get(message.name);
    if (part) {
      const owner = this.switches.get(part.owner);
      owner.refused = message.ok ? "" : message.text;
      owner.node.dataset.busy = "false";
      part.made.node.setAttribute("aria-invalid", String(!message.ok));
    }
    this.frame.setNote(message.ok || part ? "" : message.text, "error");
    this.show();
    this.frame.root.dataset.answered = String(message.id);
  }

  key(event) {
    const place = "12345".indexOf(event.key);
    if (place < 0) return false;
    const node = [...this.switches.values()][place].node;
    node.querySelector("[tabindex='0'], input, select")?.focus();
    return true;
  }
}

/** A list to choose from. */
function dropDown({ label, choices, signal, onchange }) {
  const select = el(
    "select",
    { class: "mx-select", "aria-label": label, signal, onchange: () => onchange(select.value) },
    ...choices.map(([value, text, title]) => el("option", { value, text, title })),
  );
  return {
    node: select,
    show: (/** @type {string} */ text) => {
      select.value = text;
    },
  };
}

/** @param {string} key */
function remember(key) {
  try {
    localStorage.setItem(key, "1");
  } catch {
    // Without storage, as in a page from a file, it is asked again next time.
  }
}

/** @param {string} key */
function remembered(key) {
  try {
    return localStorage.getItem(key) === "1";
  } catch {
    return false;
  }
}

export default listeningView(FiveSwitches, ["change:state", "change:hint", "msg:custom"]);
