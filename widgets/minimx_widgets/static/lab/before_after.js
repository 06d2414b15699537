// What the last turn changed, figure by figure, and the history of turns below it.

import { CodePanel } from "../lib/page/code_panel.js";
import { button, el } from "../lib/page/dom.js";
import { figure } from "../lib/drawing/figure.js";
import { Frame } from "../lib/page/frame.js";
import { listeningView } from "../lib/page/state_view.js";

const HELP =
  "Every change of a knob or a setting is a turn. Before is the median of up to 20 steps " +
  "before it, after the median of up to 20 steps after it, without the first, which was " +
  "under way. Same means: no further apart than single steps were before. Planned bytes " +
  "come from the memory plan of a graph; everything else was measured. With several " +
  "devices: sent are the bytes that went between them to sum gradients and bring weights " +
  "up to date, busiest those over the link that carried most, hidden is the share of the copying during which some device computed. A line of the " +
  "history is a turn; press it to put the old value back, which is a turn as well.";
/** @type {[string, string][]} */
const KEYS = [
  ["↑ ↓", "previous, next turn of the history"],
  ["Enter", "go back to the value before the turn"],
  ["Z", "go back before the last turn"],
  ["O", "source of what was refused"],
];

class BeforeAfter {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.sent = 0;
    /** @type {Map<number, HTMLElement>} */
    this.lines = new Map();
    this.frame = new Frame({
      el: host,
      model,
      title: "Before | after",
      name: "turns",
      help: HELP,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.build();
    model.on("change:state", () => this.showLast());
    model.on("change:history", () => this.showHistory());
    model.on("msg:custom", (message) => this.hear(message));
    this.showLast();
    this.showHistory();
  }

  build() {
    const { signal } = this;
    this.what = el("b", { class: "mx-turn-what" });
    this.where = el("span", { class: "mx-turn-where", role: "status" });
    this.frame.numbers.replaceWith(
      el("div", { class: "mx-turn-head" }, this.what, this.where),
    );
    this.undo = button({
      label: "Go back",
      icon: "reset",
      title: "Put back what the last turn changed (Z)",
      signal,
      onclick: () => this.back(this.model.get("state").number),
    });
    this.frame.addTool(this.undo);
    this.source = new CodePanel({ model: this.model, frame: this.frame, signal, refusals: true });
    this.strip = el("div", { class: "mx-strip", role: "list" });
    this.history = el("div", { class: "mx-turns", role: "list", "aria-label": "Turns" });
    this.none = el("div", {
      class: "mx-turns-none",
      text: "Each turn becomes a line here; press a line to go back to what was before it.",
    });
    const box = el("div", { class: "mx-turns-box" }, this.none, this.history);
    this.frame.picture.append(this.strip, box);
  }

  showLast() {
    const state = this.model.get("state");
    const also = state.together?.length ? `, with ${state.together.join(", ")}` : "";
    this.what.textContent = state.title + also;
    this.where.textContent = state.number
      ? [`after step ${state.step.toLocaleString("en")}`, state.progress, state.note]
          .filter(Boolean)
          .join(" · ")
      : state.empty;
    for (const part of [this.what, this.where]) part.title = part.textContent;
    this.undo.hidden = !state.number;
    this.strip.hidden = !state.rows.length;
    this.strip.replaceChildren(...state.rows.map(figure));
    Object.assign(this.frame.root.dataset, {
      turn: state.number,
      knob: state.name ?? "",
      settled: state.settled ?? "",
      steps: state.steps ?? 0,
      revision: Number(this.frame.root.dataset.revision ?? 0) + 1,
    });
  }

  /** The lines keep their nodes, so that one in focus stays in focus. */
  showHistory() {
    const history = this.model.get("history");
    const known = new Set(history.map(({ number }) => number));
    for (const [number, node] of this.lines)
      if (!known.has(number)) {
        node.remove();
        this.lines.delete(number);
      }
    history.forEach((line, place) => {
      let node = this.lines.get(line.number);
      if (!node) {
        node = this.line(line);
        this.lines.set(line.number, node);
      }
      fill(node, line);
      if (this.history.children[place] !== node)
        this.history.insertBefore(node, this.history.children[place] ?? null);
    });
    this.none.hidden = history.length > 0;
  }

  line({ number }) {
    return el(
      "div",
      { role: "listitem" },
      el(
        "button",
        {
          type: "button",
          class: "mx-turn",
          signal: this.signal,
          data: { turn: number },
          onclick: () => this.back(number),
        },
        ...["number", "step", "what", "change", "back"].map((part) =>
          el("span", { class: `mx-turn-${part}` }),
        ),
      ),
    );
  }

  back(number) {
    if (!number) return;
    this.sent += 1;
    this.model.send({ kind: "back", number, id: this.sent });
  }

  hear(message) {
    if (message.kind === "table") this.frame.setTable(message.html);
    if (message.kind === "source") this.source.show(message);
    if (message.kind !== "answer") return;
    this.frame.setNote(message.ok ? "" : message.text, "error");
    this.source.answered(message.ok);
    this.frame.root.dataset.answered = String(message.id);
  }

  key(event) {
    if (event.key.toLowerCase() === "z") this.back(this.model.get("state").number);
    else if (event.key === "ArrowDown") this.walk(1);
    else if (event.key === "ArrowUp") this.walk(-1);
    else return false;
    return true;
  }

  walk(by) {
    const lines = [...this.history.querySelectorAll("button")];
    const now = lines.indexOf(/** @type {any} */ (document.activeElement));
    lines[Math.min(lines.length - 1, Math.max(0, now + by))]?.focus();
  }
}

/** @param {HTMLElement} node @param {any} line */
function fill(node, line) {
  const press = /** @type {HTMLElement} */ (node.firstChild);
  const texts = [
    `${line.number}`,
    `step ${line.step.toLocaleString("en")}`,
    line.what,
    line.change,
    `↩ ${line.back}`,
  ];
  texts.forEach((text, i) => {
    if (press.children[i].textContent !== text) press.children[i].textContent = text;
  });
  press.dataset.verdict = line.verdict;
  press.title = `Go back to ${line.back}. ${line.note}`.trim();
  const said = `Turn ${line.number}, ${line.what}, ${line.change}. Go back to ${line.back}`;
  press.setAttribute("aria-label", said);
}

export default listeningView(BeforeAfter, ["change:state", "change:history", "msg:custom"]);
