// A level: a question, its choices, and the picture of what was decided so far.

import { CodePanel } from "../lib/page/code_panel.js";
import { button, el } from "../lib/page/dom.js";
import { Frame, tipHead, tipRow } from "../lib/page/frame.js";
import { stateView } from "../lib/page/state_view.js";
import { ticks } from "../lib/engine/scheduler_parts.js";

const HELP =
  "Each question has choices; those that break a rule are struck through, and choosing one says " +
  "which rule, with the objects. Click a choice or a row of the picture, drag what is dashed to a " +
  "row, or use the keys. You can go back as far as you like. A hint says what can still be " +
  "reached from here. The target is the proved optimum. At the end the decisions are a class that " +
  "the real runtime runs.";
/** @type {[string, string][]} */
const KEYS = [
  ["O", "source: the rule behind the marked choice, or behind a refusal"],
  ["↑ ↓", "mark a choice"],
  ["Enter", "choose the marked one"],
  ["1 … 9", "choose this one"],
  ["U", "undo"],
  ["Y", "redo"],
  ["R", "begin again"],
  ["H", "hint"],
  ["C", "the decisions as code"],
  ["[ ]", "previous, next level"],
  ["T", "table, with a comparison"],
];
const [LOW, HIGH] = [22, 52]; // pixels of a row

class LevelView {
  constructor({ model, el: host, signal }) {
    this.model = model;
    this.signal = signal;
    this.revision = -1;
    this.marked = 0;
    this.coded = false;
    const { title, about } = this.state;
    this.frame = new Frame({
      el: host,
      model,
      title,
      name: "level",
      help: `${about} ${HELP}`,
      keys: KEYS,
      signal,
      onkey: (event) => this.key(event),
    });
    this.addTools();
    this.goal = el("p", { class: "mx-lvl-goal" });
    this.question = el("p", { class: "mx-lvl-question", "aria-live": "polite" });
    this.words = el("p", { class: "mx-lvl-words", role: "status" });
    this.list = el("div", { class: "mx-lvl-choices", role: "group", "aria-label": "Choices" });
    this.rows = el("div", { class: "mx-lvl-rows", role: "group", "aria-label": "Picture" });
    this.coming = el("p", { class: "mx-lvl-coming" });
    this.code = el("pre", { class: "mx-lvl-code", tabindex: "0", "aria-label": "Code", hidden: true });
    this.frame.picture.append(
      this.goal,
      this.question,
      this.words,
      el("div", { class: "mx-lvl-beside" }, this.list, this.rows),
      this.coming,
      this.code,
    );
    this.update();
  }

  addTools() {
    const { signal, frame } = this;
    const tool = (label, title, onclick) => {
      const node = button({ label, title, signal, onclick });
      frame.addTool(node);
      return node;
    };
    this.levels = el("select", {
      class: "mx-select",
      "aria-label": "Level",
      title: "Level ([ and ])",
      signal,
      onchange: () => this.ask({ kind: "level", number: Number(this.levels.value) }),
    });
    frame.addTool(this.levels);
    this.back = tool("Undo", "Take the last choice back (U)", () => this.ask({ kind: "undo" }));
    this.on = tool("Redo", "Make it again (Y)", () => this.ask({ kind: "redo" }));
    this.anew = tool("Again", "Begin the level again (R)", () => this.ask({ kind: "restart" }));
    tool("Hint", "What can still be reached, and how? (H)", () => this.ask({ kind: "hint" }));
    this.source = new CodePanel({
      model: this.model,
      frame,
      signal,
      title: "Source of the rules for the marked choice",
      what: () => {
        const choice = this.state.choices[this.marked];
        return choice ? { key: choice[0] } : null;
      },
    });
    this.coder = tool("Code", "The decisions as code, once all is decided (C)", () => this.toggleCode());
  }

  get state() {
    return this.model.get("state");
  }

  /** A new state from the kernel. */
  update() {
    const { state } = this;
    if (state.revision === this.revision) return;
    this.revision = state.revision;
    const first = state.choices.findIndex(([, , , refused]) => !refused);
    this.marked = Math.max(0, first);
    this.say(state.verdict + (state.lesson ? ` Why: ${state.lesson}.` : ""), state.reached ? "reached" : "");
    if (!state.over) this.coded = false;
    this.levels.hidden = !state.level;
    this.levels.replaceChildren(
      ...Array.from({ length: state.levels }, (_, k) =>
        el("option", { value: k + 1, text: `level ${k + 1}${state.done.includes(k + 1) ? " ✓" : ""}`, selected: k + 1 === state.level }),
      ),
    );
    this.goal.textContent =
      `${state.name} · ${state.exact ? "target" : "no end is below"}: ${state.target}`;
    this.question.textContent = state.question;
    this.coming.textContent = state.coming.length ? `Then: ${state.coming.join(" · ")}` : "";
    this.back.disabled = this.anew.disabled = !state.made;
    this.on.disabled = !state.undone;
    this.coder.disabled = !state.over;
    this.frame.setNumbers(state.numbers);
    this.frame.setLegend(state.kinds.map(([name], k) => [name, `var(--mx-lvl-${k})`]));
    state.kinds.forEach(([, category], k) =>
      this.frame.root.style.setProperty(`--mx-lvl-${k}`, `var(--mx-cat-${category})`),
    );
    this.draw();
    Object.assign(this.frame.root.dataset, {
      revision: String(state.revision),
      level: String(state.level),
      made: String(state.made),
      over: String(state.over),
      reached: String(state.reached),
    });
  }

  draw() {
    this.drawChoices();
    this.drawRows();
    this.code.hidden = !this.coded;
    this.code.textContent = this.state.code;
    this.coder.setAttribute("aria-pressed", String(this.coded));
  }

  drawChoices() {
    const { state, signal } = this;
    this.list.replaceChildren(
      ...state.choices.map(([key, text, , refused], k) =>
        el(
          "button",
          {
            type: "button",
            class: "mx-lvl-choice",
            title: refused || `Choose ${text}`,
            "aria-pressed": String(k === this.marked),
            signal,
            data: { key, refused: Boolean(refused) },
            onclick: () => this.choose(k),
          },
          el("kbd", { text: k < 9 ? String(k + 1) : " " }),
          el("span", { text }),
        ),
      ),
    );
    this.list.hidden = !state.choices.length;
    const [key] = state.choices[this.marked] ?? [""];
    this.frame.root.dataset.marked = key;
  }

  drawRows() {
    const { state, signal } = this;
    const place = (start, end) => `left:${(100 * start) / state.end}%;width:${(100 * (end - start)) / state.end}%`;
    const marked = state.choices[this.marked];
    const rows = state.rows.map(([label, detail, weight], row) => {
      const choice = state.choices.findIndex((one) => one[2] === row);
      const asked = label === "?"; // what is to be placed may be dragged to a row
      const bars = state.bars
        .filter((bar) => bar[0] === row)
        .map(([, start, end, text, says, kind, share, later]) =>
          el("i", {
            class: "mx-lvl-bar",
            style: `${place(start, end)};height:max(13px,${100 * share}%);--mx-lvl:var(--mx-lvl-${kind})`,
            text,
            data: { later },
            draggable: asked ? "true" : undefined,
            signal,
            ondragstart: (event) => event.dataTransfer?.setData("text/plain", text),
            onpointermove: (event) => this.tip(event, text, says),
            onpointerleave: () => this.frame.hideTip(),
          }),
        );
      const track = el("span", { class: "mx-lvl-track" }, ...bars);
      track.style.height = `${LOW + (HIGH - LOW) * weight}px`;
      const node = el(
        "div",
        {
          class: "mx-lvl-row",
          signal,
          data: { row: label, choice: choice >= 0, marked: Boolean(marked) && marked[2] === row },
          title: choice >= 0 ? `Click: ${state.choices[choice][1]}` : undefined,
          onclick: () => choice >= 0 && this.choose(marked && marked[2] === row ? this.marked : choice),
          ondragover: (event) => {
            if (choice < 0 || asked) return;
            event.preventDefault();
            node.dataset.over = "true";
          },
          ondragleave: () => delete node.dataset.over,
          ondrop: (event) => {
            event.preventDefault();
            this.choose(choice);
          },
        },
        el("b", { text: label }),
        el("small", { text: detail }),
        track,
      );
      return node;
    });
    const now = el("div", { class: "mx-lvl-now" });
    now.style.setProperty("--mx-lvl-at", String(state.now / state.end));
    const axis = el(
      "div",
      { class: "mx-lvl-axis", "aria-hidden": "true" },
      el("b", { text: state.axis }),
      ...ticks(state.end, 8).map((tick) =>
        el("span", {
          style: `left:${(100 * tick) / state.end}%`,
          text: tick.toLocaleString("en"),
          data: { last: tick > 0.96 * state.end },
        }),
      ),
    );
    this.rows.replaceChildren(...rows, axis, now);
  }

  tip(event, text, says) {
    const box = this.frame.picture.getBoundingClientRect();
    const lines = [tipHead(text), tipRow("", says)];
    this.frame.showTip(event.clientX - box.left, event.clientY - box.top, lines);
  }

  /** @param {number} index */
  choose(index) {
    const choice = this.state.choices[index];
    if (!choice) return false;
    this.marked = index;
    this.ask({ kind: "choose", key: choice[0] });
    this.draw();
    this.frame.root.focus({ preventScroll: true });
    return true;
  }

  mark(index) {
    const count = this.state.choices.length;
    if (!count) return false;
    this.marked = (index + count) % count;
    this.draw();
    const [, , , refused] = this.state.choices[this.marked];
    this.say(refused, refused ? "refused" : "");
    return true;
  }

  ask(message) {
    this.frame.hideTip();
    this.model.send(message);
    return true;
  }

  /** @param {{ok: boolean, text: string}} answer */
  hear({ ok, text }) {
    if (text) this.say(text, ok ? "hint" : "refused");
  }

  say(text, kind = "") {
    this.words.textContent = text;
    this.words.dataset.kind = kind;
    this.frame.root.dataset.said = text ? kind : "";
  }

  toggleCode() {
    if (!this.state.over) return false;
    this.coded = !this.coded;
    this.draw();
    return true;
  }

  key(event) {
    const press = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const onButton = event.target.matches("button");
    if (press === "ArrowUp") return this.mark(this.marked - 1);
    if (press === "ArrowDown") return this.mark(this.marked + 1);
    if (press === "Enter" && !onButton) return this.choose(this.marked);
    if (press >= "1" && press <= "9" && press.length === 1) return this.choose(Number(press) - 1);
    if (press === "u" || press === "Backspace") return this.ask({ kind: "undo" });
    if (press === "y") return this.ask({ kind: "redo" });
    if (press === "r") return this.ask({ kind: "restart" });
    if (press === "h") return this.ask({ kind: "hint" });
    if (press === "c") return this.toggleCode();
    const step = press === "[" ? -1 : press === "]" ? 1 : 0;
    const { level, levels } = this.state;
    if (!step || !level || level + step < 1 || level + step > levels) return false;
    return this.ask({ kind: "level", number: level + step });
  }
}

export default stateView(LevelView, {
  answers: { answer: (view, message) => view.hear(message) },
});
